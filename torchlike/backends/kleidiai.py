"""``torch.backends.kleidiai``: Arm's KleidiAI, which XLA does not use."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether it is there: no."""
    return False
