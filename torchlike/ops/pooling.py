"""Pooling: maximum, mean, adaptive, power mean, and putting maxima back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops.convolution import several
from torchlike.ops.declare import Array, Ints, op

_POOL: dict[str, Any] = {"namespace": "nn.functional", "method": False, "out": False}


def _geometry(input: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, dims: int, name: str) -> Any:
    """Kernel, stride, padding on both sides, dilation and output sizes; torch's checks."""
    kernel = several(kernel, dims, "kernel_size")
    stride = kernel if stride is None or stride == () else several(stride, dims, "stride")
    padding, dilation = several(padding, dims, "padding"), several(dilation, dims, "dilation")
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D input, but got {list(input.shape)}")
    if any(k <= 0 for k in kernel):
        raise RuntimeError("kernel size should be greater than zero, but got " + " ".join(f"{k}" for k in kernel))
    if any(s <= 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    if any(p > k // 2 or p < 0 for p, k in zip(padding, kernel, strict=True)):
        raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={max(padding)}, kernel_size={min(kernel)} and dilation={max(dilation)}")
    outs, pads = [], []
    for n, k, s, p, d in zip(input.shape[-dims:], kernel, stride, padding, dilation, strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        o = (-(-span // s) if ceil_mode else span // s) + 1
        if ceil_mode and (o - 1) * s >= n + p:
            o -= 1
        if o <= 0:
            raise RuntimeError(f"Given input size: {list(input.shape[-dims - 1:])}. Calculated output size: [{o}]. Output size is too small")
        outs.append(o)
        pads.append((p, max(0, (o - 1) * s + d * (k - 1) + 1 - n - p)))
    return kernel, stride, pads, dilation, outs


def _slices(padded: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], outs: Sequence[int]) -> list[Any]:
    """For every position of the kernel, what all windows have there."""
    dims = len(kernel)
    lead = padded.shape[: padded.ndim - dims]
    parts = []
    for position in np.ndindex(*kernel):
        begin = [p * d for p, d in zip(position, dilation, strict=True)]
        end = [b + (o - 1) * s + 1 for b, o, s in zip(begin, outs, stride, strict=True)]
        parts.append(lax.slice(padded, (*[0] * len(lead), *begin), (*lead, *end), (*[1] * len(lead), *stride)))
    return parts


def _lowest(dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return -np.inf


def _max_with_positions(x: Any, geometry: Any, dims: int) -> tuple[Any, Any]:
    """Maxima and their flat positions in the unpadded input; the first of equal ones, NaN above all."""
    kernel, stride, pads, dilation, outs = geometry
    sizes = x.shape[-dims:]
    lead = [(0, 0)] * (x.ndim - dims)
    padded = jnp.pad(x, [*lead, *pads], constant_values=_lowest(x.dtype))
    flat = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    flat = np.pad(flat, pads)
    best = where = None
    for part, at in zip(_slices(padded, kernel, stride, dilation, outs), _slices(jnp.asarray(flat), kernel, stride, dilation, outs), strict=True):
        at = jnp.broadcast_to(at, part.shape)
        if best is None:
            best, where = part, at
        else:
            better = (part > best) | (jnp.isnan(part) if np.dtype(x.dtype).kind == "f" else False)
            best, where = jnp.where(better, part, best), jnp.where(better, at, where)
    return best, where


def _max_values(x: Any, geometry: Any, dims: int) -> Any:
    kernel, stride, pads, dilation, outs = geometry
    lead = [(0, 0)] * (x.ndim - dims)
    padded = jnp.pad(x, [*lead, *pads], constant_values=_lowest(x.dtype))
    best = None
    for part in _slices(padded, kernel, stride, dilation, outs):
        best = part if best is None else jnp.maximum(best, part)
    return best


def _max_gradient(grad: Any, x: Any, result: Any, geometry: Any, dims: int) -> Any:
    """Each window's gradient goes to its first maximum: strided comparisons (16 ms where XLA's select-and-scatter takes 60)."""
    kernel, stride, pads, dilation, outs = geometry
    lead = x.ndim - dims
    padded = jnp.pad(x, [*[(0, 0)] * lead, *pads], constant_values=_lowest(x.dtype))
    parts = _slices(padded, kernel, stride, dilation, outs)
    # The first position that has the maximum, found from the last to the first. (In a window with NaN it is the last one.)
    first = jnp.full(result.shape, len(parts) - 1, np.int32)
    for k in range(len(parts) - 2, -1, -1):
        first = jnp.where(parts[k] == result, k, first)
    if tuple(kernel) == tuple(stride) and all(d == 1 for d in dilation):
        # Windows side by side: the gradients of the positions interleave (0.39 ms a step of examples/digits_cnn.py, 0.60 with
        # XLA's select-and-scatter).
        grads = [jnp.where(first == k, grad, 0) for k in range(len(parts))]
        for axis, k in zip(range(x.ndim - 1, lead - 1, -1), reversed(kernel), strict=True):
            grads = [_interleave(grads[i:i + k], axis) for i in range(0, len(grads), k)]
        ends = [(0, 0)] * lead + [(0, max(0, n - have)) for n, have in zip(padded.shape[lead:], grads[0].shape[lead:], strict=True)]
        return _unpad(jnp.pad(grads[0], ends), pads, x.shape, lead)
    total = jnp.zeros(padded.shape, grad.dtype)
    for k, position in enumerate(np.ndindex(*kernel)):
        begin = [p * d for p, d in zip(position, dilation, strict=True)]
        config = [(0, 0, 0)] * lead + [
            (b, n - b - ((o - 1) * s + 1), s - 1) for b, n, o, s in zip(begin, padded.shape[-dims:], outs, stride, strict=True)
        ]
        total = total + lax.pad(jnp.where(first == k, grad, 0), np.zeros((), grad.dtype), config)
    return _unpad(total, pads, x.shape, lead)


def _interleave(parts: Sequence[Any], axis: int) -> Any:
    """Arrays taken in turns along an axis."""
    stacked = jnp.stack(parts, axis + 1)
    return stacked.reshape(*stacked.shape[:axis], -1, *stacked.shape[axis + 2:])


def _unpad(x: Any, pads: Sequence[tuple[int, int]], shape: Sequence[int], lead: int) -> Any:
    index = [slice(None)] * lead + [slice(a, a + n) for (a, _), n in zip(pads, shape[lead:], strict=True)]
    return x[tuple(index)]


def _max_pool(dims: int, name: str, node: str) -> tuple[Any, Any]:
    def values(input: Array, kernel_size: Ints, stride: Ints = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False):
        return _max_values(input, _geometry(input, kernel_size, stride, padding, dilation, ceil_mode, dims, name), dims)

    def with_indices(input: Array, kernel_size: Ints, stride: Ints = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False):
        return _max_with_positions(input, _geometry(input, kernel_size, stride, padding, dilation, ceil_mode, dims, name), dims)

    def gradient(grad, input, result, kernel_size, stride, padding, dilation, ceil_mode):
        return _max_gradient(grad, input, result, _geometry(input, kernel_size, stride, padding, dilation, ceil_mode, dims, name), dims)

    def gradient_with_indices(grads, input, results):
        return _scatter_flat(grads[0], results[1], input.shape, dims)

    values.__doc__ = f"Maximum over windows of the last {dims} dimension(s)."
    with_indices.__doc__ = f"Maximum over windows of the last {dims} dimension(s), and where each was found."
    plain = op(name=f"_{name}_values", node=node, **_POOL)(values)
    plain.vjp(gradient)
    both = op(name=f"{name}_with_indices", node=node, **_POOL)(with_indices)
    both.vjp(gradient_with_indices)
    return plain, both


def _scatter_flat(values: Any, positions: Any, shape: Sequence[int], dims: int) -> Any:
    """``values`` added at flat positions of the last dimensions of zeros of ``shape``."""
    lead = math.prod(shape[: len(shape) - dims])
    size = math.prod(shape[-dims:])
    flat = jnp.zeros((lead, size), values.dtype)
    rows = jnp.arange(lead)[:, None]
    return flat.at[rows, positions.reshape(lead, -1)].add(values.reshape(lead, -1)).reshape(shape)


max_pool1d_values, max_pool1d_with_indices = _max_pool(1, "max_pool1d", "MaxPool2DWithIndicesBackward0")
max_pool2d_values, max_pool2d_with_indices = _max_pool(2, "max_pool2d", "MaxPool2DWithIndicesBackward0")
max_pool3d_values, max_pool3d_with_indices = _max_pool(3, "max_pool3d", "MaxPool3DWithIndicesBackward0")


def _average(x: Any, geometry: Any, count_include_pad: bool, divisor: int | None, padding: Sequence[int], dims: int) -> Any:
    kernel, stride, pads, dilation, outs = geometry
    lead = [(0, 0)] * (x.ndim - dims)
    padded = jnp.pad(x, [*lead, *pads])
    total = None
    for part in _slices(padded, kernel, stride, dilation, outs):
        total = part if total is None else total + part
    if divisor is not None:
        return total / divisor if np.dtype(x.dtype).kind != "i" else total // divisor
    counts = np.ones((), np.float64)
    for n, k, s, p, o in zip(x.shape[-dims:], kernel, stride, padding, outs, strict=True):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, n + p)
        size = end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0)
        counts = np.multiply.outer(counts, size.astype(np.float64))
    if np.dtype(x.dtype).kind == "i":
        return total // counts.astype(np.int64)
    return total / counts.astype(np.float32 if x.dtype.itemsize <= 4 else np.float64).astype(x.dtype)


def _avg(input: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: int | None, dims: int) -> Any:
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    geometry = _geometry(input, kernel, stride, padding, 1, ceil_mode, dims, f"avg_pool{dims}d")
    x = input.astype(np.float32) if np.dtype(input.dtype).itemsize == 2 and np.dtype(input.dtype).kind in "fV" else input
    return _average(x, geometry, include, divisor, several(padding, dims), dims).astype(input.dtype)


@op(**_POOL, aliases=("torch.avg_pool1d",), node="AvgPool2DBackward0")
def avg_pool1d(input: Array, kernel_size: Ints, stride: Ints = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True):
    """Mean over windows of ``(N, C, L)``."""
    return _avg(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


@op(**_POOL, node="AvgPool2DBackward0")
def avg_pool2d(input: Array, kernel_size: Ints, stride: Ints = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None):  # fmt: skip
    """Mean over windows of ``(N, C, H, W)``."""
    return _avg(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2)


@op(**_POOL, node="AvgPool3DBackward0")
def avg_pool3d(input: Array, kernel_size: Ints, stride: Ints = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None):  # fmt: skip
    """Mean over windows of ``(N, C, D, H, W)``."""
    return _avg(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3)


def _bounds(n: int, o: int) -> list[tuple[int, int]]:
    """The windows of adaptive pooling: they cover the input, and may overlap by one."""
    return [(i * n // o, -(-(i + 1) * n // o)) for i in range(o)]


def _adaptive_sizes(output_size: Any, input: Any, dims: int, name: str) -> tuple[int, ...]:
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D tensor, but got {list(input.shape)}")
    size = (output_size,) * dims if isinstance(output_size, int) or output_size is None else tuple(output_size)
    if len(size) != dims:
        raise RuntimeError(f"{name}: output_size must be {dims}")
    return tuple(input.shape[i - dims] if s is None else s for i, s in enumerate(size))


def _adaptive_average(input: Any, output_size: Any, dims: int) -> Any:
    sizes = _adaptive_sizes(output_size, input, dims, f"adaptive_avg_pool{dims}d")
    x = input.astype(np.float32) if np.dtype(input.dtype).itemsize == 2 else input
    for i, o in enumerate(sizes):
        axis = x.ndim - dims + i
        n = x.shape[axis]
        if o and n % o == 0:
            x = x.reshape(*x.shape[:axis], o, n // o, *x.shape[axis + 1:]).mean(axis + 1)
        else:
            weights = np.zeros((o, n), np.float64)
            for k, (a, b) in enumerate(_bounds(n, o)):
                weights[k, a:b] = 1.0 / (b - a)
            x = jnp.moveaxis(lax.dot_general(x, weights.astype(x.dtype), (((axis,), (1,)), ((), ()))), -1, axis)
    return x.astype(input.dtype)


@op(**_POOL, aliases=("torch.adaptive_avg_pool1d",), node="MeanBackward1")
def adaptive_avg_pool1d(input: Array, output_size: Ints):
    """Mean over windows that give ``output_size`` results."""
    return _adaptive_average(input, output_size, 1)


@op(**_POOL, node="MeanBackward1")
def adaptive_avg_pool2d(input: Array, output_size: Ints):
    """Mean over windows that give ``output_size`` results."""
    return _adaptive_average(input, output_size, 2)


@op(**_POOL, node="AdaptiveAvgPool3DBackward0")
def adaptive_avg_pool3d(input: Array, output_size: Ints):
    """Mean over windows that give ``output_size`` results."""
    return _adaptive_average(input, output_size, 3)


def _adaptive_max(input: Any, output_size: Any, dims: int) -> tuple[Any, Any]:
    sizes = _adaptive_sizes(output_size, input, dims, f"adaptive_max_pool{dims}d")
    spatial = input.shape[-dims:]
    widest = [max((b - a for a, b in _bounds(n, o)), default=1) for n, o in zip(spatial, sizes, strict=True)]
    # every window as positions, the shorter ones with their last position repeated
    grids = []
    for n, o, w in zip(spatial, sizes, widest, strict=True):
        grids.append(np.array([[min(a + k, b - 1) for k in range(w)] for a, b in _bounds(n, o)], np.int64).reshape(o, w))
    flat = np.zeros((1,) * (2 * dims), np.int64)
    for i, g in enumerate(grids):
        shape = [1] * (2 * dims)
        shape[i], shape[dims + i] = g.shape
        flat = flat + g.reshape(shape) * math.prod(spatial[i + 1:])
    flat = flat.reshape(*sizes, -1)
    lead = input.shape[: input.ndim - dims]
    windows = jnp.take(input.reshape(*lead, -1), flat.reshape(-1), axis=-1).reshape(*lead, *flat.shape)
    best = jnp.argmax(windows, axis=-1)
    values = jnp.take_along_axis(windows, best[..., None], -1)[..., 0]
    where = jnp.take_along_axis(jnp.broadcast_to(flat, windows.shape), best[..., None], -1)[..., 0]
    return values, where


def _adaptive_max_op(dims: int, node: str) -> Any:
    def with_indices(input: Array, output_size: Ints):
        return _adaptive_max(input, output_size, dims)

    def gradient(grads, input, results):
        return _scatter_flat(grads[0], results[1], input.shape, dims)

    with_indices.__doc__ = "Maximum over windows that give ``output_size`` results, and where each was found."
    declared = op(name=f"adaptive_max_pool{dims}d_with_indices", node=node, **_POOL)(with_indices)
    declared.vjp(gradient)
    return declared


adaptive_max_pool1d_with_indices = _adaptive_max_op(1, "AdaptiveMaxPool2DBackward0")
adaptive_max_pool2d_with_indices = _adaptive_max_op(2, "AdaptiveMaxPool2DBackward0")
adaptive_max_pool3d_with_indices = _adaptive_max_op(3, "AdaptiveMaxPool3DBackward0")


@op(**_POOL, name="_max_unpool", node="MaxUnpool2DBackward0")
def max_unpool(input: Array, indices: Array, output_size: Ints, dims: int):
    """Values at flat positions of the last ``dims`` dimensions, zeros elsewhere."""
    shape = (*input.shape[: input.ndim - dims], *several(output_size, dims))
    lead = math.prod(shape[: len(shape) - dims])
    flat = jnp.zeros((lead, math.prod(shape[-dims:])), input.dtype)
    return flat.at[jnp.arange(lead)[:, None], indices.reshape(lead, -1)].set(input.reshape(lead, -1)).reshape(shape)
