"""``torch.fx`` as far as it is asked by code that is not traced by it; graphs themselves are among the gaps."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["wrap"]

T = TypeVar("T")


def wrap(fn_or_name: T) -> T:
    """The function (or its name) itself: symbolic tracing, which shall not look inside it, does not happen here."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name
