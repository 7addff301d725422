"""Convolutions: ``conv1d/2d/3d`` and their transposes, ``conv_tbc``, ``unfold`` and ``fold``.

On the CPU a convolution is lowered by its shape, since XLA is far from torch's kernels for some of them; each choice bears
the figure that decided it (milliseconds of one step, one core). Elsewhere XLA's own lowering stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops.declare import Array, Ints, op, platform
from torchlike.ops.dtype_errors import BOOL, INTEGER, reject

_CTYPES = {
    "float64": "double", "float32": "float", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int",
    "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def several(x: Any, n: int, name: str = "argument") -> tuple[int, ...]:
    """``n`` numbers from one or from a sequence."""
    if isinstance(x, int):
        return (x,) * n
    x = tuple(x)
    if len(x) == 1:
        return x * n
    if len(x) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, but got {name}={list(x)}"
        )
    return x


def _same_type(input: Any, other: Any, what: str) -> None:
    if other.dtype != input.dtype:
        have, got = (_CTYPES.get(np.dtype(x.dtype).name, str(x.dtype)) for x in (input, other))
        raise RuntimeError(f"Input type ({have}) and {what} type ({got}) should be the same")


def _check(
    input: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int, dims: int,
    transposed: bool,
) -> None:  # fmt: skip
    """Torch's checks of a convolution's arguments."""
    _same_type(input, weight, "weight")
    if bias is not None:
        _same_type(input, bias, "bias")
    reject(f"slow_conv{dims}d_cpu", input, BOOL)
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to conv{'_transpose' if transposed else ''}{dims}d, but got "
            f"input of size: {list(input.shape)}"
        )
    if weight.ndim != dims + 2:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but got "
            f"{input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    for name, values, least in (("padding", padding, 0), ("stride", stride, 1), ("dilation", dilation, 1)):
        if any(v < least for v in values):
            raise RuntimeError(f"{'negative' if least == 0 else 'non-positive'} {name} is not supported")
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {list(weight.shape)} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{list(weight.shape)}] instead"
        )
    channels = input.shape[-dims - 1]
    wanted = weight.shape[0] if transposed else weight.shape[1] * groups
    if channels != wanted:
        kind = f"transposed={int(transposed)}, " if transposed else f"groups={groups}, "
        raise RuntimeError(
            f"Given {kind}weight of size {list(weight.shape)}, expected input{list(input.shape)} to have {wanted} channels, but "
            f"got {channels} channels instead"
        )
    outs = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and bias.shape != (outs,):
        kind = f"transposed={int(transposed)}, " if transposed else ""
        raise RuntimeError(
            f"Given {kind}weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {outs} elements, but got bias of size "
            f"{list(bias.shape)} instead"
        )


def _computing_dtype(dtype: Any) -> np.dtype:
    """float64 for integers, which XLA's convolutions do not take; float32 for half precision on the CPU, as torch sums."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if dtype.itemsize == 2 and platform() == "cpu" else dtype


def _dimension_numbers(dims: int) -> tuple[str, str, str]:
    spatial = "DHW"[3 - dims:]
    return ("NC" + spatial, "OI" + spatial, "NC" + spatial)


# -- lowerings --------------------------------------------------------------------------------------------------------


def _taps(x: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], outs: Sequence[int]) -> list[Any]:
    """For every position of the kernel, the part of padded ``x (N, C, *)`` that it meets: ``(N, C, *outs)``."""
    lead = x.shape[: x.ndim - len(kernel)]
    parts = []
    for position in np.ndindex(*kernel):
        begin = [p * d for p, d in zip(position, dilation, strict=True)]
        end = [b + (o - 1) * s + 1 for b, o, s in zip(begin, outs, stride, strict=True)]
        parts.append(lax.slice(x, (*[0] * len(lead), *begin), (*lead, *end), (*[1] * len(lead), *stride)))
    return parts


def _padded(x: Any, pads: Sequence[tuple[int, int]]) -> Any:
    return jnp.pad(x, [(0, 0), (0, 0), *pads]) if any(a or b for a, b in pads) else x


def _shifted_products(x: Any, w: Any, stride: Any, pads: Any, dilation: Any, groups: int, outs: Sequence[int]) -> Any:
    """The sum over the kernel's positions of shifted input times a number a channel, which XLA fuses into one loop."""
    n, c = x.shape[:2]
    multiplier, depth = w.shape[0] // groups, c // groups
    total = None
    flat = w.reshape(groups, multiplier, depth, -1)
    ones = [1] * len(outs)
    for k, part in enumerate(_taps(_padded(x, pads), w.shape[2:], stride, dilation, outs)):
        for d in range(depth):
            term = part.reshape(n, groups, 1, depth, *outs)[:, :, :, d] * flat[:, :, d, k].reshape(1, groups, multiplier, *ones)
            total = term if total is None else total + term
    return total.reshape(n, groups * multiplier, *outs)


def _grouped_product(x: Any, w: Any, stride: Any, pads: Any, dilation: Any, groups: int, outs: Sequence[int]) -> Any:
    """One batched matrix product over the groups, of the kernel with the input's blocks."""
    n, c = x.shape[:2]
    blocks = jnp.stack(_taps(_padded(x, pads), w.shape[2:], stride, dilation, outs), axis=2)
    blocks = blocks.reshape(n, groups, c // groups * math.prod(w.shape[2:]), math.prod(outs))
    kernels = w.reshape(groups, w.shape[0] // groups, -1)
    return jnp.einsum("gok,ngkl->ngol", kernels, blocks).reshape(n, w.shape[0], *outs)


def _correlate(x: Any, w: Any, stride: Any, pads: Any, dilation: Any, groups: int, outs: Sequence[int]) -> Any:
    """``x (N, C, *)`` with ``w (O, C / groups, *)``, by the fastest way there is for these shapes."""
    dims = len(outs)
    if platform() == "cpu" and groups > 1 and groups == x.shape[1]:
        # depthwise: 1.35 against 92.6 of XLA's own
        return _shifted_products(x, w, stride, pads, dilation, groups, outs)
    return lax.conv_general_dilated(
        x, w, stride, pads, rhs_dilation=dilation, feature_group_count=groups, dimension_numbers=_dimension_numbers(dims)
    )


def _empty_product(x: Any, w: Any, shape: Sequence[int]) -> Any:
    """Zeros that depend on both operands, for sizes of zero that XLA's convolution does not take."""
    return jnp.zeros(shape, x.dtype) + (jnp.sum(x) + jnp.sum(w)) * 0


# -- the operators ----------------------------------------------------------------------------------------------------


def convolve(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, dims: int) -> Any:
    """The convolution of torch: a cross-correlation, ``(N, C, *)`` or ``(C, *)`` with ``(O, C / groups, *)``."""
    stride, dilation = several(stride, dims, "stride"), several(dilation, dims, "dilation")
    named = isinstance(padding, str)
    if named and padding not in ("same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    padding_ = (0,) * dims if named else several(padding, dims, "padding")
    _check(input, weight, bias, stride, padding_, dilation, groups, dims, False)
    if padding == "same" and any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    batched = input.ndim == dims + 2
    x = input if batched else input[None]
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    pads = [(r // 2, r - r // 2) for r in reach] if padding == "same" else [(p, p) for p in padding_]
    full = [n + a + b for n, (a, b) in zip(x.shape[2:], pads, strict=True)]
    if any(n < r + 1 for n, r in zip(full, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, full))}). Kernel size: "
            f"({' x '.join(str(r + 1) for r in reach)}). Kernel size can't be greater than actual input size"
        )
    if 0 in x.shape[2:] and x.shape[0] and x.shape[1]:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x.shape)}")
    outs = [(n - r - 1) // s + 1 for n, r, s in zip(full, reach, stride, strict=True)]
    compute = _computing_dtype(x.dtype)
    x, w = x.astype(compute), weight.astype(compute)
    if 0 in (*x.shape, *w.shape):
        y = _empty_product(x, w, (x.shape[0], w.shape[0], *outs))
    else:
        y = _correlate(x, w, stride, pads, dilation, groups, outs)
    if bias is not None:
        y = y + bias.astype(compute).reshape(-1, *[1] * dims)
    y = y.astype(input.dtype)
    return y if batched else y[0]


_EACH = {1: ("",), 2: ("height", "width"), 3: ("depth", "height", "width")}


def transpose_convolve(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any, dims: int
) -> Any:
    """The gradient of a convolution with respect to its input, as an operator: ``(N, C, *)`` with ``(C, O / groups, *)``."""
    stride, dilation = several(stride, dims, "stride"), several(dilation, dims, "dilation")
    padding, output_padding = several(padding, dims, "padding"), several(output_padding, dims, "output_padding")
    _check(input, weight, bias, stride, padding, dilation, groups, dims, True)
    reject(f"slow_conv_transpose{dims}d_out_cpu", input, INTEGER)
    if any(extra < 0 for extra in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if any(extra >= s and extra >= d for extra, s, d in zip(output_padding, stride, dilation, strict=True)):
        given = [
            f"{name}_{side}: {v}"
            for name, values in (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
            for side, v in zip(_EACH[dims], values, strict=True)
        ]
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(given)}")
    batched = input.ndim == dims + 2
    x = input if batched else input[None]
    if 0 in x.shape[2:]:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x.shape)}")
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    outs = [
        (n - 1) * s + r + 1 - 2 * p + extra
        for n, s, r, p, extra in zip(x.shape[2:], stride, reach, padding, output_padding, strict=True)
    ]
    if any(o <= 0 for o in outs):
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, x.shape[2:]))}). Calculated output size per channel: "
            f"({' x '.join(map(str, outs))}). Output size is too small"
        )
    compute = _computing_dtype(x.dtype)
    x, w = x.astype(compute), weight.astype(compute)
    c, o = w.shape[:2]
    if 0 in (*x.shape, *w.shape):
        y = _empty_product(x, w, (x.shape[0], groups * o, *outs))
    else:
        # (C, O/g, *) -> (O, C/g, *), flipped: the transposed operator is a convolution of the dilated input.
        w = jnp.swapaxes(w.reshape(groups, c // groups, o, *w.shape[2:]), 1, 2).reshape(groups * o, c // groups, *w.shape[2:])
        pads = [(r - p, r - p + extra) for r, p, extra in zip(reach, padding, output_padding, strict=True)]
        y = lax.conv_general_dilated(
            x, jnp.flip(w, tuple(range(2, dims + 2))), (1,) * dims, pads, lhs_dilation=stride, rhs_dilation=dilation,
            feature_group_count=groups, dimension_numbers=_dimension_numbers(dims),
        )  # fmt: skip
    if bias is not None:
        y = y + bias.astype(compute).reshape(-1, *[1] * dims)
    y = y.astype(input.dtype)
    return y if batched else y[0]


_CONV: dict[str, Any] = {"namespace": "nn.functional", "method": False, "out": False, "node": "ConvolutionBackward0", "autocast": "lower"}
# torch's two overloads: ``padding`` as numbers, or by its name.


@op(**_CONV, aliases=("torch.conv1d",))
def conv1d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1, groups: int = 1):
    """1-d convolution: ``(N, C, L)`` or ``(C, L)`` with weight ``(O, C / groups, K)``; ``padding`` may be "same" or "valid"."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, 1)


@op(**_CONV, name="conv1d")
def conv1d_named_padding(
    input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: str = "valid", dilation: Ints = 1, groups: int = 1
):
    """``conv1d`` with padding "same" or "valid"."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, 1)


@op(**_CONV, aliases=("torch.conv2d",))
def conv2d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1, groups: int = 1):
    """2-d convolution: ``(N, C, H, W)`` or ``(C, H, W)`` with weight ``(O, C / groups, KH, KW)``; ``padding`` may be "same" or "valid"."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, 2)


@op(**_CONV, name="conv2d")
def conv2d_named_padding(
    input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: str = "valid", dilation: Ints = 1, groups: int = 1
):
    """``conv2d`` with padding "same" or "valid"."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, 2)


@op(**_CONV, aliases=("torch.conv3d",))
def conv3d(input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1, groups: int = 1):
    """3-d convolution: ``(N, C, D, H, W)`` or ``(C, D, H, W)`` with weight ``(O, C / groups, KD, KH, KW)``; ``padding`` may be named."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, 3)


@op(**_CONV, name="conv3d")
def conv3d_named_padding(
    input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: str = "valid", dilation: Ints = 1, groups: int = 1
):
    """``conv3d`` with padding "same" or "valid"."""
    return convolve(input, weight, bias, stride, padding, dilation, groups, 3)


@op(**_CONV, aliases=("torch.conv_transpose1d",))
def conv_transpose1d(
    input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1,
    dilation: Ints = 1,
):  # fmt: skip
    """Transposed 1-d convolution: ``(N, C, L)`` or ``(C, L)`` with weight ``(C, O / groups, K)``."""
    return transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


@op(**_CONV, aliases=("torch.conv_transpose2d",))
def conv_transpose2d(
    input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1,
    dilation: Ints = 1,
):  # fmt: skip
    """Transposed 2-d convolution: ``(N, C, H, W)`` or ``(C, H, W)`` with weight ``(C, O / groups, KH, KW)``."""
    return transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


@op(**_CONV, aliases=("torch.conv_transpose3d",))
def conv_transpose3d(
    input: Array, weight: Array, bias: Array | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1,
    dilation: Ints = 1,
):  # fmt: skip
    """Transposed 3-d convolution: ``(N, C, D, H, W)`` or ``(C, D, H, W)`` with weight ``(C, O / groups, KD, KH, KW)``."""
    return transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation, 3)


@op(namespace="nn.functional", method=False, out=False, aliases=("torch.conv_tbc",), autocast="lower")
def conv_tbc(input: Array, weight: Array, bias: Array, pad: int = 0):
    """1-d convolution of ``(T, B, C)`` with weight ``(K, C, O)`` and bias ``(O,)``."""
    if input.ndim != 3 or weight.ndim != 3 or bias.ndim != 1:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel; weight 3: kernel_width, in_channels, out_channels; bias 1")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor (input channels).")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    return lax.conv_general_dilated(input, weight, (1,), [(pad, pad)], dimension_numbers=("WNC", "WIO", "WNC")) + bias


# -- blocks as columns ------------------------------------------------------------------------------------------------


def _block_geometry(size: Sequence[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    kernel, dilation, padding, stride = (several(v, 2) for v in (kernel_size, dilation, padding, stride))
    for name, values in (("kernel", kernel), ("stride", stride), ("dilation", dilation)):
        if any(v <= 0 for v in values):
            what = f"{name} size" if name == "kernel" else name
            raise RuntimeError(f"{what} should be greater than zero, but got {name}_height: {values[0]} {name}_width: {values[1]}")
    if any(p < 0 for p in padding):
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")
    outs = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(size, padding, dilation, kernel, stride, strict=True)]
    return kernel, dilation, padding, stride, outs


def _columns(x: Any, kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int], outs: Sequence[int]) -> Any:
    blocks = jnp.stack(_taps(_padded(x, [(p, p) for p in padding]), kernel, stride, dilation, outs), axis=2)
    return blocks.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(outs))


@op(namespace="nn.functional", method=False, out=False, node="Im2ColBackward0", aliases=("torch.im2col",))
def unfold(input: Array, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1):
    """Sliding blocks of ``(N, C, H, W)`` or ``(C, H, W)`` as columns: ``(N, C * KH * KW, L)``."""
    reject("im2col_out_cpu", input, INTEGER)
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{list(input.shape)}"
        )
    geometry = _block_geometry(input.shape[-2:], kernel_size, dilation, padding, stride)
    kernel, dilation, padding, stride, outs = geometry
    if any(o <= 0 for o in outs):
        h, w = input.shape[-2:]
        raise RuntimeError(
            f"Given input with spatial size ({h}, {w}), kernel_size={kernel}, dilation={dilation}, padding={padding}, calculated shape of the "
            f"array of sliding blocks as ({outs[0]}, {outs[1]}), but its components must be at least one."
        )
    return _columns(input, *geometry) if input.ndim == 4 else _columns(input[None], *geometry)[0]


@op(namespace="nn.functional", method=False, out=False, node="Col2ImBackward0", aliases=("torch.col2im",))
def fold(input: Array, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1):
    """The sum of sliding blocks ``(N, C * KH * KW, L)`` at their places in ``(N, C, H, W)``: the transpose of ``unfold``."""
    reject("col2im_out_cpu", input, INTEGER)
    size = several(output_size, 2)
    geometry = _block_geometry(size, kernel_size, dilation, padding, stride)
    kernel, dilation, padding, stride, outs = geometry
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: {list(input.shape)}"
        )
    x = input if input.ndim == 3 else input[None]
    area = math.prod(kernel)
    if x.shape[1] % area:
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={x.shape[1]} and "
            f"kernel_size=({kernel[0]}, {kernel[1]})."
        )
    given = f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected"
    if any(o <= 0 for o in outs):
        raise RuntimeError(f"{given} the array of sliding blocks ({outs[0]}, {outs[1]}) to have at least one in each direction")
    if x.shape[2] != math.prod(outs):
        raise RuntimeError(
            f"{given} size of input's dimension 2 to match the calculated number of sliding blocks {outs[0]} * {outs[1]} = {math.prod(outs)}, "
            f"but got input.size(2)={x.shape[2]}."
        )
    image = jax.ShapeDtypeStruct((x.shape[0], x.shape[1] // area, *size), x.dtype)
    y = jax.linear_transpose(lambda i: _columns(i, *geometry), image)(x)[0]
    return y if input.ndim == 3 else y[0]
