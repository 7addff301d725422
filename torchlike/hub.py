"""``torch.hub``: models and weights from GitHub repositories, URLs and local folders, cached where torch caches them.

A repository's ``hubconf.py`` says ``import torch``; that gives torchlike there, also in a program that itself imports
torchlike under its own name.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from torchlike.compat import alias

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

DEFAULT_CACHE_DIR = "~/.cache"
ENV_GITHUB_TOKEN = "GITHUB_TOKEN"
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
MODULE_HUBCONF = "hubconf.py"
READ_DATA_CHUNK = 128 * 1024
VAR_DEPENDENCY = "dependencies"
# Owners whose repositories are run without asking, as in torch.
_TRUSTED_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")

_hub_dir: str | None = None


def _get_torch_home() -> str:
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR), "torch")))


def get_dir() -> str:
    """The folder for what the hub downloads: that of ``set_dir``, else ``$TORCH_HOME/hub``, else ``~/.cache/torch/hub``."""
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder for what the hub downloads."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _open(url: str) -> Any:
    """The response to a request for ``url``; URLError that says what to do when it cannot be reached."""
    headers = {"User-Agent": "torchlike.hub"}
    token = os.environ.get(ENV_GITHUB_TOKEN)
    if token and urlparse(url).hostname == "api.github.com":
        headers["Authorization"] = f"token {token}"
    try:
        return urlopen(Request(url, headers=headers))
    except HTTPError:
        raise
    except URLError as error:
        raise URLError(f"{url} cannot be reached ({error.reason}); is this machine offline?") from error


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download ``url`` to the file ``dst``; the file appears only when it is complete.

    Args:
        url: Any URL that Python opens, ``file:`` included.
        dst: The file to write.
        hash_prefix: What the file's SHA-256 in hexadecimal must begin with.
        progress: Whether to show a progress bar on stderr.

    Raises:
        URLError: the URL cannot be reached.
        RuntimeError: the file is not the one that ``hash_prefix`` means.
    """
    response = _open(url)
    length = response.headers.get("Content-Length")
    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    handle, partial = tempfile.mkstemp(prefix=f"{os.path.basename(dst)}.", suffix=".partial", dir=os.path.dirname(dst) or ".")
    try:
        with os.fdopen(handle, "wb") as file, _bar(int(length) if length else None, progress) as advance:
            while block := response.read(READ_DATA_CHUNK):
                file.write(block)
                digest.update(block)
                advance(len(block))
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        os.chmod(partial, 0o666 & ~_umask())  # mkstemp's files are the user's alone
        shutil.move(partial, dst)
    finally:
        Path(partial).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def _bar(total: int | None, shown: bool) -> Iterator[Callable[[int], Any]]:
    """A progress bar if tqdm is installed; gives the function that advances it."""
    if not shown or importlib.util.find_spec("tqdm") is None:
        yield lambda count: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024) as bar:
        yield bar.update


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
                             file_name: str | None = None, weights_only: bool = False) -> dict[str, Any]:  # fmt: skip
    """Load a checkpoint from a URL, from the file downloaded earlier where there is one.

    Args:
        url: Where the checkpoint is.
        model_dir: The folder for the file; ``get_dir()/checkpoints`` by default.
        map_location: As in ``torch.load``.
        progress: Whether to show a progress bar.
        check_hash: Whether the file's name must contain the beginning of its SHA-256, as in ``resnet18-f37072fd.pth``.
        file_name: The file's name, when it shall not be the URL's.
        weights_only: As in ``torch.load``.

    Raises:
        URLError: there is no such file yet and the URL cannot be reached; the message names the file to provide.
    """
    import torchlike

    folder = model_dir if model_dir is not None else os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    cached = os.path.join(folder, name)
    if not os.path.exists(cached):
        print(f'Downloading: "{url}" to {cached}\n', file=sys.stderr)
        found = HASH_REGEX.search(name) if check_hash else None
        try:
            download_url_to_file(url, cached, found.group(1) if found else None, progress=progress)
        except HTTPError:
            raise
        except URLError as error:
            raise URLError(f"{error.reason} Without a connection, put the file at {cached}") from error
    if _is_legacy_zip(cached):
        cached = _unpack(cached, folder)
    return torchlike.load(cached, map_location=map_location, weights_only=weights_only)


def _is_legacy_zip(path: str) -> bool:
    """Whether a file is a zip file around one checkpoint, as torch's model zoo once had them."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    return len(members) == 1 and not members[0].filename.endswith(("/data.pkl", "/version"))


def _unpack(path: str, folder: str) -> str:
    with zipfile.ZipFile(path) as archive:
        member = archive.infolist()[0]
        archive.extract(member, folder)
    return os.path.join(folder, member.filename)


def load(repo_or_dir: str | os.PathLike[str], model: str, *args: Any, source: str = "github", trust_repo: bool | str | None = "check",
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any) -> Any:  # fmt: skip
    """Call an entry point of a repository's ``hubconf.py``.

    Args:
        repo_or_dir: "owner/name[:ref]" on GitHub, or with ``source="local"`` a folder.
        model: The entry point's name.
        *args: Its arguments.
        source: "github" or "local".
        trust_repo: Whether the repository's code may run: True, False (ask), or "check" (ask unless it was trusted before).
        force_reload: Whether to download the repository again.
        verbose: Whether to say that a cached copy is used.
        skip_validation: Whether to skip asking GitHub that ``ref`` is a branch or tag of this repository.
        **kwargs: Its keyword arguments.

    Returns:
        What the entry point returns.

    Raises:
        ValueError: ``source`` is neither, or the repository's name cannot be read.
        RuntimeError: there is no such entry point, or a package that the repository needs is not installed.
    """
    if source.lower() not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = os.fspath(repo_or_dir)
    if source.lower() == "github":
        folder = _repository(folder, force_reload, trust_repo, verbose, skip_validation)
    return _load_local(folder, model, *args, **kwargs)


def list(github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: bool | str | None = "check",
         verbose: bool = True) -> Any:  # fmt: skip
    """The names of the entry points of a repository on GitHub; arguments as in ``load``."""
    module = _hubconf(_repository(github, force_reload, trust_repo, verbose, skip_validation))
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: bool | str | None = "check") -> str | None:
    """The docstring of an entry point; arguments as in ``load``."""
    module = _hubconf(_repository(github, force_reload, trust_repo, True, skip_validation))
    return _entry(module, model).__doc__


def _load_local(hubconf_dir: str, model: str, *args: Any, **kwargs: Any) -> Any:
    folder = os.path.abspath(hubconf_dir)
    with _on_path(folder):
        return _entry(_hubconf(folder), model)(*args, **kwargs)


@contextmanager
def _on_path(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _hubconf(folder: str) -> ModuleType:
    """The repository's ``hubconf`` module, executed with torchlike as its torch."""
    if not alias.is_installed():
        alias.install_for_folder(os.path.abspath(folder))
    with _on_path(folder):
        return _import_module(MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF))


def _import_module(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise FileNotFoundError(f"there is no {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entry(module: ModuleType, name: str) -> Callable[..., Any]:
    """The entry point of that name, once the packages that the repository names are known to be installed."""
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    absent = [package for package in getattr(module, VAR_DEPENDENCY, ()) if importlib.util.find_spec(package) is None]
    if not alias.is_installed():
        absent = [package for package in absent if package not in ("torch", "torchvision")]
    if absent:
        raise RuntimeError(f"Missing dependencies: {', '.join(absent)}")
    entry = getattr(module, name, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return entry


def _parse(github: str) -> tuple[str, str, str | None]:
    """Owner, name and ref (None when not given) of "owner/name[:ref]"."""
    repository, colon, ref = github.partition(":")
    owner, slash, name = repository.partition("/")
    if not owner or not slash or not name:
        raise ValueError(f'"{github}" is not of the form owner/name[:ref]')
    return owner, name, ref if colon else None


def _default_ref(owner: str, name: str) -> str:
    """``main`` where the repository has it, ``master`` otherwise; offline, whichever is cached."""
    try:
        with _open(f"https://github.com/{owner}/{name}/tree/main/"):
            return "main"
    except HTTPError as error:
        if error.code == 404:
            return "master"
        raise
    except URLError:
        for ref in ("main", "master"):
            if os.path.exists(os.path.join(get_dir(), f"{owner}_{name}_{ref}")):
                return ref
        raise


def _repository(github: str, force_reload: bool, trust: bool | str | None, verbose: bool, skip_validation: bool) -> str:
    """The folder with the repository's files, downloaded if need be."""
    owner, name, ref = _parse(github)
    ref = ref if ref is not None else _default_ref(owner, name)
    os.makedirs(get_dir(), exist_ok=True)
    folder = os.path.join(get_dir(), "_".join((owner, name, ref.replace("/", "_"))))
    _ask_for_trust(f"{owner}_{name}", owner, name, trust)
    if os.path.exists(folder) and not force_reload:
        if verbose:
            print(f"Using cache found in {folder}", file=sys.stderr)
        return folder
    if not skip_validation:
        _check_ref(owner, name, ref)
    with tempfile.TemporaryDirectory(dir=get_dir()) as work:
        archive = os.path.join(work, "repository.zip")
        url = f"https://github.com/{owner}/{name}/zipball/{ref}"
        print(f'Downloading: "{url}" to {folder}', file=sys.stderr)
        download_url_to_file(url, archive, progress=False)
        with zipfile.ZipFile(archive) as opened:
            top = opened.infolist()[0].filename.partition("/")[0]
            opened.extractall(work)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(os.path.join(work, top), folder)
    return folder


def _check_ref(owner: str, name: str, ref: str) -> None:
    """ValueError unless ``ref`` is a branch or tag of this very repository (a fork's commits can be reached by number)."""
    for kind in ("branches", "tags"):
        page = 1
        while True:
            with _open(f"https://api.github.com/repos/{owner}/{name}/{kind}?per_page=100&page={page}") as response:
                found = json.loads(response.read().decode())
            if any(row["name"] == ref or row["commit"]["sha"].startswith(ref) for row in found):
                return
            if not found:
                break
            page += 1
    raise ValueError(f"Cannot find {ref} in https://github.com/{owner}/{name}. A commit of a fork is not among its branches and tags")


def _ask_for_trust(entry: str, owner: str, name: str, trust: bool | str | None) -> None:
    """Run code from a repository only when the user trusts it; remember the answer."""
    if trust not in (True, False, None, "check"):
        raise ValueError(f'trust_repo must be True, False or "check", not {trust!r}')
    record = Path(get_dir()) / "trusted_list"
    trusted = set(record.read_text().splitlines()) if record.exists() else set()
    known = entry in trusted or owner in _TRUSTED_OWNERS
    if trust is not True and not (known and trust in ("check", None)):
        question = f"The repository {owner}/{name} belongs to none of the trusted owners, and its code would be run. Do you trust it (y/N)? "
        answer = input(question).strip().lower()
        if answer not in ("y", "yes"):
            raise Exception("Untrusted repository.")
    if not known:
        with record.open("a") as file:
            file.write(f"{entry}\n")
