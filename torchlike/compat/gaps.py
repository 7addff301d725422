"""Names of torch that torchlike does not have: importable, and an error with their full name where they are used.

``from torch.x import Foo`` works when torch has that name, since libraries import more than they use. ``hasattr(torch.x,
"Foo")`` says no, so that libraries that ask take their other way.
"""

from __future__ import annotations

import difflib
import dis
import importlib
import sys
from types import ModuleType
from typing import Any

from torchlike.compat import tables

GAPS_PAGE = "docs/known-gaps.md"
_USES = {"IMPORT_FROM", "LOAD_ATTR", "LOAD_METHOD", "LOAD_NAME", "LOAD_GLOBAL"}


class MissingError(NotImplementedError):
    """A name of torch that torchlike does not have was used."""


class _Placeholder(type):
    """Stands for a missing name: it can be imported, subclassed and asked ``isinstance``; using it raises."""

    torch_name: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise missing(cls.torch_name)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise missing(f"{cls.torch_name}.{name}")

    def __instancecheck__(cls, x: object) -> bool:
        return cls.__dict__.get("_is_placeholder") is None and type.__instancecheck__(cls, x)

    def __repr__(cls) -> str:
        return f"<{cls.torch_name}: not in torchlike>"

    def __bool__(cls) -> bool:
        return False


def missing(name: str) -> MissingError:
    """The error for a missing name: what exists that is nearest, and where the gaps are listed."""
    module, _, last = name.rpartition(".")
    try:
        here = importlib.import_module(module.replace("torch", "torchlike", 1))
        near = difflib.get_close_matches(last, [n for n in dir(here) if not n.startswith("_")], n=1, cutoff=0.7)
    except ImportError:
        near = []
    hint = f" The nearest that exists is {module}.{near[0]}." if near else ""
    return MissingError(f"{name} is not implemented in torchlike.{hint} Known gaps: {GAPS_PAGE}")


def placeholder(name: str) -> Any:
    """The placeholder of a missing name ("torch.jit.trace")."""
    made = _Placeholder(name.rpartition(".")[2], (), {"_is_placeholder": True, "torch_name": name, "__module__": name.rpartition(".")[0]})
    return made


def _asked() -> bool:
    """Whether the attribute is only asked for (``hasattr``, ``getattr``), not used by an import or an expression."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    if frame is None:
        return True
    code = frame.f_code.co_code
    if frame.f_code.co_filename.startswith("<frozen importlib"):
        return True
    return dis.opname[code[frame.f_lasti]] not in _USES


def lookup(module: str, name: str, asked: bool) -> Any:
    """The submodule or placeholder for a name that torch's module has; ``AttributeError`` for others."""
    kind = tables.kind_of(module, name)
    if tables.has_module(f"{module}.{name}"):
        return _load(f"{module}.{name}")
    if kind is None or asked:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    return placeholder(f"{module}.{name}")


def _load(name: str) -> ModuleType:
    from torchlike.compat import alias

    if alias.installed():
        return importlib.import_module(name)
    return alias.load(name)


class GapModule(ModuleType):
    """A module of torch that torchlike does not have."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return lookup(self.__name__, name, _asked())

    def __dir__(self) -> list[str]:
        return sorted(tables.names_of(self.__name__))


_modules: dict[str, GapModule] = {}


def module(name: str) -> GapModule:
    """The gap module of a torch module."""
    if name not in _modules:
        made = GapModule(name, f"``{name}`` is not in torchlike: its names can be imported, and raise when used.")
        made.__path__ = []  # it may have submodules
        _modules[name] = made
    return _modules[name]


_watched: set[int] = set()


def watch(module: ModuleType, torch_name: str) -> None:
    """Let a torchlike module answer for the names that torch's has and it has not."""
    if id(module) in _watched:
        return
    _watched.add(id(module))
    own = module.__dict__.get("__getattr__")

    def __getattr__(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                pass
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module '{torch_name}' has no attribute '{name}'")
        return lookup(torch_name, name, _asked())

    module.__getattr__ = __getattr__  # type: ignore[method-assign]
