"""``torch.jit`` as far as it says how code is to be compiled: eager code is compiled already, so ``script`` gives it back.

Decorators that only talk to TorchScript's compiler change nothing in eager PyTorch, and so nothing here. What needs a script
as an object (saving, loading, its graph) is among the gaps.
"""

from __future__ import annotations

import builtins
import typing
from typing import Any, Final, TypeVar

__all__ = ["Attribute", "Error", "Final", "annotate", "export", "final", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "script",
           "script_if_tracing", "strict_fusion", "unused"]  # fmt: skip

T = TypeVar("T")


class Error(RuntimeError):
    """What a scripted function raised; nothing raises it here: errors keep their own class."""


class Attribute(typing.NamedTuple):
    """A value with the type that TorchScript shall see."""

    value: Any
    type: Any


def script(obj: T, *args: Any, **kwargs: Any) -> T:
    """The function, module or class itself: it computes the same, and is compiled as it runs."""
    return obj


def script_if_tracing(fn: T) -> T:
    """The function itself."""
    return fn


def export(fn: T) -> T:
    """The method itself, marked for TorchScript in torch."""
    return fn


def unused(fn: T) -> T:
    """The method itself, hidden from TorchScript in torch."""
    return fn


def interface(obj: T) -> T:
    """The class itself."""
    return obj


def final(obj: T) -> T:
    """The class or method itself."""
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself; with or without arguments, as a decorator."""
    return drop if callable(drop) else lambda fn: fn


def _overload(fn: T) -> T:
    return fn


def _overload_method(fn: T) -> T:
    return fn


def annotate(the_type: Any, the_value: T) -> T:
    """The value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """``isinstance``, also with generic types such as ``list[int]``, whose arguments are not looked at."""
    origins = [typing.get_origin(t) or t for t in (target_type if builtins.isinstance(target_type, tuple) else (target_type,))]
    return builtins.isinstance(obj, tuple(origins))


def is_scripting() -> bool:
    """Whether the code runs as TorchScript: never."""
    return False


def is_tracing() -> bool:
    """Whether the code is being traced by ``torch.jit.trace``: never."""
    return False


class strict_fusion:
    """A block that in scripted code must become one kernel; in eager code it says nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


