"""``torch.fft``: discrete Fourier transforms over one, two or several dimensions.

Conventions of torch and NumPy: ``norm`` "backward" scales the inverse by 1/n, "forward" the forward transform, "ortho" both
by 1/sqrt(n). A transform that wants another size cuts the input or pads it with zeros.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import Array, Dim, Dims, Ints, canonical_dim, op
from torchlike.ops.dtype_errors import type_name

# -- sizes and scales -------------------------------------------------------------------------------------------------


def _floating(x, complex_too: bool = True):
    """Integers as the default dtype; RuntimeError for what cannot be transformed."""
    dtype = np.dtype(x.dtype)
    if not promotion.is_inexact(dtype):
        x = x.astype(promotion.default_dtype())
    elif promotion.is_low_precision(dtype):
        raise RuntimeError(f"Unsupported dtype {type_name(dtype)}")
    return x.astype(promotion.complex_of(np.dtype(x.dtype))) if complex_too else x


def _real_input(name: str, x):
    if promotion.is_complex(np.dtype(x.dtype)):
        raise RuntimeError(f"{name} expects a real input tensor, but got {type_name(x.dtype)}")
    return _floating(x, complex_too=False)


def _one(x, n: int | None, dim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Dimension and size of a transform over one dimension."""
    d = canonical_dim(dim, x.ndim, scalar_ok=False)
    return (d,), (x.shape[d] if n is None else n,)


def _several(x, s, dim) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Dimensions and sizes of a transform over several; -1 keeps a size."""
    sizes = (s,) if isinstance(s, int) else s
    if dim is None:
        if sizes is not None and len(sizes) > x.ndim:
            raise RuntimeError(f"Got shape with {len(sizes)} values but input tensor only has {x.ndim} dimensions.")
        dims = tuple(range(x.ndim)) if sizes is None else tuple(range(x.ndim - len(sizes), x.ndim))
    else:
        dims = tuple(canonical_dim(d, x.ndim, scalar_ok=False) for d in ((dim,) if isinstance(dim, int) else dim))
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    if sizes is None:
        sizes = tuple(x.shape[d] for d in dims)
    if len(sizes) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return dims, tuple(x.shape[d] if n == -1 else n for d, n in zip(dims, sizes, strict=True))


def _scale(x, norm: str | None, sizes: tuple[int, ...], inverse: bool, built_in: bool):
    """Apply ``norm``; ``built_in`` says that the transform has divided by the number of points already."""
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    n = math.prod(sizes)
    divided = (norm or "backward") == ("backward" if inverse else "forward")
    exponent = (1.0 if divided else 0.5 if norm == "ortho" else 0.0) - (1.0 if built_in else 0.0)
    return x if exponent == 0 else x * np.asarray(float(n) ** -exponent, promotion.real_of(np.dtype(x.dtype)))


def _resized(x, dims: tuple[int, ...], sizes: tuple[int, ...]):
    for d, n in zip(dims, sizes, strict=True):
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        have = x.shape[d]
        if have > n:
            x = lax.slice_in_dim(x, 0, n, axis=d)
        elif have < n:
            x = jnp.pad(x, [(0, n - have) if k == d else (0, 0) for k in range(x.ndim)])
    return x


_KINDS = {(False, False): "FFT", (False, True): "IFFT", (True, False): "RFFT", (True, True): "IRFFT"}


def _transform(x, dims: tuple[int, ...], lengths: tuple[int, ...], real: bool, inverse: bool):
    """XLA's transform over ``dims`` (at most three at a time, the real one over the last)."""
    if len(dims) > 3:
        # the dimensions before the last three are complex on both sides
        rest, last = dims[:-3], dims[-3:]
        if inverse:
            x = _transform(x, rest, lengths[:-3], False, True)
            return _transform(x, last, lengths[-3:], real, True)
        x = _transform(x, last, lengths[-3:], real, False)
        return _transform(x, rest, lengths[:-3], False, False)
    ends = tuple(range(x.ndim - len(dims), x.ndim))
    moved = jnp.moveaxis(x, dims, ends)
    if moved.size == 0:
        shape = list(moved.shape)
        if real:
            shape[-1] = lengths[-1] if inverse else lengths[-1] // 2 + 1
        dtype = promotion.real_of(np.dtype(x.dtype)) if real and inverse else promotion.complex_of(np.dtype(x.dtype))
        return jnp.moveaxis(jnp.zeros(shape, dtype), ends, dims)
    return jnp.moveaxis(lax.fft(moved, _KINDS[real, inverse], lengths), ends, dims)


def _complex(x, dims, sizes, norm: str | None, inverse: bool):
    x = _resized(_floating(x), dims, sizes)
    if dims:
        x = _transform(x, dims, sizes, False, inverse)
    return _scale(x, norm, sizes, inverse, built_in=inverse)


def _to_half(name: str, x, dims, sizes, norm: str | None, inverse: bool):
    """Real input, the non-negative half of the spectrum along the last dimension (conjugated when ``inverse``)."""
    x = _resized(_real_input(name, x), dims, sizes)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    half = _scale(_transform(x, dims, sizes, True, False), norm, sizes, inverse, built_in=False)
    return jnp.conj(half) if inverse else half


def _from_half(name: str, x, dims, sizes, norm: str | None, inverse: bool):
    """Real output from half a spectrum; with ``inverse`` false the forward transform of a Hermitian signal."""
    x = _floating(x)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    if sizes[-1] < 1:
        raise RuntimeError(f"Invalid number of data points ({sizes[-1]}) specified")
    x = _resized(x, dims, (*sizes[:-1], sizes[-1] // 2 + 1))
    if not inverse:
        x = jnp.conj(x)
    return _scale(_transform(x, dims, sizes, True, True), norm, sizes, inverse, built_in=True)


def _full_last(x, dims: tuple[int, ...], sizes: tuple[int, ...], given: bool) -> tuple[int, ...]:
    """The sizes of the output where the last one is not given: twice the half."""
    return sizes if given or not dims else (*sizes[:-1], 2 * (x.shape[dims[-1]] - 1))


def _last_given(s) -> bool:
    return s is not None and (s if isinstance(s, int) else s[-1] if s else -1) != -1


# -- one dimension ----------------------------------------------------------------------------------------------------


@op(namespace="fft", node="FftC2CBackward0")
def fft(input: Array, n: int | None = None, dim: Dim = -1, norm: str | None = None):
    """The discrete Fourier transform along ``dim``, of ``n`` points."""
    return _complex(input, *_one(input, n, dim), norm, False)


@op(namespace="fft", node="FftC2CBackward0")
def ifft(input: Array, n: int | None = None, dim: Dim = -1, norm: str | None = None):
    """The inverse of ``fft``."""
    return _complex(input, *_one(input, n, dim), norm, True)


@op(namespace="fft", node="FftR2CBackward0")
def rfft(input: Array, n: int | None = None, dim: Dim = -1, norm: str | None = None):
    """``fft`` of real input: the ``n // 2 + 1`` frequencies that are not negative."""
    return _to_half("rfft", input, *_one(input, n, dim), norm, False)


@op(namespace="fft", node="FftC2RBackward0")
def irfft(input: Array, n: int | None = None, dim: Dim = -1, norm: str | None = None):
    """The inverse of ``rfft``; ``n`` is the size of the output."""
    dims, sizes = _one(input, n, dim)
    return _from_half("irfft", input, dims, _full_last(input, dims, sizes, n is not None), norm, True)


@op(namespace="fft", node="FftC2RBackward0")
def hfft(input: Array, n: int | None = None, dim: Dim = -1, norm: str | None = None):
    """``fft`` of a signal with Hermitian symmetry, of which half is given; the result is real, of ``n`` points."""
    dims, sizes = _one(input, n, dim)
    return _from_half("hfft", input, dims, _full_last(input, dims, sizes, n is not None), norm, False)


@op(namespace="fft", node="ConjBackward0")
def ihfft(input: Array, n: int | None = None, dim: Dim = -1, norm: str | None = None):
    """The inverse of ``hfft``: half a signal from a real spectrum."""
    return _to_half("ihfft", input, *_one(input, n, dim), norm, True)


# -- two and more dimensions ------------------------------------------------------------------------------------------


@op(namespace="fft", node="FftC2CBackward0")
def fft2(input: Array, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None):
    """``fft`` over two dimensions."""
    return _complex(input, *_several(input, s, dim), norm, False)


@op(namespace="fft", node="FftC2CBackward0")
def ifft2(input: Array, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None):
    """``ifft`` over two dimensions."""
    return _complex(input, *_several(input, s, dim), norm, True)


@op(namespace="fft", node="FftC2CBackward0")
def fftn(input: Array, s: Ints | None = None, dim: Dims = None, norm: str | None = None):
    """``fft`` over several dimensions."""
    return _complex(input, *_several(input, s, dim), norm, False)


@op(namespace="fft", node="FftC2CBackward0")
def ifftn(input: Array, s: Ints | None = None, dim: Dims = None, norm: str | None = None):
    """``ifft`` over several dimensions."""
    return _complex(input, *_several(input, s, dim), norm, True)


@op(namespace="fft", node="FftR2CBackward0")
def rfft2(input: Array, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None):
    """``rfft`` over two dimensions: half along the last."""
    return _to_half("rfftn", input, *_several(input, s, dim), norm, False)


@op(namespace="fft", node="FftR2CBackward0")
def rfftn(input: Array, s: Ints | None = None, dim: Dims = None, norm: str | None = None):
    """``rfft`` over several dimensions: half along the last."""
    return _to_half("rfftn", input, *_several(input, s, dim), norm, False)


def _inverse_real(name: str, input, s, dim, norm, inverse: bool):
    dims, sizes = _several(input, s, dim)
    return _from_half(name, input, dims, _full_last(input, dims, sizes, _last_given(s)), norm, inverse)


@op(namespace="fft", node="FftC2RBackward0")
def irfft2(input: Array, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None):
    """The inverse of ``rfft2``."""
    return _inverse_real("irfftn", input, s, dim, norm, True)


@op(namespace="fft", node="FftC2RBackward0")
def irfftn(input: Array, s: Ints | None = None, dim: Dims = None, norm: str | None = None):
    """The inverse of ``rfftn``."""
    return _inverse_real("irfftn", input, s, dim, norm, True)


@op(namespace="fft", node="FftC2RBackward0")
def hfft2(input: Array, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None):
    """``hfft`` over two dimensions."""
    return _inverse_real("hfftn", input, s, dim, norm, False)


@op(namespace="fft", node="FftC2RBackward0")
def hfftn(input: Array, s: Ints | None = None, dim: Dims = None, norm: str | None = None):
    """``hfft`` over several dimensions."""
    return _inverse_real("hfftn", input, s, dim, norm, False)


@op(namespace="fft", node="ConjBackward0")
def ihfft2(input: Array, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None):
    """The inverse of ``hfft2``."""
    return _to_half("ihfftn", input, *_several(input, s, dim), norm, True)


@op(namespace="fft", node="ConjBackward0")
def ihfftn(input: Array, s: Ints | None = None, dim: Dims = None, norm: str | None = None):
    """The inverse of ``hfftn``."""
    return _to_half("ihfftn", input, *_several(input, s, dim), norm, True)


# -- order of frequencies ---------------------------------------------------------------------------------------------


def _shifted(input, dim, forward: bool):
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = tuple(canonical_dim(d, input.ndim, scalar_ok=False) for d in dims)
    shifts = tuple(input.shape[a] // 2 if forward else (input.shape[a] + 1) // 2 for a in axes)
    return jnp.roll(input, shifts, axes) if axes and input.size else input


@op(namespace="fft", node="RollBackward0", out=False)
def fftshift(input: Array, dim: Dims = None):
    """The frequency zero moved to the middle."""
    return _shifted(input, dim, True)


@op(namespace="fft", node="RollBackward0", out=False)
def ifftshift(input: Array, dim: Dims = None):
    """The inverse of ``fftshift``."""
    return _shifted(input, dim, False)
