"""``torch.accelerator``: the machine's accelerator, whatever it is; here an NVIDIA GPU or none."""

from __future__ import annotations

from typing import Any

from torchlike import cuda
from torchlike.tensor.device import device as Device

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available", "max_memory_allocated",
    "memory_allocated", "set_device_index", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is an accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """How many there are."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """The kind of accelerator here, as a device without an index; None when there is none."""
    return Device("cuda") if is_available() else None


def _need_one() -> None:
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """The index of the current one; RuntimeError when there is none."""
    _need_one()
    return cuda.current_device()


def set_device_index(device: Any) -> None:
    """Make a device the current one, as ``torch.cuda.set_device``."""
    _need_one()
    cuda.set_device(device)


def synchronize(device: Any = None) -> None:
    """Wait until the accelerator has computed everything; RuntimeError when there is none."""
    _need_one()
    cuda.synchronize(device)


def empty_cache() -> None:
    """As ``torch.cuda.empty_cache``; RuntimeError when there is none."""
    _need_one()
    cuda.empty_cache()


def memory_allocated(device_index: Any = None) -> int:
    """Bytes in use by arrays; RuntimeError when there is none."""
    _need_one()
    return cuda.memory_allocated(device_index)


def max_memory_allocated(device_index: Any = None) -> int:
    """The most bytes in use since the start; RuntimeError when there is none."""
    _need_one()
    return cuda.max_memory_allocated(device_index)
