"""Convolutions: ``conv1d/2d/3d`` and their transposes, ``unfold`` and ``fold``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops.declare import Array, Ints, op, platform


def several(x: Any, n: int, name: str = "argument") -> tuple[int, ...]:
    """``n`` numbers from one or from a sequence."""
    if isinstance(x, int):
        return (x,) * n
    x = tuple(x)
    if len(x) == 1:
        return x * n
    if len(x) != n:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, but got {name}={list(x)}")
    return x


def _check(input: Any, weight: Any, bias: Any, groups: int, dims: int, transposed: bool) -> None:
    if weight.ndim != dims + 2:
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to conv{'_transpose' if transposed else ''}{dims}d, but got weight of size: {list(weight.shape)}"
        )
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to conv{'_transpose' if transposed else ''}{dims}d, but got "
            f"input of size: {list(input.shape)}"
        )
    if input.dtype != weight.dtype:
        raise RuntimeError(f"Input type ({input.dtype}) and weight type ({weight.dtype}) should be the same")
    channels = input.shape[-dims - 1]
    wanted = weight.shape[0] if transposed else weight.shape[1] * groups
    if channels != wanted:
        kind = f"transposed={int(transposed)}, " if transposed else ""
        raise RuntimeError(
            f"Given {kind}groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have {wanted} channels, but "
            f"got {channels} channels instead"
        )
    outs = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and bias.shape != (outs,):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {outs} elements, but got bias of size {list(bias.shape)} instead"
        )


def _numbers(dims: int) -> tuple[str, str, str]:
    spatial = "DHW"[3 - dims:]
    return ("NC" + spatial, "OI" + spatial, "NC" + spatial)


def _depthwise(x: Any, w: Any, stride: Sequence[int], pads: Sequence[tuple[int, int]], dilation: Sequence[int], outs: Sequence[int]) -> Any:
    """One kernel a channel: shifted multiplications, which XLA fuses (0.6 of torch's time; its own lowering takes 39 x)."""
    n, c = x.shape[:2]
    multiplier = w.shape[0] // c
    padded = jnp.pad(x, [(0, 0), (0, 0), *pads])
    total = None
    for position in np.ndindex(*w.shape[2:]):
        begin = [p * d for p, d in zip(position, dilation, strict=True)]
        end = [b + (o - 1) * s + 1 for b, o, s in zip(begin, outs, stride, strict=True)]
        part = lax.slice(padded, (0, 0, *begin), (n, c, *end), (1, 1, *stride))
        if multiplier > 1:
            part = jnp.repeat(part, multiplier, axis=1)
        term = part * w[(slice(None), 0, *position)].reshape(1, -1, *([1] * len(outs)))
        total = term if total is None else total + term
    return total


def convolve(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, dims: int) -> Any:
    """The convolution of torch: a cross-correlation, ``(N, C, *)`` with ``(O, C / groups, *)``."""
    _check(input, weight, bias, groups, dims, False)
    stride, dilation = several(stride, dims, "stride"), several(dilation, dims, "dilation")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    batched = input.ndim == dims + 2
    x = input if batched else input[None]
    kernel = weight.shape[2:]
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"padding must be 'valid' or 'same', but got {padding!r}")
        if padding == "same" and any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        pads = [(r // 2, r - r // 2) if padding == "same" else (0, 0) for r in reach]
    else:
        pads = [(p, p) for p in several(padding, dims, "padding")]
        if any(p < 0 for p, _ in pads):
            raise RuntimeError("negative padding is not supported")
    outs = [(n + a + b - r - 1) // s + 1 for n, (a, b), r, s in zip(x.shape[2:], pads, reach, stride, strict=True)]
    if any(o <= 0 for o in outs):
        spatial = " x ".join(str(n + a + b) for n, (a, b) in zip(x.shape[2:], pads, strict=True))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({spatial}). Kernel size: ({' x '.join(str(r + 1) for r in reach)}). Kernel size can't be "
            "greater than actual input size"
        )
    if x.shape[0] == 0 or weight.shape[0] == 0:
        y = jnp.zeros((x.shape[0], weight.shape[0], *outs), x.dtype) + 0 * (jnp.sum(x) + jnp.sum(weight))
    elif np.dtype(x.dtype).kind in "iub":
        wide = lax.conv_general_dilated(
            x.astype(np.float64), weight.astype(np.float64), stride, pads, rhs_dilation=dilation, feature_group_count=groups,
            dimension_numbers=_numbers(dims),
        )  # fmt: skip
        y = wide.astype(x.dtype)
    elif platform() == "cpu" and groups == x.shape[1] and groups > 1:
        y = _depthwise(x, weight, stride, pads, dilation, outs)
    else:
        y = lax.conv_general_dilated(
            x, weight, stride, pads, rhs_dilation=dilation, feature_group_count=groups, dimension_numbers=_numbers(dims)
        )
    if bias is not None:
        y = y + bias.reshape(-1, *([1] * dims))
    return y if batched else y[0]


def transpose_convolve(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any, dims: int) -> Any:
    """The gradient of a convolution with respect to its input, as an operator: ``(N, C, *)`` with ``(C, O / groups, *)``."""
    _check(input, weight, bias, groups, dims, True)
    stride, dilation = several(stride, dims, "stride"), several(dilation, dims, "dilation")
    padding, output_padding = several(padding, dims, "padding"), several(output_padding, dims, "output_padding")
    for extra, s, d in zip(output_padding, stride, dilation, strict=True):
        if extra >= s and extra >= d:
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got output_padding: {list(output_padding)}, stride: "
                f"{list(stride)}, dilation: {list(dilation)}"
            )
    batched = input.ndim == dims + 2
    x = input if batched else input[None]
    c, o = weight.shape[:2]
    # (C, O/g, *) -> (O, C/g, *), flipped: the transposed operator is a convolution of the dilated input.
    w = weight.reshape(groups, c // groups, o, *weight.shape[2:])
    w = jnp.swapaxes(w, 1, 2).reshape(groups * o, c // groups, *weight.shape[2:])
    w = jnp.flip(w, tuple(range(2, dims + 2)))
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    pads = [(r - p, r - p + extra) for r, p, extra in zip(reach, padding, output_padding, strict=True)]
    kind = np.dtype(x.dtype).kind
    if kind in "iub":
        x, w = x.astype(np.float64), w.astype(np.float64)
    y = lax.conv_general_dilated(
        x, w, (1,) * dims, pads, lhs_dilation=stride, rhs_dilation=dilation, feature_group_count=groups, dimension_numbers=_numbers(dims)
    )
    if kind in "iub":
        y = y.astype(input.dtype)
    if bias is not None:
        y = y + bias.reshape(-1, *([1] * dims))
    return y if batched else y[0]


_CONV: dict[str, Any] = {"namespace": "nn.functional", "method": False, "out": False, "node": "ConvolutionBackward0", "autocast": "lower"}


@op(**_CONV, aliases=("torch.conv1d",))
def conv1d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1, groups: int = 1):
    """1-d convolution: ``(N, C, L)`` with weight ``(O, C / groups, K)``; ``padding`` may be "same" or "valid"."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, 1)


@op(**_CONV, aliases=("torch.conv2d",))
def conv2d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1, groups: int = 1):
    """2-d convolution: ``(N, C, H, W)`` with weight ``(O, C / groups, KH, KW)``; ``padding`` may be "same" or "valid"."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, 2)


@op(**_CONV, aliases=("torch.conv3d",))
def conv3d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1, groups: int = 1):
    """3-d convolution: ``(N, C, D, H, W)`` with weight ``(O, C / groups, KD, KH, KW)``; ``padding`` may be "same" or "valid"."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, 3)


@op(**_CONV, aliases=("torch.conv_transpose1d",))
def conv_transpose1d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0,
                     groups: int = 1, dilation: Ints = 1):  # fmt: skip
    """Transposed 1-d convolution with weight ``(C, O / groups, K)``."""
    return transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


@op(**_CONV, aliases=("torch.conv_transpose2d",))
def conv_transpose2d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0,
                     groups: int = 1, dilation: Ints = 1):  # fmt: skip
    """Transposed 2-d convolution with weight ``(C, O / groups, KH, KW)``."""
    return transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


@op(**_CONV, aliases=("torch.conv_transpose3d",))
def conv_transpose3d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0,
                     groups: int = 1, dilation: Ints = 1):  # fmt: skip
    """Transposed 3-d convolution with weight ``(C, O / groups, KD, KH, KW)``."""
    return transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation, 3)


@op(namespace="nn.functional", method=False, out=False, node="Im2ColBackward0")
def unfold(input: Array, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1):
    """Sliding blocks of ``(N, C, H, W)`` as columns: ``(N, C * KH * KW, L)``."""
    if input.ndim not in (3, 4):
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: {list(input.shape)}")
    kernel, dilation, padding, stride = (several(v, 2) for v in (kernel_size, dilation, padding, stride))
    x = input if input.ndim == 4 else input[None]
    n, c = x.shape[:2]
    outs = [(x.shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    if any(o <= 0 for o in outs):
        raise RuntimeError(
            f"Given input with spatial size ({x.shape[2]}, {x.shape[3]}), kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, "
            f"calculated shape of the array of sliding blocks as ({outs[0]}, {outs[1]}), but its components must be at least one."
        )
    padded = jnp.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    parts = []
    for i, j in np.ndindex(*kernel):
        a, b = i * dilation[0], j * dilation[1]
        parts.append(
            lax.slice(padded, (0, 0, a, b), (n, c, a + (outs[0] - 1) * stride[0] + 1, b + (outs[1] - 1) * stride[1] + 1), (1, 1, *stride))
        )
    y = jnp.stack(parts, axis=2).reshape(n, c * math.prod(kernel), math.prod(outs))
    return y if input.ndim == 4 else y[0]


@op(namespace="nn.functional", method=False, out=False, node="Col2ImBackward0")
def fold(input: Array, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1):
    """The sum of sliding blocks ``(N, C * KH * KW, L)`` at their places in ``(N, C, H, W)``: the transpose of ``unfold``."""
    size, kernel, dilation, padding, stride = (several(v, 2) for v in (output_size, kernel_size, dilation, padding, stride))
    if input.ndim not in (2, 3):
        raise RuntimeError(f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: {list(input.shape)}")
    x = input if input.ndim == 3 else input[None]
    if x.shape[1] % math.prod(kernel):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={x.shape[1]} and "
            f"kernel_size=({kernel[0]}, {kernel[1]})."
        )
    c = x.shape[1] // math.prod(kernel)
    outs = [(size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    if x.shape[2] != math.prod(outs):
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected size of input's dimension 2 "
            f"to match the calculated number of sliding blocks {outs[0]} * {outs[1]} = {math.prod(outs)}, but got input.size(2)={x.shape[2]}."
        )
    template = jax.ShapeDtypeStruct((x.shape[0], c, *size), x.dtype)
    transpose = jax.linear_transpose(lambda image: unfold.body(image, kernel, dilation, padding, stride), template)
    y = transpose(x)[0]
    return y if input.ndim == 3 else y[0]
