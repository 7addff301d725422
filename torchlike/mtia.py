"""``torch.mtia``: Meta's accelerators, which torchlike does not reach. What libraries ask before they use them is answered."""

from __future__ import annotations

__all__ = ["device_count", "is_available", "is_initialized", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Whether there is such a device: no."""
    return False


def device_count() -> int:
    """How many there are: none."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing, as in torch where there is no such device."""
    int(seed)


manual_seed_all = manual_seed


def is_initialized() -> bool:
    """Whether one is ready: no."""
    return False
