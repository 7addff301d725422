"""``torch.nn.attention``: which kernels ``scaled_dot_product_attention`` may use.

XLA chooses the kernel here: the choice is kept and can be read, and changes no result.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """torch's kernels of scaled dot product attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    __str__ = enum.Enum.__str__
    __repr__ = enum.Enum.__repr__


_PRIORITY = [
    SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH, SDPBackend.OVERRIDEABLE,
]  # fmt: skip
_enabled: list[SDPBackend] = list(_PRIORITY)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The kernels that are allowed now."""
    return list(_enabled) if with_priority else [b for b in _PRIORITY if b in _enabled]


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict[str, Any]]:
    """Allow one kernel or a list of kernels for a block (with ``set_priority`` in that order)."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}"
        )
    before = list(_enabled)
    _enabled[:] = dict.fromkeys([backends] if isinstance(backends, SDPBackend) else backends)
    try:
        yield {}
    finally:
        _enabled[:] = before
