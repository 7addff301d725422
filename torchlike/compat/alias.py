"""``torchlike.install()``: torch's names for torchlike, in the whole process or for some importers only.

In the whole process an import hook and ``sys.modules`` do it. For some importers they cannot: both libraries would need the
same keys of ``sys.modules``. There ``builtins.__import__`` is wrapped, which is told who imports: for the importers named,
``import torch.x`` becomes ``import torchlike.x``. That covers imports at the top of a module and inside functions, without
touching the source; ``importlib.import_module("torch")`` names no importer and gives real torch.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from torchlike.compat import metadata, shown_names
from torchlike.compat.finder import ALIASED, AliasFinder, on_load, watch
from torchlike.compat.gaps import ours

__all__ = ["install", "install_for_folder", "is_installed", "uninstall"]

# Companions of torch that torchlike has nothing of. None in sys.modules makes their import fail, also where they are on
# disk: they are compiled against libtorch and could not work.
_ABSENT = ("torchaudio", "torchtext")

_importers: set[str] = set()
_folders: set[str] = set()
_original_import: Callable[..., Any] | None = None


def is_installed() -> bool:
    """Whether ``import torch`` gives torchlike in the whole process."""
    return any(isinstance(finder, AliasFinder) for finder in sys.meta_path)


def install(importers: str | Sequence[str] | None = None) -> None:
    """See ``torchlike.install``."""
    watch()
    if importers is None:
        _install_everywhere()
    else:
        _importers.update([importers] if isinstance(importers, str) else importers)
        _wrap_import()


def install_for_folder(folder: str) -> None:
    """``import torch`` gives torchlike in modules whose file is in the folder, whatever they are called."""
    watch()
    _folders.add(folder.rstrip("/\\"))
    _wrap_import()


def uninstall() -> None:
    """See ``torchlike.uninstall``."""
    global _original_import
    if _original_import is not None:
        builtins.__import__ = _original_import
        _original_import = None
    _importers.clear()
    _folders.clear()
    if not is_installed():
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, AliasFinder)]
    metadata.uninstall()
    on_load.remove(shown_names.rename)
    shown_names.restore()
    for name, module in list(sys.modules.items()):
        root = name.partition(".")[0]
        if root in ALIASED or (root in _ABSENT and module is None):
            del sys.modules[name]


def _install_everywhere() -> None:
    if is_installed():
        return
    torchlike = importlib.import_module("torchlike")
    for root in ALIASED:
        if sys.modules.get(root, torchlike) is not torchlike:
            raise RuntimeError(
                f"{root} is loaded already, and modules that hold it would be mixed with torchlike. Call torchlike.install() before "
                f"anything imports {root}, or torchlike.install(importers=[...]) with the names of the modules that shall get torchlike"
            )
    sys.meta_path.insert(0, AliasFinder())
    metadata.install()
    sys.modules["torch"] = torchlike
    shown_names.as_torchs()
    on_load.append(shown_names.rename)
    for name in (*_ABSENT, *(root for root in ALIASED if find_spec(ours(root)) is None)):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


def _wrap_import() -> None:
    global _original_import
    if _original_import is not None:
        return
    original = _original_import = builtins.__import__

    def import_for(name: str, globals: Mapping[str, Any] | None = None, locals: Mapping[str, Any] | None = None,
                   fromlist: Sequence[str] | None = (), level: int = 0) -> ModuleType:  # fmt: skip
        if level == 0 and name.partition(".")[0] in ALIASED and globals is not None and _is_covered(globals):
            name = ours(name)
            module = original(name, globals, locals, fromlist, 0)
            if not fromlist and name.startswith("torchlike.vision"):
                return sys.modules["torchlike.vision"]  # ``import torchvision.ops`` binds torchvision
            return module
        return original(name, globals, locals, fromlist, level)

    builtins.__import__ = import_for


def _is_covered(importer: Mapping[str, Any]) -> bool:
    """Whether the module with these globals is among the importers."""
    name = importer.get("__name__") or ""
    parts = name.split(".")
    if any(".".join(parts[:n]) in _importers for n in range(1, len(parts) + 1)):
        return True
    file = importer.get("__file__") or ""
    return any(file.startswith((f"{folder}/", f"{folder}\\")) for folder in _folders)
