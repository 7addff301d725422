"""``torch.backends.mps``: Apple's GPUs through Metal, which torchlike does not reach."""

from __future__ import annotations

__all__ = ["get_core_count", "get_name", "is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]

_NO_MPS = "torchlike has no MPS backend; on Apple machines it computes on the CPU"


def is_built() -> bool:
    """Whether the backend is there: no."""
    return False


def is_available() -> bool:
    """Whether there is such a device: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Raises RuntimeError, as torch does where it has no MPS backend."""
    raise RuntimeError(_NO_MPS)


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Raises RuntimeError, as torch does where it has no MPS backend."""
    raise RuntimeError(_NO_MPS)


def get_name() -> str:
    """Raises RuntimeError: there is no device to name."""
    raise RuntimeError(_NO_MPS)


def get_core_count() -> int:
    """Raises RuntimeError: there is no device to count the cores of."""
    raise RuntimeError(_NO_MPS)
