"""``torch.backends.cusparselt``: semi-structured sparsity on NVIDIA GPUs, which XLA does not use."""

from __future__ import annotations

__all__ = ["get_max_alg_id", "is_available", "version"]


def version() -> int | None:
    """Its version: None, it is not there."""
    return None


def is_available() -> bool:
    """Whether it is there: no."""
    return False


def get_max_alg_id() -> int | None:
    """The number of its algorithms: None."""
    return None
