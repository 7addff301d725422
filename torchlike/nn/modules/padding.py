"""Padding layers: circular, constant, reflection, replication and zero, in one to three dimensions."""

from __future__ import annotations

from typing import Any

from torchlike.nn import functional as F
from torchlike.nn.modules.module import Module
from torchlike.tensor.tensor import Tensor


class _Pad(Module):
    """Pads the last ``_dims`` dimensions; ``padding``: one number, or before and after from the last dimension on."""

    _dims = 0
    _mode = ""
    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        n = self._dims + 2
        if input.dim() not in (n - 1, n):
            raise ValueError(f"expected {n - 1}D or {n}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """Pads ``(N, C, W)`` as if it were periodic."""

    _dims = 1


class CircularPad2d(_CircularPad):
    """Pads ``(N, C, H, W)`` as if it were periodic."""

    _dims = 2


class CircularPad3d(_CircularPad):
    """Pads ``(N, C, D, H, W)`` as if it were periodic."""

    _dims = 3


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pads the last dimension with a number."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Pads the last two dimensions with a number."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Pads the last three dimensions with a number."""

    _dims = 3


class ReflectionPad1d(_Pad):
    """Pads ``(N, C, W)`` with its mirror image (without the edge)."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pads ``(N, C, H, W)`` with its mirror image (without the edge)."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pads ``(N, C, D, H, W)`` with its mirror image (without the edge)."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pads ``(N, C, W)`` with its edge."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pads ``(N, C, H, W)`` with its edge."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pads ``(N, C, D, H, W)`` with its edge."""

    _dims, _mode = 3, "replicate"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads the last dimension with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads the last two dimensions with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads the last three dimensions with zeros."""
