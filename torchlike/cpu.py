"""``torch.cpu``: the processor, with the interface of ``torch.cuda``."""

from __future__ import annotations

from typing import Any

from torchlike import engine

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available() -> bool:
    """Whether there is a processor: yes."""
    return True


def is_initialized() -> bool:
    """Whether it is ready: yes."""
    return True


def device_count() -> int:
    """How many torch counts: 1."""
    return 1


def current_device() -> str:
    """Its name."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing, as in torch: there is one."""


def synchronize(device: Any = None) -> None:
    """Run what is recorded; results on the processor are waited for where they are read."""
    engine.flush()
