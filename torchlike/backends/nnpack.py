"""``torch.backends.nnpack``: NNPACK, which XLA does not use."""

from __future__ import annotations

from contextlib import AbstractContextManager

from torchlike.backends.switches import Switch, scoped

__all__ = ["flags", "is_available", "set_flags"]


class _Nnpack:
    enabled = Switch(False)


_switches = _Nnpack()


def is_available() -> bool:
    """Whether it is there: no."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Allow it; returns whether it was allowed."""
    before = _switches.enabled
    _switches.enabled = _enabled
    return (before,)


def flags(enabled: bool = False) -> AbstractContextManager[None]:
    """Allow it within the block."""
    return scoped(_switches, enabled=enabled)
