"""``torch.backends.mha``: the fused path of the transformer layers at inference, a matter of speed alone."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether the fused path may be taken."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Whether the fused path may be taken. XLA fuses the plain path by itself, so both give the same program."""
    global _enabled
    _enabled = value
