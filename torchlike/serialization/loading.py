"""``torch.load``: files of torch and torchlike, by default without running any code from them."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

from torchlike.serialization import allowlist, bridge, legacy, torch_names
from torchlike.serialization.legacy import _dtype, _text
from torchlike.serialization.locations import Restore, current_map_location, restorer
from torchlike.serialization.storages import DTYPES, TypedStorage, UntypedStorage
from torchlike.serialization.unpickler import Skimmer, Unpickler
from torchlike.serialization.zipfile_format import ArchiveReader, is_zip

__all__ = ["get_unsafe_globals_in_checkpoint", "load"]

_TRUE = ("1", "y", "yes", "true")
_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source."
)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load what ``save`` (of torch or torchlike) wrote.

    Args:
        f: a path, or a binary file with ``read``, ``readline``, ``seek`` and ``tell``.
        map_location: where tensors go: a device or its name for all of them; a dictionary from location tags in the
            file to tags; or a function of (storage, tag) that gives the storage at its place, or None for the
            default.
        pickle_module: a module like ``pickle``, for ``weights_only=False`` (which it implies).
        weights_only: True (the default): only tensors, plain containers and what was added with ``add_safe_globals``
            are built, by an unpickler that cannot run code. False: everything, **including code that the file
            brings**.
        mmap: map the file instead of reading it: data is read from disk when a tensor is first used.
        pickle_load_args: ``encoding`` and others for the unpickler.

    Raises:
        pickle.UnpicklingError: the file is no checkpoint, or asks for something that is not allowed.
        RuntimeError: the archive is damaged; or a device of the file is absent here.
        EOFError: the file is empty.
        FileNotFoundError: there is no such file.
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only:
        if pickle_module is not None:
            raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
        if pickle_load_args:
            warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
    if path is not None and os.fsdecode(path).endswith(".safetensors"):
        return _load_safetensors(path, map_location)
    encoding = pickle_load_args.setdefault("encoding", "utf-8")
    if weights_only:
        builder = functools.partial(_build_restricted, encoding=encoding)
    else:
        builder = functools.partial(_build_trusted, pickle_module=pickle_module or pickle, arguments=pickle_load_args)
    restore = restorer(map_location)
    token = current_map_location.set(map_location)
    try:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open(path, "rb")) if path is not None else _seekable(f)
            if is_zip(file):
                if mmap and path is None:
                    raise ValueError("f must be a file path in order to use the mmap argument")
                reader = stack.enter_context(ArchiveReader(file, path if mmap else None))
                return _load_archive(reader, restore, builder, weights_only, bridge.is_meta(map_location))
            if mmap:
                raise RuntimeError(
                    "mmap can only be used with files saved with "
                    f"`torch.save({path or ''}, _use_new_zipfile_serialization=True), "
                    "please torch.save your checkpoint with this option in order to use mmap."
                )
            return legacy.read(file, restore, builder, path)
    except pickle.UnpicklingError as e:
        if weights_only and not isinstance(e, legacy.NotACheckpoint):
            raise pickle.UnpicklingError(_explain(str(e))) from e.__cause__
        raise
    finally:
        current_map_location.reset(token)


def _weights_only(given: bool | None, pickle_module: Any) -> bool:
    force = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    forbid = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if force and forbid:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but "
            "both were set."
        )
    if force:
        return True
    if given is not None:
        return bool(given)
    if forbid:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return pickle_module is None


def _seekable(f: Any) -> Any:
    for method in ("read", "readline", "seek", "tell"):
        if not hasattr(f, method):
            raise AttributeError(
                f"{type(f).__name__!r} object has no attribute {method!r}. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as e:
        raise type(e)(
            f"{e}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like "
            "io.BytesIO and try to load from it instead."
        ) from None
    if isinstance(f, io.TextIOBase):
        raise TypeError("the file must be opened in binary mode")
    return f


def _load_archive(
    archive: ArchiveReader,
    restore: Restore,
    build: Callable[[Any, Callable[[Any], Any]], Any],
    weights_only: bool,
    without_data: bool,
) -> Any:
    if archive.has("constants.pkl"):
        raise RuntimeError(
            "this file is a TorchScript archive (torch.jit.save); torchlike runs models from their Python code only. "
            "Save model.state_dict() with torch.save and load that."
        )
    swap = archive.byte_order() != sys.byteorder
    storages: dict[str, UntypedStorage] = {}

    def persistent_load(pid: Any) -> TypedStorage:
        if type(pid) is not tuple or len(pid) != 5 or _text(pid[0]) != "storage":
            raise RuntimeError(f"Unknown typename for persistent_load, expected 'storage' but got {pid!r:.80}")
        _, storage_type, key, location, numel = pid
        key, dtype = _text(key), _dtype(storage_type)
        storage = storages.get(key)
        if storage is None:
            if type(key) is not str or type(numel) is not int or numel < 0:
                raise pickle.UnpicklingError(f"malformed storage in the file: key {key!r:.40}, size {numel!r:.40}")
            nbytes = numel * DTYPES[dtype].itemsize
            if without_data:
                storage = UntypedStorage(None, nbytes=nbytes)
            else:
                array = archive.storage(f"data/{key}", nbytes)
                if swap and DTYPES[dtype].itemsize > 1:
                    array = array.view(DTYPES[dtype]).byteswap().view("uint8")
                storage = UntypedStorage(array)
            storage = storages[key] = restore(storage, _text(location))
        return TypedStorage(storage, dtype)

    pickled = io.BytesIO(archive.read("data.pkl"))
    return build(pickled, persistent_load)


def _build_restricted(file: Any, persistent_load: Callable[[Any], Any], *, encoding: str) -> Any:
    return Unpickler(file, persistent_load, encoding).load()


def _build_trusted(
    file: Any, persistent_load: Callable[[Any], Any], *, pickle_module: Any, arguments: dict[str, Any]
) -> Any:
    load_storage = persistent_load

    class TorchUnpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module == "torch" or module.startswith("torch."):
                if name.endswith("Storage") and f"torch.{name}" in allowlist.builtin():
                    return allowlist.builtin()[f"torch.{name}"]
                return torch_names.find(module, name)
            return super().find_class(module, name)

        def persistent_load(self, pid: Any) -> Any:
            return load_storage(pid)

    return TorchUnpickler(file, **arguments).load()


def _explain(message: str) -> str:
    """What to do about a file that the restricted unpickler refused."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        text = (
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "do those steps only if you trust the source of the checkpoint.\n"
            f"\t(1) {_UNSAFE}\n"
            "\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the "
            f"following error message.\n\tWeightsUnpickler error: {message}"
        )
    else:
        text = f"Weights only load failed. {_UNSAFE}\nWeightsUnpickler error: {message}"
    return (
        f"{text}\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
        "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
    )


def _load_safetensors(path: str, map_location: Any) -> dict[str, Any]:
    if isinstance(map_location, dict) or (callable(map_location) and not bridge.is_device(map_location)):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. "
            "Use a device string or torch.device instead."
        )
    try:
        from safetensors.numpy import load_file
    except ImportError as e:
        raise RuntimeError(
            "Attempting to load a safetensors file but safetensors is not installed. "
            "Please install safetensors with: pip install safetensors"
        ) from e
    return {name: bridge.from_numpy(array, map_location or "cpu") for name, array in load_file(path).items()}


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Full names in a file that ``load(..., weights_only=True)`` would refuse now. Nothing in the file is run.

    Raises:
        RuntimeError: the file is not in the zip format.
    """
    path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(path, "rb")) if path is not None else _seekable(f)
        if not is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        reader = stack.enter_context(ArchiveReader(file))
        skimmer = Skimmer(io.BytesIO(reader.read("data.pkl")))
        skimmer.load()
    return [name for name in skimmer.names if not allowlist.is_allowed(name)]


def _load_from_bytes(data: bytes) -> Any:
    """A storage inside a plain pickle of a tensor: a whole file of the old format. Only trusted unpicklers find it."""
    return load(io.BytesIO(data), weights_only=False)


torch_names.register("torch.storage", "_load_from_bytes", _load_from_bytes)
