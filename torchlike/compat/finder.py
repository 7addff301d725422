"""The import hooks: torch's names for torchlike's modules, and gap modules where torchlike has none.

``OwnFinder`` is there from ``import torchlike`` on and only sees names below ``torchlike``. ``AliasFinder`` is there while
the alias is installed: it gives ``torch.nn`` *the* module ``torchlike.nn``, one object under two names in ``sys.modules``,
so nothing is ever imported twice.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from torchlike.compat import names
from torchlike.compat.gaps import GAP_ORIGIN, GapModule, add_gaps, ours, theirs

__all__ = ["ALIASED", "AliasFinder", "on_load", "watch"]

ALIASED = ("torch", "torchvision")
# Called with every module of torchlike's once it is loaded.
on_load: list[Callable[[ModuleType], None]] = []
_CHECKOUT = Path(__file__).resolve().parents[2]


class _GapLoader:
    """Loads a module of which torchlike has nothing."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return GapModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class OwnFinder:
    """Finds modules below ``torchlike``: the real ones, which then answer for their gaps; gap modules for the others."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not fullname.startswith("torchlike."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None and fullname == "torchlike.kernels":  # in a checkout it lies beside the package
            init = _CHECKOUT / "kernels" / "__init__.py"
            spec = spec_from_file_location(fullname, init, submodule_search_locations=[str(init.parent)]) if init.exists() else None
        if spec is not None:
            return _answering(spec)
        if names.has_module(theirs(fullname)):
            return ModuleSpec(fullname, _GapLoader(), origin=GAP_ORIGIN, is_package=True)  # type: ignore[arg-type]
        return None


def _answering(spec: ModuleSpec) -> ModuleSpec:
    """Have the module answer for its gaps once it is executed."""
    loader: Any = spec.loader
    if loader is None or not hasattr(loader, "exec_module"):
        return spec
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        complete = sys.modules.get(module.__name__, module)
        add_gaps(complete)
        for follow in on_load:
            follow(complete)

    loader.exec_module = exec_module
    return spec


class _AliasLoader:
    """Puts the module that torchlike has under torch's name."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The import system takes what is in sys.modules afterwards; the module keeps its own name and spec.
        sys.modules[module.__name__] = importlib.import_module(ours(module.__name__))

    def get_source(self, fullname: str) -> str | None:
        return None


class AliasFinder:
    """Finds ``torch.*`` and ``torchvision.*`` in torchlike.

    Only names that torch has: ``torch.tensor`` is a function there, and must not become torchlike's package of that name.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in ALIASED:
            return None
        if not names.has_module(fullname) and not fullname.startswith("torchvision"):
            if PathFinder.find_spec(fullname, path):  # further finders must not see it either
                raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)
            return None
        return ModuleSpec(fullname, _AliasLoader(), origin="torchlike", is_package=True)  # type: ignore[arg-type]


def watch() -> None:
    """Begin to answer for gaps, in the modules that are loaded and in those to come. Called once, by ``torchlike``."""
    if any(isinstance(finder, OwnFinder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, OwnFinder())
    for name, module in list(sys.modules.items()):
        if name == "torchlike" or name.startswith("torchlike."):
            add_gaps(module)
