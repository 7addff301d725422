"""``import torch`` gives torchlike: for the whole process, or for named importers only.

One module object has two names: ``torch.nn`` is ``torchlike.nn``. Modules of torch that torchlike lacks are made from the
tables (``gaps.py``): they can be imported, and say what is missing where a name of theirs is used.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from torchlike.compat import gaps, tables

# Alias roots and where they lead. Packages of the torch family that torchlike does not serve are not found.
ROOTS = {"torch": "torchlike", "torchvision": "torchlike.vision"}
# Modules of torchlike's own that must not appear as torch's.
OWN = {"engine", "ops", "tensor", "compat", "cli", "vision", "interop", "kernels", "__main__"}
# torch modules that live elsewhere here.
MOVED = {"torch.serialization": "torchlike.serialization"}


def target_of(name: str) -> str | None:
    """The torchlike module that serves a torch module; None when there is none."""
    root, _, rest = name.partition(".")
    if root not in ROOTS:
        return None
    if rest.split(".")[0] in OWN and root == "torch":
        return None
    target = MOVED.get(name, ROOTS[root] + ("." + rest if rest else ""))
    try:
        return target if importlib.util.find_spec(target) is not None else None
    except (ImportError, AttributeError, ValueError):
        return None


def load(name: str) -> ModuleType:
    """The module that stands for a torch module: torchlike's own, or one made from the tables."""
    target = target_of(name)
    if target is not None:
        module = importlib.import_module(target)
        gaps.watch(module, name)
        return module
    if tables.has_module(name):
        return gaps.module(name)
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class _Loader(importlib.abc.Loader):
    """Gives a module that exists already its second name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = load(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just written the alias's spec into the module; it keeps its own.
        module.__spec__ = self.spec


class _Distribution(importlib.metadata.Distribution):
    """What ``importlib.metadata`` says of torch under the alias."""

    def __init__(self, name: str, version: str) -> None:
        self._text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: served by torchlike\n"

    def read_text(self, filename: str) -> str | None:
        return self._text if filename in ("METADATA", "PKG-INFO") else None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(path)


class Finder(importlib.abc.MetaPathFinder):
    """Serves ``torch``, ``torch.*`` and ``torchvision*`` from torchlike."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """A spec that leads to the torchlike module; an error for names that neither has."""
        root = fullname.partition(".")[0]
        if root not in ROOTS:
            return None
        known = target_of(fullname) is not None or tables.has_module(fullname)
        if not known:
            if "." in fullname:
                # The parent's path is torchlike's folder: no other finder may look there for a torch name.
                raise ModuleNotFoundError(f"No module named {fullname!r} (torch has no such module)", name=fullname)
            raise ModuleNotFoundError(f"No module named {fullname!r}: torchlike does not serve it yet", name=fullname)
        return importlib.machinery.ModuleSpec(fullname, _Loader(fullname), is_package=True)

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """torch's entry in the list of installed distributions."""
        from torchlike.version import __version__, vision_version

        name = getattr(context, "name", None)
        for root, version in (("torch", __version__), ("torchvision", vision_version)):
            if name in (None, root) and target_of(root) is not None:
                yield _Distribution(root, str(version))


_finder = Finder()
_real_import: Any = None
_importers: tuple[str, ...] = ()


def install(importers: str | Iterable[str] | None = None) -> None:
    """Serve ``import torch`` from torchlike.

    Without ``importers``, in the whole process: real torch must not have been imported. With names of modules or packages,
    only for imports made by them (and below them), so that real torch and torchlike can live in one process.
    """
    global _real_import, _importers
    if importers is None:
        held = sys.modules.get("torch")
        if held is not None and held is not sys.modules.get("torchlike"):
            raise RuntimeError("torch is imported already: call torchlike.install() before, or name the importers to serve")
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)
        return
    names = (importers,) if isinstance(importers, str) else tuple(importers)
    _importers = tuple(dict.fromkeys((*_importers, *names)))
    if _real_import is None:
        _real_import = builtins.__import__
        builtins.__import__ = _scoped_import


def uninstall() -> None:
    """Undo ``install``: later imports of torch find real torch again (modules that hold torchlike keep it)."""
    global _real_import, _importers
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        own = {id(m) for n, m in sys.modules.items() if n.partition(".")[0] == "torchlike"}
        for name in [n for n in sys.modules if n.partition(".")[0] in ROOTS]:
            module = sys.modules[name]
            if id(module) in own or isinstance(module, gaps.GapModule):
                del sys.modules[name]
    if _real_import is not None:
        builtins.__import__ = _real_import
        _real_import, _importers = None, ()


def installed() -> bool:
    """Whether ``import torch`` gives torchlike in the whole process."""
    return _finder in sys.meta_path


def _scoped_import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    importer = (globals or {}).get("__name__", "")
    root = name.partition(".")[0]
    if level == 0 and root in ROOTS and any(importer == i or importer.startswith(i + ".") for i in _importers):
        module = load(name)
        if not fromlist:
            return load(root)
        for item in fromlist:
            if isinstance(item, str) and item != "*" and not hasattr(module, item) and target_of(f"{name}.{item}"):
                setattr(module, item, load(f"{name}.{item}"))
        return module
    return _real_import(name, globals, locals, fromlist, level)
