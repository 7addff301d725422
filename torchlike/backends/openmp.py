"""``torch.backends.openmp``: OpenMP, which XLA does not use (it has a thread pool of its own)."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether it is there: no."""
    return False
