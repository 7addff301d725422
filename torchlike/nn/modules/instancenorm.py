"""Instance normalisation."""

from __future__ import annotations

from typing import Any

from torchlike.nn import functional as F
from torchlike.nn.modules.batchnorm import _LazyNormBase, _NormBase
from torchlike.tensor.tensor import Tensor


class _InstanceNorm(_NormBase):
    _channel_dim = 0

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() == self._channel_dim
        x = input if batched else input.unsqueeze(0)
        if self.affine and x.shape[1] != self.num_features:
            raise ValueError(f"expected input's size at dim={1 if batched else 0} to match num_features ({self.num_features}), but got: {x.shape[1]}.")
        out = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, self.training or not self.track_running_stats,
                              self.momentum if self.momentum is not None else 0.0, self.eps)  # fmt: skip
        return out if batched else out.squeeze(0)

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._channel_dim
        if input.dim() not in (n - 1, n):
            raise ValueError(f"expected {n - 1}D or {n}D input (got {input.dim()}D input)")


class InstanceNorm1d(_InstanceNorm):
    """Normalisation of every channel of every sample of ``(N, C, L)``."""

    _channel_dim = 3


class InstanceNorm2d(_InstanceNorm):
    """Normalisation of every channel of every sample of ``(N, C, H, W)``."""

    _channel_dim = 4


class InstanceNorm3d(_InstanceNorm):
    """Normalisation of every channel of every sample of ``(N, C, D, H, W)``."""

    _channel_dim = 5


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """A ``InstanceNorm1d`` that learns ``num_features`` from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """A ``InstanceNorm2d`` that learns ``num_features`` from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """A ``InstanceNorm3d`` that learns ``num_features`` from its first input."""

    cls_to_become = InstanceNorm3d
