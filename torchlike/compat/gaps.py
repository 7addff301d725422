"""What stands for a name that torch has and torchlike lacks: it can be imported, and says so when it is used.

``from torch.distributed.rpc import remote`` gives a placeholder. Calling it, reading an attribute of it, using its truth
value or making an instance of it raises ``NotInTorchlikeError`` with its full name and the nearest thing that exists. A
placeholder for a class can be subclassed and used with ``isinstance``; one for an exception can stand in ``except``.
"""

from __future__ import annotations

import importlib.util
import sys
from abc import ABCMeta
from types import FrameType, ModuleType
from typing import Any, NoReturn, Union

from torchlike.compat import names
from torchlike.compat.asking import is_probe

__all__ = ["GapModule", "MissingNameError", "NotInTorchlikeError", "add_gaps", "is_gap", "missing", "ours", "theirs"]

KNOWN_GAPS = "docs/known-gaps.md"
GAP_ORIGIN = "torchlike's known gaps"  # of a gap module's spec


class NotInTorchlikeError(NotImplementedError):
    """A name that torch has and torchlike lacks was used."""


class MissingNameError(NotInTorchlikeError, AttributeError):
    """A module was asked whether it has a name that torch has and torchlike lacks."""


# What does the job of a part of torch that torchlike lacks. The longest prefix that fits is shown.
_INSTEAD = {
    "torch._dynamo": "torch.compile; eager code is compiled already",
    "torch._inductor": "torch.compile; eager code is compiled already",
    "torch._C": "the public name of the operator or class",
    "torch.ao": "lower precision through torch.autocast, .half() or .bfloat16()",
    "torch.backends": "JAX's own configuration (jax.config)",
    "torch.compile": "nothing at all: eager code is compiled already",
    "torch.cuda": "torch.cuda's own functions for devices and memory, or jax.devices()",
    "torch.distributed": "torch.distributed's collectives, or JAX's sharding (jax.sharding.NamedSharding)",
    "torch.export": "jax.export, through torchlike.interop",
    "torch.fx": "jax.make_jaxpr of the function, through torchlike.func",
    "torch.jit": "nothing at all: eager code is compiled already; torch.compile for whole functions",
    "torch.library": "an autograd.Function, or a JAX function on tensors through torchlike.interop",
    "torch.nested": "padded tensors with a mask",
    "torch.ops": "the public torch function of the same name",
    "torch.package": "torch.save",
    "torch.quantization": "lower precision through torch.autocast, .half() or .bfloat16()",
    "torch.sparse": "dense tensors, or index_add and scatter_add with the indices",
    "torch.testing._internal": "torch.testing",
    "torch.utils.cpp_extension": "a Triton or Pallas kernel, or a JAX FFI call, through torchlike.interop",
}
# Parts of torch that have public operators under their plain names.
_INTERNAL = ("torch._C", "torch.ops")
# Rooms where a name that is missing elsewhere may well exist.
_ELSEWHERE = ("torch", "torch.nn.functional", "torch.nn", "torch.linalg", "torch.special", "torch.optim", "torch.utils.data")


def ours(torch_name: str) -> str:
    """Torchlike's name of a torch module: ``torch.nn`` is ``torchlike.nn``, ``torchvision.ops`` is ``torchlike.vision.ops``."""
    root, dot, rest = torch_name.partition(".")
    return {"torch": "torchlike", "torchvision": "torchlike.vision"}[root] + dot + rest


def theirs(own_name: str) -> str:
    """Torch's name of a torchlike module."""
    if own_name == "torchlike.vision" or own_name.startswith("torchlike.vision."):
        return "torchvision" + own_name.removeprefix("torchlike.vision")
    return "torch" + own_name.removeprefix("torchlike")


def _nearest(full_name: str) -> str | None:
    """What to use instead: a like name in the same module, what does the job of that part of torch, the name elsewhere."""
    if full_name in _INSTEAD:
        return _INSTEAD[full_name]
    module, _, name = full_name.rpartition(".")
    loaded = sys.modules.get(ours(module)) if module.partition(".")[0] in ("torch", "torchvision") else None
    if loaded is not None and not isinstance(loaded, GapModule):
        like = names.nearest(name, [n for n in dir(loaded) if not isinstance(vars(loaded).get(n), ModuleType)])
        if like:
            return " or ".join(f"{module}.{n}" for n in like)
    prefix = max((p for p in _INSTEAD if f"{full_name}.".startswith(f"{p}.")), key=len, default=None)
    if prefix is not None and prefix not in _INTERNAL:
        return _INSTEAD[prefix]
    for room in _ELSEWHERE:
        if room != module and name in dir(sys.modules.get(ours(room), None)):
            return f"{room}.{name}"
    return _INSTEAD[prefix] if prefix is not None else None


def explain(full_name: str) -> str:
    """The sentence about a name that is missing."""
    near = _nearest(full_name)
    return f"torchlike does not have {full_name} yet.{f' Nearest to it: {near}.' if near else ''} Known gaps: {KNOWN_GAPS}"


def refuse(full_name: str) -> NoReturn:
    """Raise the error for a use of a missing name."""
    raise NotInTorchlikeError(explain(full_name))


class Missing:
    """Stands for a function or a value."""

    def __init__(self, full_name: str) -> None:
        self._full_name = full_name
        self.__name__ = self.__qualname__ = full_name.rpartition(".")[2]
        self.__doc__ = explain(full_name)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(self._full_name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):  # asked by typing, inspect, copy, ... of any object
            raise AttributeError(name)
        if self._full_name.startswith("torch.ops."):  # operators are named without being called: tables, decorators
            return placeholder(f"{self._full_name}.{name}", names.VALUE)
        refuse(f"{self._full_name}.{name}")

    def __bool__(self) -> NoReturn:
        refuse(self._full_name)

    def __iter__(self) -> NoReturn:
        refuse(self._full_name)

    def __getitem__(self, key: Any) -> NoReturn:
        refuse(self._full_name)

    def __or__(self, other: Any) -> Any:  # a type in an annotation, ``int | Missing``
        return Union[self, other]

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]

    def __repr__(self) -> str:
        return f"<{self._full_name}: not in torchlike>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        refuse(self._full_name)


class MissingType(ABCMeta):
    """The type of placeholders for classes; derived from ABCMeta so that subclasses may have abstract bases besides."""

    _full_name: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(cls._full_name)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        refuse(f"{cls._full_name}.{name}")

    def __repr__(cls) -> str:
        return f"<class {cls._full_name}: not in torchlike>" if "_full_name" in vars(cls) else super().__repr__()


def _missing_class(full_name: str, base: type) -> Any:
    module, _, name = full_name.rpartition(".")
    body = {"_full_name": full_name, "__module__": module, "__doc__": explain(full_name), "__class_getitem__": classmethod(lambda cls, _: cls)}
    return MissingType(name, (base,), body)


_placeholders: dict[str, Any] = {}


def placeholder(full_name: str, kind: str) -> Any:
    """The one placeholder of a name."""
    if full_name not in _placeholders:
        if kind in (names.CLASS, names.EXCEPTION):
            made = _missing_class(full_name, Exception if kind == names.EXCEPTION else object)
        else:
            made = Missing(full_name)
        _placeholders[full_name] = made
    return _placeholders[full_name]


def is_gap(value: Any) -> bool:
    """Whether a value stands for something that torchlike lacks."""
    return isinstance(value, (Missing, GapModule)) or (isinstance(value, MissingType) and "_full_name" in vars(value))


def missing(module: str, name: str, asking: FrameType | None) -> Any:
    """What ``getattr`` of a torch module gives for a name that torchlike's module lacks.

    Args:
        module: torch's name of the module.
        name: The name that was not found.
        asking: The frame that asks; it decides between a placeholder and the answer no (see ``asking``).

    Raises:
        AttributeError: torch has no such name either; or it has, and the frame only probes for it.
    """
    kind = names.kind_of(module, name)
    full_name = f"{module}.{name}"
    if kind is None:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    if kind == names.MODULE and names.has_module(full_name):
        spec = importlib.util.find_spec(ours(full_name))
        if spec is None or spec.origin != GAP_ORIGIN or not is_probe(asking):
            return importlib.import_module(ours(full_name))
        raise MissingNameError(explain(full_name))
    if is_probe(asking):
        raise MissingNameError(explain(full_name))
    return placeholder(full_name, kind)


class GapModule(ModuleType):
    """A module of torch's of which torchlike has nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{theirs(name)} is not in torchlike; its names can be imported and raise when they are used.")
        self.__path__: list[str] = []
        self.__all__ = [n for n in names.members(theirs(name)) if not n.startswith("_")]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module '{theirs(self.__name__)}' has no attribute '{name}'")
        return missing(theirs(self.__name__), name, sys._getframe(1))

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *names.members(theirs(self.__name__))})

    def __repr__(self) -> str:
        return f"<module '{theirs(self.__name__)}': not in torchlike>"


def add_gaps(module: ModuleType) -> None:
    """Let a module of torchlike's answer for the names that it lacks, after its own ``__getattr__``."""
    own = vars(module).get("__getattr__")
    if getattr(own, "answers_gaps", False):
        return
    torch_name = theirs(module.__name__)

    def __getattr__(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                if name != "__path__" and names.kind_of(torch_name, name) is None:
                    raise
        # torch has packages where torchlike has a single file: their submodules are found through this
        if name == "__path__" and names.has_submodules(torch_name):
            return []
        return missing(torch_name, name, sys._getframe(1))

    __getattr__.answers_gaps = True  # type: ignore[attr-defined]
    module.__getattr__ = __getattr__  # type: ignore[method-assign]
