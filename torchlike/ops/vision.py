"""Pixels: resampling (``interpolate``, ``grid_sample``), padding, and moving pixels between space and channels.

Resampling along one axis is a sparse matrix with few entries a row, known when the operator is traced. Both it and its
transpose (the gradient) are applied as sums of gathered rows, since adding scattered rows is slow on every platform; where a
row has many entries, as a dense product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import Array, Ints, Number, Scalar, op
from torchlike.ops.dtype_errors import unsupported

# -- resampling along an axis -----------------------------------------------------------------------------------------


class _Taps:
    """A matrix ``(rows, columns)`` by the entries of its rows: ``at (rows, k)`` columns and ``weights (rows, k)``."""

    def __init__(self, at: np.ndarray, weights: np.ndarray | None, columns: int) -> None:
        self.at, self.weights, self.columns = at, weights, columns

    def dense(self) -> np.ndarray:
        """The matrix itself."""
        matrix = np.zeros((self.at.shape[0], self.columns), np.float64)
        values = np.ones(self.at.shape) if self.weights is None else self.weights
        np.add.at(matrix, (np.arange(self.at.shape[0])[:, None], self.at), values)
        return matrix

    def transposed(self) -> _Taps:
        """The transpose: for every column, the rows that read it."""
        rows, k = self.at.shape
        values = np.ones(self.at.shape) if self.weights is None else self.weights
        order = np.argsort(self.at.reshape(-1), kind="stable")
        columns, entries = self.at.reshape(-1)[order], values.reshape(-1)[order]
        starts = np.searchsorted(columns, np.arange(self.columns))
        counts = np.diff(np.append(starts, rows * k))
        at = np.zeros((self.columns, max(int(counts.max(initial=0)), 1)), np.int64)
        weights = np.zeros(at.shape)
        place = np.arange(rows * k) - starts[columns]
        at[columns, place], weights[columns, place] = order // k, entries
        return _Taps(at, weights, rows)

    def apply(self, x: Any, axis: int) -> Any:
        """The product of the matrix with ``x`` along an axis."""
        if self.at.shape[1] > 12:
            return jnp.moveaxis(lax.dot_general(x, self.dense().astype(x.dtype), (((axis,), (1,)), ((), ()))), -1, axis)
        total = None
        shape = [1] * x.ndim
        shape[axis] = -1
        for k in range(self.at.shape[1]):
            part = _take(x, self.at[:, k], axis)
            if self.weights is not None:
                part = part * self.weights[:, k].astype(x.dtype).reshape(shape)
            total = part if total is None else total + part
        return total


def _take(x: Any, at: np.ndarray, axis: int) -> Any:
    """``x`` at fixed positions of an axis; without a gather where the positions repeat evenly or are a range."""
    n = x.shape[axis]
    if len(at) == n and (at == np.arange(n)).all():
        return x
    times = len(at) // n if n else 0
    if times > 1 and len(at) == n * times and (at == np.repeat(np.arange(n), times)).all():
        return jnp.repeat(x, times, axis=axis)
    if len(at) > 1 and (np.diff(at) == at[1] - at[0]).all() and at[1] > at[0]:
        return lax.slice_in_dim(x, int(at[0]), int(at[-1]) + 1, int(at[1] - at[0]), axis)
    return jnp.take(x, at, axis=axis, mode="clip")


def _scale(n: int, out: int, align: bool, given: float | None, real: Any) -> Any:
    """Input steps an output step, in the precision that torch computes it in."""
    if align:
        return real(n - 1) / real(out - 1) if out > 1 else real(0)
    return real(1.0 / given) if given is not None and given > 0 else real(n) / real(out)


def _nearest(n: int, out: int, align: bool, given: float | None, real: Any, exact: bool) -> _Taps:
    scale = _scale(n, out, False, given, real)
    where = (np.arange(out, dtype=real) + real(0.5)) * scale if exact else np.arange(out, dtype=real) * scale
    at = np.floor(where).astype(np.int64)
    return _Taps(np.minimum(at, n - 1)[:, None], None, n)


def _positions(n: int, out: int, align: bool, given: float | None, real: Any) -> np.ndarray:
    scale = _scale(n, out, align, given, real)
    steps = np.arange(out, dtype=real)
    return scale * steps if align else scale * (steps + real(0.5)) - real(0.5)


def _linear(n: int, out: int, align: bool, given: float | None, real: Any) -> _Taps:
    if out == n and (align or given is None):
        return _Taps(np.arange(n)[:, None], None, n)
    where = np.maximum(_positions(n, out, align, given, real), 0)
    low = np.minimum(where.astype(np.int64), n - 1)
    part = np.clip(where - low.astype(real), 0, 1)
    return _Taps(np.stack([low, np.minimum(low + 1, n - 1)], 1), np.stack([1 - part, part], 1), n)


def _cubic_weights(t: Any, a: float) -> list[Any]:
    """Weights of the four neighbours at distance ``t`` from the second (Keys, 1981)."""

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(n: int, out: int, align: bool, given: float | None, real: Any) -> _Taps:
    where = _positions(n, out, align, given, real)
    low = np.floor(where).astype(np.int64)
    at = np.clip(low[:, None] + np.arange(-1, 3), 0, n - 1)
    return _Taps(at, np.stack(_cubic_weights(where - low.astype(real), -0.75), 1), n)


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def _keys(x: np.ndarray) -> np.ndarray:
    x, a = np.abs(x), -0.5
    return np.where(x < 1, ((a + 2) * x - (a + 3)) * x * x + 1, np.where(x < 2, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, 0))


def _smoothed(n: int, out: int, align: bool, given: float | None, real: Any, kernel: Callable[[np.ndarray], np.ndarray], width: int) -> _Taps:
    """A kernel that is stretched with the scale when shrinking, as Pillow resizes (``antialias=True``)."""
    scale = float(_scale(n, out, align, given, real))
    support = width * 0.5 * max(scale, 1.0)
    squeeze = 1.0 / scale if scale >= 1 else 1.0
    centre = scale * (np.arange(out) + 0.5)
    first = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    count = np.minimum((centre + support + 0.5).astype(np.int64), n) - first
    places = first[:, None] + np.arange(max(int(count.max(initial=1)), 1))
    weights = kernel((places - centre[:, None] + 0.5) * squeeze)
    weights = np.where(np.arange(places.shape[1]) < count[:, None], weights, 0)
    total = weights.sum(1, keepdims=True)
    return _Taps(np.minimum(places, n - 1), weights / np.where(total == 0, 1, total), n)


_AXES: dict[str, Callable[..., _Taps]] = {
    "nearest": lambda *a: _nearest(*a, exact=False),
    "nearest-exact": lambda *a: _nearest(*a, exact=True),
    "linear": _linear, "bilinear": _linear, "trilinear": _linear, "bicubic": _cubic,
    "bilinear antialias": lambda *a: _smoothed(*a, kernel=_triangle, width=2),
    "bicubic antialias": lambda *a: _smoothed(*a, kernel=_keys, width=4),
}  # fmt: skip
_WORD = {"nearest": "nearest", "nearest-exact": "nearest", "linear": "linear", "bilinear": "bilinear", "trilinear": "trilinear", "bicubic": "bicubic"}


def _resampling(shape: Sequence[int], dtype: Any, size: Sequence[int], mode: str, align: bool, scales: Any, antialias: bool) -> list[_Taps]:
    real = np.float64 if np.dtype(dtype) == np.float64 else np.float32
    axis = _AXES[f"{mode} antialias" if antialias else mode]
    scales = scales or [None] * len(size)
    return [axis(n, out, align, given, real) for n, out, given in zip(shape[2:], size, scales, strict=True)]


def _upsample_node(static: Any) -> str:
    mode, dims, antialias = static[1][1], len(static[1][0]), static[1][4]
    word = {"nearest": "Nearest", "nearest-exact": "NearestExact", "linear": "Linear", "bilinear": "Bilinear2D", "trilinear": "Trilinear3D",
            "bicubic": "Bicubic2D"}[mode]  # fmt: skip
    if not word.endswith("D"):
        word += f"{dims}D"
    return f"Upsample{word}{'Aa' if antialias else ''}Backward0"


@op(namespace="nn.functional", name="_interpolate", method=False, out=False, node=_upsample_node)
def resample(input: Array, size: Ints, mode: str, align_corners: bool, scales: Number, antialias: bool):
    """``(N, C, *)`` at another size of its last dimensions; ``scales`` are the factors that the user gave, or None."""
    if 0 in input.shape[1:]:
        raise RuntimeError(
            f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )
    if any(s <= 0 for s in size):
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input (H: {input.shape[-2] if input.ndim > 3 else input.shape[-1]}, W: "
            f"{input.shape[-1]}) output {list(size)}"
        )
    dtype = np.dtype(input.dtype)
    if mode not in ("nearest", "nearest-exact") and promotion.kind(dtype) < 2 and dtype != np.uint8:
        raise unsupported(f"compute_indices_weights_{_WORD[mode]}", dtype)
    x = input
    if promotion.is_low_precision(dtype) or (dtype == np.uint8 and not mode.startswith("nearest")):
        x = x.astype(np.float32)
    # The last axis first, as torch does where it goes axis by axis; the others read fewer numbers then.
    for i, taps in reversed(list(enumerate(_resampling(input.shape, x.dtype, size, mode, align_corners, scales, antialias)))):
        x = taps.apply(x, i + 2)
    if dtype == np.uint8 and x.dtype != dtype:
        x = jnp.clip(jnp.round(x), 0, 255)
    return x.astype(dtype)


@resample.vjp
def _(grad, input, size, mode, align_corners, scales, antialias):
    g = grad.astype(np.float32) if promotion.is_low_precision(np.dtype(grad.dtype)) else grad
    for i, taps in enumerate(_resampling(input.shape, g.dtype, size, mode, align_corners, scales, antialias)):
        g = taps.transposed().apply(g, i + 2)
    return g


# -- sampling at given positions --------------------------------------------------------------------------------------


def _unnormalized(x: Any, n: int, align_corners: bool) -> Any:
    """From [-1, 1] to positions in pixels."""
    return (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2


def _clipped(x: Any, n: int) -> Any:
    """Limited to the image. The border counts as outside for the gradient, as in torch; NaN becomes 0."""
    return jnp.where(x > 0, jnp.where(x < n - 1, x, float(n - 1)), 0.0)


def _reflected(x: Any, low: float, high: float) -> Any:
    """Mirrored at ``low`` and ``high`` until inside."""
    if low == high:
        return x * 0
    span = high - low
    x = jnp.abs(x - low)
    flips = jnp.floor(x / span)
    rest = x - flips * span
    return jnp.where(flips % 2 == 0, rest + low, span - rest + low)


def _inside(x: Any, n: int, padding_mode: str, align_corners: bool) -> Any:
    if padding_mode == "border":
        return _clipped(x, n)
    if padding_mode == "reflection":
        low, high = (0.0, float(n - 1)) if align_corners else (-0.5, n - 0.5)
        return _clipped(_reflected(x, low, high), n)
    return x


def _pixels(image: Any, at: Sequence[Any]) -> Any:
    """``image (N, C, *)`` at integer positions ``(N, *out)`` of each dimension, zero outside: ``(N, C, *out)``."""
    sizes = image.shape[2:]
    valid = flat = None
    for x, n in zip(at, sizes, strict=True):
        ok = (x >= 0) & (x <= n - 1)
        index = jnp.where(ok, x, 0).astype(np.int32)
        valid = ok if valid is None else valid & ok
        flat = index if flat is None else flat * n + index
    assert flat is not None and valid is not None
    batch, channels, outs = image.shape[0], image.shape[1], flat.shape[1:]
    rows = image.reshape(batch, channels, -1)
    taken = jnp.take_along_axis(rows, flat.reshape(batch, 1, -1), axis=2, mode="clip").reshape(batch, channels, *outs)
    return taken * valid[:, None].astype(image.dtype)


@op(namespace="nn.functional", name="_grid_sample", method=False, out=False, node=lambda static: f"GridSampler{static[1][3]}DBackward0")
def sample_grid(input: Array, grid: Array, mode: str, padding_mode: str, align_corners: bool, dims: int):
    """``input (N, C, *)`` at the positions ``grid (N, *out, dims)``, whose last axis has x first: ``(N, C, *out)``."""
    compute = np.float32 if promotion.is_low_precision(np.dtype(input.dtype)) else input.dtype
    image = input.astype(compute)
    at = []
    for d in range(dims):
        n = image.shape[2 + d]
        x = _unnormalized(grid[..., dims - 1 - d].astype(compute), n, align_corners)
        at.append(x if mode == "bicubic" else _inside(x, n, padding_mode, align_corners))
    if mode == "nearest":
        return _pixels(image, [jnp.round(x) for x in at]).astype(input.dtype)
    total = None
    if mode == "bicubic":
        low = [jnp.floor(x) for x in at]
        weights = [_cubic_weights(x - f, -0.75) for x, f in zip(at, low, strict=True)]
        for i, j in np.ndindex(4, 4):
            places = [f + (k - 1) for f, k in zip(low, (i, j), strict=True)]
            places = [_inside(p, n, padding_mode, align_corners) for p, n in zip(places, image.shape[2:], strict=True)]
            term = _pixels(image, places) * (weights[0][i] * weights[1][j])[:, None]
            total = term if total is None else total + term
        return total.astype(input.dtype)
    low = [lax.stop_gradient(jnp.floor(x)) for x in at]
    for corner in np.ndindex(*[2] * dims):
        weight = None
        for x, f, c in zip(at, low, corner, strict=True):
            part = x - f if c else f + 1 - x
            weight = part if weight is None else weight * part
        term = _pixels(image, [f + c for f, c in zip(low, corner, strict=True)]) * weight[:, None]
        total = term if total is None else total + term
    return total.astype(input.dtype)


@op(namespace="nn.functional", name="_affine_grid", method=False, out=False, node="AffineGridGeneratorBackward0")
def affine_grid(theta: Array, size: Ints, align_corners: bool):
    """The positions ``(N, *spatial, dims)`` that maps ``theta (N, dims, dims + 1)`` give to the pixels of an image of ``size``."""
    spatial = size[2:]
    ones = np.ones((*spatial, 1))
    axes = []
    for n in spatial:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        axes.append(line if align_corners or n == 0 else line * ((n - 1) / n))
    pixels = np.concatenate([np.stack(np.meshgrid(*axes, indexing="ij")[::-1], -1), ones], -1).astype(theta.dtype)
    return jnp.einsum("...k,nik->n...i", pixels, theta)


# -- padding ----------------------------------------------------------------------------------------------------------


def _cropped(x: Any, pairs: Sequence[tuple[int, int]]) -> Any:
    """``x`` less what negative padding takes away."""
    index = [slice(max(-a, 0), x.shape[i] - max(-b, 0)) for i, (a, b) in enumerate(pairs)]
    return x[tuple(index)] if any(a < 0 or b < 0 for a, b in pairs) else x


def _edges(x: Any, axis: int, before: int, after: int, mode: str) -> Any:
    """``x`` with its own pixels added along an axis."""
    n = x.shape[axis]

    def part(start: int, stop: int) -> Any:
        return lax.slice_in_dim(x, start, stop, 1, axis)

    if mode == "replicate":
        left, right = jnp.repeat(part(0, 1), before, axis), jnp.repeat(part(n - 1, n), after, axis)
    elif mode == "circular":
        left, right = part(n - before, n), part(0, after)
    else:
        left, right = jnp.flip(part(1, before + 1), axis), jnp.flip(part(n - after - 1, n - 1), axis)
    return jnp.concatenate([*([left] if before else []), x, *([right] if after else [])], axis)


_PAD_WORD = {"constant": "ConstantPadNd", "reflect": "ReflectionPad{}D", "replicate": "ReplicationPad{}D", "circular": "CopySlices"}


def _pad_node(static: Any) -> str:
    widths, mode = static[1]
    name = _PAD_WORD[mode].format(len(widths) // 2)
    return name if mode == "circular" else f"{name}Backward0"


def _check_edges(input: Any, pairs: Sequence[tuple[int, int]], mode: str) -> None:
    word = {"reflect": "reflection", "replicate": "replication"}.get(mode, mode)
    dims = len(pairs)
    if any(n == 0 for n in input.shape[input.ndim - dims - 1:]) or input.ndim - dims not in (1, 2):
        raise RuntimeError(
            f"{word}_pad{dims}d: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    for (a, b), n in zip(pairs, input.shape[input.ndim - dims:], strict=True):
        if mode == "reflect" and (a >= n or b >= n):
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({a}, {b}) at dimension "
                f"{input.ndim - 1} of input {list(input.shape)}"
            )
        if mode == "circular" and (a > n or b > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + a + b <= 0:
            raise RuntimeError(f"input of size {list(input.shape)} is too small for padding ({a}, {b})")


@op(namespace="nn.functional", name="_pad", method=False, out=False, node=_pad_node)
def pad(input: Array, pad: Ints, mode: str, value: Scalar):
    """``pad`` holds (before, after) for the last dimension, then the one before it, ...; negative numbers crop."""
    if len(pad) % 2:
        raise RuntimeError("Length of pad must be even but instead it equals " + str(len(pad)))
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} while the input has "
            f"{input.ndim} dimensions."
        )
    pairs = [(0, 0)] * (input.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    if mode != "constant":
        own = pairs[input.ndim - len(pad) // 2:]
        _check_edges(input, own, mode)
        if mode == "circular":
            # torch wraps the uncropped image, and crops what it made
            wrapped = input
            for axis in range(input.ndim - len(own), input.ndim):
                wrapped = _edges(wrapped, axis, *(max(p, 0) for p in pairs[axis]), mode)
            return _cropped(wrapped, [(min(a, 0), min(b, 0)) for a, b in pairs])
        x = _cropped(input, pairs)
        for axis in range(input.ndim - len(own), input.ndim):
            x = _edges(x, axis, *(max(p, 0) for p in pairs[axis]), mode)
        return x
    for i, (a, b) in enumerate(pairs):
        if input.shape[i] + a + b < 0:
            raise RuntimeError(
                f"The input size {input.shape[i]}, plus negative padding {a} and {b} resulted in a negative output size, which is invalid. Check "
                f"dimension {i} of your input."
            )
    fill = jnp.asarray(value).astype(input.dtype)
    return lax.pad(input, fill, [(a, b, 0) for a, b in pairs])


# -- between space and channels ---------------------------------------------------------------------------------------


@op(namespace="nn.functional", method=False, out=False, aliases=("torch.pixel_shuffle",))
def pixel_shuffle(input: Array, upscale_factor: int):
    """``(*, C * r * r, H, W)`` to ``(*, C, H * r, W * r)`` (Shi et al., 2016)."""
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)={c} is not "
            f"divisible by {r * r}"
        )
    x = input.reshape(-1 if lead and 0 not in input.shape else math.prod(lead), c // (r * r), r, r, h, w)
    return x.transpose(0, 1, 4, 2, 5, 3).reshape(*lead, c // (r * r), h * r, w * r)


@op(namespace="nn.functional", method=False, out=False, aliases=("torch.pixel_unshuffle",))
def pixel_unshuffle(input: Array, downscale_factor: int):
    """``(*, C, H * r, W * r)`` to ``(*, C * r * r, H, W)``: the inverse of ``pixel_shuffle``."""
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    for side, name, n in (("height", -2, h), ("width", -1, w)):
        if n % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {side} to be divisible by downscale_factor, but input.size({name})={n} is not divisible by {r}"
            )
    x = input.reshape(math.prod(lead), c, h // r, r, w // r, r)
    return x.transpose(0, 1, 3, 5, 2, 4).reshape(*lead, c * r * r, h // r, w // r)


@op(namespace="nn.functional", method=False, out=False, aliases=("torch.channel_shuffle", "native_channel_shuffle", "torch.native_channel_shuffle"))
def channel_shuffle(input: Array, groups: int):
    """``(N, g * C, *)`` with the channels of the groups taken in turns."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if input.shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups.")
    n, c, *rest = input.shape
    return jnp.swapaxes(input.reshape(n, groups, c // groups, *rest), 1, 2).reshape(input.shape)
