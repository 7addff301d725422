"""Modules whose attributes are switches: setting one checks its type and keeps the value where the rest can read it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["Switch", "Switches", "scoped", "set_switches"]


class Switch:
    """A setting with a default; ``RuntimeError`` when a value of another type is set.

    Args:
        default: The value until somebody sets one; its type is what is accepted.
        choices: The values allowed, where the type does not say it.
        on_change: Called with the new value.
    """

    def __init__(self, default: Any, choices: tuple[Any, ...] = (), on_change: Callable[[Any], None] | None = None) -> None:
        self._value, self._default, self._choices, self._on_change = default, default, choices, on_change

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self._value

    def __set__(self, instance: Any, value: Any) -> None:
        if type(value) is not type(self._default):
            raise RuntimeError(f"{self.name} expects a {type(self._default).__name__}, but got {type(value).__name__}")
        if self._choices and value not in self._choices:
            raise ValueError(f"{self.name} must be one of {', '.join(map(repr, self._choices))}, but got {value!r}")
        self._value = value
        if self._on_change is not None:
            self._on_change(value)


class Switches(ModuleType):
    """A module with ``Switch`` attributes. A module takes its subclass on by ``become``."""

    @classmethod
    def become(cls, module_name: str) -> None:
        """Make the module of that name, which is being executed, one of this class."""
        sys.modules[module_name].__class__ = cls


def set_switches(module: Any, **values: Any) -> tuple[Any, ...]:
    """Set those that are not None; returns what they all were, in the order given."""
    before = tuple(getattr(module, name) for name in values)
    for name, value in values.items():
        if value is not None:
            setattr(module, name, value)
    return before


@contextmanager
def scoped(module: Any, **values: Any) -> Iterator[None]:
    """Set switches for a block (those that are not None) and put the former values back after it."""
    before = dict(zip(values, set_switches(module, **values), strict=True))
    try:
        yield
    finally:
        set_switches(module, **before)
