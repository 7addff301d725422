"""Images and grids: ``pad, interpolate, pixel_shuffle, channel_shuffle, affine_grid, grid_sample``."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike.ops.declare import Array, Ints, Number, op

_F: dict[str, Any] = {"namespace": "nn.functional", "method": False, "out": False}


@op(**_F, node="ConstantPadNdBackward0", name="_pad_constant")
def pad_constant(input: Array, pad: Ints, value: Number):
    """Constant values before and behind the last dimensions; negative numbers cut off."""
    before = [(0, 0)] * (input.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    for n, (a, b) in zip(input.shape, before, strict=True):
        if n + a + b < 0:
            raise RuntimeError(f"The input size {n}, plus negative padding {a} and {b}, resulted in a negative output size, which is invalid.")
    cut = input[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(input.shape, before, strict=True))]
    return jnp.pad(cut, [(max(a, 0), max(b, 0)) for a, b in before], constant_values=np.asarray(value).astype(input.dtype))


def _source(n: int, a: int, b: int, mode: str) -> np.ndarray:
    """For each position of a padded dimension, the position of the input that it shows."""
    i = np.arange(-a, n + b)
    if mode == "reflect":
        period = max(2 * (n - 1), 1)
        i = np.abs(i) % period
        return np.where(i >= n, period - i, i)
    return np.clip(i, 0, n - 1) if mode == "replicate" else i % n


@op(**_F, name="_pad_mode")
def pad_mode(input: Array, pad: Ints, mode: str):
    """The borders reflected, repeated or wrapped around, over the last ``len(pad) / 2`` dimensions."""
    dims = len(pad) // 2
    if input.ndim not in (dims + 1, dims + 2) or dims > 3:
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    out = input
    for k in range(dims):
        axis = input.ndim - 1 - k
        n, (a, b) = input.shape[axis], pad[2 * k:2 * k + 2]
        if mode == "reflect" and (a >= n or b >= n):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({a}, {b}) at dimension {axis} of input {list(input.shape)}"
            )
        if mode == "circular" and (a > n or b > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        out = jnp.take(out, _source(n, a, b, mode), axis=axis)
    return out


@op(**_F, aliases=("torch.pixel_shuffle",))
def pixel_shuffle(input: Array, upscale_factor: int):
    """``(*, C r^2, H, W)`` to ``(*, C, H r, W r)`` (Shi et al., 2016)."""
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    x = input.reshape(*lead, c // (r * r), r, r, h, w)
    n = len(lead)
    return x.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2).reshape(*lead, c // (r * r), h * r, w * r)


@op(**_F, aliases=("torch.pixel_unshuffle",))
def pixel_unshuffle(input: Array, downscale_factor: int):
    """``(*, C, H r, W r)`` to ``(*, C r^2, H, W)``."""
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but got {h} x {w} and {r}")
    x = input.reshape(*lead, c, h // r, r, w // r, r)
    n = len(lead)
    return x.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3).reshape(*lead, c * r * r, h // r, w // r)


@op(**_F, aliases=("torch.channel_shuffle", "torch.native_channel_shuffle"))
def channel_shuffle(input: Array, groups: int):
    """Channels ``(g, C / g)`` exchanged to ``(C / g, g)`` (Zhang et al., 2018)."""
    if input.ndim <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *rest = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return input.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).reshape(input.shape)


# -- interpolation ----------------------------------------------------------------------------------------------------


def _positions(n: int, out: int, scale: float | None, align_corners: bool, cubic: bool) -> np.ndarray:
    """Where each output sample lies in the input, as torch computes it in float32."""
    i = np.arange(out, dtype=np.float64)
    if align_corners:
        ratio = np.float32((n - 1) / (out - 1)) if out > 1 else np.float32(0)
        return i * ratio
    ratio = np.float32(1.0 / scale) if scale else np.float32(n / out)
    x = (i + 0.5) * ratio - 0.5
    return x if cubic else np.maximum(x, 0)


def _linear_matrix(n: int, out: int, scale: float | None, align_corners: bool) -> np.ndarray:
    x = _positions(n, out, scale, align_corners, False)
    low = np.minimum(np.floor(x).astype(int), n - 1)
    t = x - low
    m = np.zeros((out, n))
    rows = np.arange(out)
    np.add.at(m, (rows, low), 1 - t)
    np.add.at(m, (rows, np.minimum(low + 1, n - 1)), t)
    return m


def _cubic(t: np.ndarray, a: float = -0.75) -> np.ndarray:
    """Keys' kernel (1981)."""
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def _cubic_matrix(n: int, out: int, scale: float | None, align_corners: bool) -> np.ndarray:
    x = _positions(n, out, scale, align_corners, True)
    base = np.floor(x).astype(int)
    m = np.zeros((out, n))
    rows = np.arange(out)
    for k in range(-1, 3):
        np.add.at(m, (rows, np.clip(base + k, 0, n - 1)), _cubic(x - (base + k)))
    return m


def _antialias_matrix(n: int, out: int, scale: float | None, align_corners: bool, cubic: bool) -> np.ndarray:
    """Pillow's resampling: the kernel is stretched when the image shrinks."""
    ratio = ((n - 1) / (out - 1) if out > 1 else 0.0) if align_corners else (1.0 / scale if scale else n / out)
    support = (2.0 if cubic else 1.0) * max(ratio, 1.0)
    stretch = 1.0 / ratio if ratio >= 1.0 else 1.0
    m = np.zeros((out, n))
    for i in range(out):
        centre = ratio * (i + 0.5)
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), n)
        k = (np.arange(first, last) - centre + 0.5) * stretch
        w = _cubic(k, -0.5) if cubic else np.maximum(0, 1 - np.abs(k))
        m[i, first:last] = w / w.sum()
    return m


def _apply(x: Any, axis: int, matrix: np.ndarray) -> Any:
    moved = jnp.moveaxis(x, axis, -1)
    return jnp.moveaxis(jnp.matmul(moved, matrix.T.astype(np.dtype(x.dtype))), -1, axis)


@op(**_F, name="_interpolate")
def interpolate(input: Array, size: Ints, mode: str, scales: Ints, align_corners: bool, antialias: bool):
    """``(N, C, *)`` resampled to ``size``: nearest, linear or cubic along each dimension."""
    x = input.astype(np.float32) if np.dtype(input.dtype).itemsize == 2 or (np.dtype(input.dtype).kind in "iu" and mode.startswith("bi")) else input
    for k, out in enumerate(size):
        axis, n = k + 2, input.shape[k + 2]
        scale = scales[k] if scales else None
        if mode == "nearest":
            ratio = np.float32(1.0 / scale) if scale else np.float32(n / out)
            index = np.minimum(np.floor(np.arange(out, dtype=np.float32) * ratio).astype(np.int64), n - 1)
            x = jnp.take(x, index, axis=axis)
        elif mode == "nearest-exact":
            ratio = np.float32(1.0 / scale) if scale else np.float32(n / out)
            index = np.minimum(np.floor((np.arange(out, dtype=np.float32) + np.float32(0.5)) * ratio).astype(np.int64), n - 1)
            x = jnp.take(x, index, axis=axis)
        elif antialias:
            x = _apply(x, axis, _antialias_matrix(n, out, scale, align_corners, mode == "bicubic"))
        elif mode == "bicubic":
            x = _apply(x, axis, _cubic_matrix(n, out, scale, align_corners))
        else:
            x = _apply(x, axis, _linear_matrix(n, out, scale, align_corners))
    if np.dtype(input.dtype).kind in "iu" and np.dtype(x.dtype).kind == "f":
        limits = np.iinfo(np.dtype(input.dtype))
        x = jnp.clip(jnp.round(x), limits.min, limits.max)
    return x.astype(input.dtype)


# -- grids ------------------------------------------------------------------------------------------------------------


@op(**_F, name="_affine_grid", node="AffineGridGeneratorBackward0")
def affine_grid(theta: Array, size: Ints, align_corners: bool):
    """Sampling positions in [-1, 1] for affine maps ``(N, d, d + 1)``: ``(N, *, d)``."""
    dims = len(size) - 2
    axes = []
    for n in size[2:]:
        x = jnp.linspace(-1, 1, n, dtype=theta.dtype) if n > 1 else jnp.zeros(n, theta.dtype)
        axes.append(x if align_corners else x * ((n - 1) / n))
    grid = jnp.meshgrid(*axes, indexing="ij")
    base = jnp.stack([*reversed(grid), jnp.ones_like(grid[0])], -1).reshape(-1, dims + 1)
    return jnp.matmul(base, jnp.swapaxes(theta, 1, 2)).reshape(size[0], *size[2:], dims)


def _unnormalize(x: Any, n: int, align_corners: bool) -> Any:
    return (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2


def _inside(x: Any, n: int, padding_mode: str, align_corners: bool) -> Any:
    if padding_mode == "border":
        return jnp.clip(x, 0, n - 1)
    if padding_mode == "reflection":
        low, high = (0.0, n - 1.0) if align_corners else (-0.5, n - 0.5)
        span = high - low
        if span <= 0:
            return jnp.zeros_like(x)
        away = jnp.abs(x - low)
        extra, flips = jnp.mod(away, span), jnp.floor(away / span)
        return jnp.clip(jnp.where(flips % 2 == 0, extra + low, span - extra + low), 0, n - 1)
    return x


@op(**_F, name="_grid_sample", node="GridSampler2DBackward0")
def grid_sample(input: Array, grid: Array, mode: str, padding_mode: str, align_corners: bool):
    """``(N, C, *)`` sampled at the positions ``(N, *out, d)`` of ``grid``, each in [-1, 1] (x first)."""
    dims = input.ndim - 2
    sizes = input.shape[2:]
    spots = [_unnormalize(grid[..., dims - 1 - k], sizes[k], align_corners) for k in range(dims)]
    if mode != "bicubic":
        spots = [_inside(s, n, padding_mode, align_corners) for s, n in zip(spots, sizes, strict=True)]
    batch = jnp.arange(input.shape[0]).reshape(-1, *([1] * (grid.ndim - 2)))

    def at(index: list[Any]) -> Any:
        valid = jnp.ones(index[0].shape, bool)
        safe = []
        for i, n in zip(index, sizes, strict=True):
            if mode == "bicubic" and padding_mode != "zeros":
                i = _inside(i, n, padding_mode, align_corners)
            valid = valid & (i >= 0) & (i <= n - 1)
            safe.append(jnp.clip(i, 0, n - 1).astype(np.int64))
        values = input[(batch, slice(None), *safe)]  # (N, *out, C)
        return jnp.where(valid[..., None], values, 0)

    if mode == "nearest":
        out = at([jnp.round(s) for s in spots])
    else:
        corners, weights = [], []
        for s in spots:
            base = jnp.floor(s)
            t = s - base
            if mode == "bicubic":
                corners.append([base + k for k in range(-1, 3)])
                weights.append([_cubic_weight(t - k) for k in range(-1, 3)])
            else:
                corners.append([base, base + 1])
                weights.append([1 - t, t])
        out = 0
        for choice in np.ndindex(*[len(c) for c in corners]):
            w = math.prod((weights[d][c] for d, c in enumerate(choice)), start=1)
            out = out + at([corners[d][c] for d, c in enumerate(choice)]) * w[..., None]
    return jnp.moveaxis(out, -1, 1).astype(input.dtype)


def _cubic_weight(t: Any, a: float = -0.75) -> Any:
    t = jnp.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return jnp.where(t <= 1, near, jnp.where(t < 2, far, 0.0))
