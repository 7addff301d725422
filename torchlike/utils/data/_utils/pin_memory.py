"""Pinning: tensors of a batch, and batches with a ``pin_memory`` method of their own, are asked for a pinned copy."""

from __future__ import annotations

from typing import Any

from torchlike.utils.data._utils.collate import map_structure

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """``data`` with everything in it that has a ``pin_memory`` method replaced by its result."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    pinned = map_structure(lambda item: pin_memory(item, device), data, tuples=True)
    return data if pinned is NotImplemented else pinned
