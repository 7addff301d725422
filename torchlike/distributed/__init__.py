"""``torch.distributed``, of which torchlike has nothing yet: it answers as a build of PyTorch without it."""

from __future__ import annotations

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Whether processes can work together: no. Programs ask this before they use anything else of the module."""
    return False


def is_initialized() -> bool:
    """Whether there is a process group: no."""
    return False
