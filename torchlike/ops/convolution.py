"""Convolutions."""

from __future__ import annotations

from jax import lax

from torchlike.ops.declare import Array, Ints, op


def _pair(x, n):
    return (x,) * n if isinstance(x, int) else tuple(x)


@op(namespace="nn.functional", method=False, out=False, node="ConvolutionBackward0", aliases=("torch.conv2d",))
def conv2d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1, groups: int = 1):
    """2-d convolution, ``(N, C, H, W)``."""
    pad = [(p, p) for p in _pair(padding, 2)]
    y = lax.conv_general_dilated(input, weight, _pair(stride, 2), pad, rhs_dilation=_pair(dilation, 2), feature_group_count=groups,
                                 dimension_numbers=("NCHW", "OIHW", "NCHW"))
    return y if bias is None else y + bias[:, None, None]
