"""Short-time Fourier transforms: ``stft`` and ``istft``."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from torchlike.ops import promotion
from torchlike.ops.declare import Array, op
from torchlike.ops.dtype_errors import type_name


def _positions(frames: int, hop: int, size: int) -> np.ndarray:
    """The positions of the samples of each frame: ``(frames, size)``."""
    return np.arange(frames)[:, None] * hop + np.arange(size)[None, :]


def _frames(x, frames: int, hop: int, size: int):
    """Overlapping pieces of ``(batch, time)``: ``(batch, frames, size)``.

    Where the hop divides the size they are shifted blocks side by side, several times faster than a gather and its gradient.
    """
    if size % hop:
        return x[:, _positions(frames, hop, size)]
    count = size // hop
    blocks = x[:, : (frames + count - 1) * hop].reshape(x.shape[0], -1, hop)
    return jnp.concatenate([blocks[:, i : i + frames] for i in range(count)], axis=-1)


def _overlapped(pieces, hop: int):
    """The sum of overlapping pieces: the transpose of ``_frames``."""
    batch, frames, size = pieces.shape
    total = size + hop * (frames - 1)
    if size % hop:
        return jnp.zeros((batch, total), pieces.dtype).at[:, _positions(frames, hop, size)].add(pieces)
    count = size // hop
    parts = pieces.reshape(batch, frames, count, hop)
    return sum(jnp.pad(parts[:, :, i], ((0, 0), (i, count - 1 - i), (0, 0))) for i in range(count)).reshape(batch, total)


def _window(name: str, window, win_length: int, n_fft: int, dtype):
    """The window, centred in ``n_fft`` points; ones without one."""
    if window is None:
        window = jnp.ones(win_length, dtype)
    elif window.ndim != 1 or window.shape[0] != win_length:
        raise RuntimeError(f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size {list(window.shape)}")
    left = (n_fft - win_length) // 2
    return jnp.pad(window, (left, n_fft - win_length - left))


@op(out=False, strides="contiguous")
def stft(input: Array, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Array | None = None,
         center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
         return_complex: bool | None = None, align_to_window: bool | None = None):  # fmt: skip
    """Fourier transforms of overlapping windows: ``(*, time)`` to ``(*, frequencies, frames)``, complex or in pairs of reals."""
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    kind = np.dtype(input.dtype)
    if not promotion.is_inexact(kind):
        raise RuntimeError(f"stft expected a tensor of floating point or complex values, but got {type_name(kind)}")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor of floating types, but got {input.ndim}D")
    is_complex = promotion.is_complex(kind) or (window is not None and promotion.is_complex(np.dtype(window.dtype)))
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    x = input[None] if input.ndim == 1 else input
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false.")
        half = n_fft // 2
        modes = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}
        if pad_mode not in modes:
            raise NotImplementedError(f"Unrecognised padding mode {pad_mode}")
        if pad_mode == "reflect" and half >= x.shape[-1]:
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({half}, {half}) at "
                f"dimension 2 of input {[1, *x.shape]}"
            )
        x = jnp.pad(x, ((0, 0), (half, half)), mode=modes[pad_mode])
    length = x.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"stft: expected 0 < win_length <= n_fft, but got win_length={width}")
    taper = _window("stft", window, width, n_fft, promotion.real_of(kind))
    start = (n_fft - width) // 2 if align_to_window else 0
    frames = 1 + (length - (width if align_to_window else n_fft)) // hop
    if align_to_window and start:
        x = jnp.pad(x, ((0, 0), (start, n_fft - width - start)))
    pieces = _frames(x, frames, hop, n_fft) * taper
    one = (not is_complex) if onesided is None else onesided
    if one and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    spectrum = jnp.fft.rfft(pieces, axis=-1) if one else jnp.fft.fft(pieces, axis=-1)
    if normalized:
        spectrum = spectrum * np.asarray(n_fft**-0.5, promotion.real_of(np.dtype(spectrum.dtype)))
    result = jnp.swapaxes(spectrum, 1, 2)
    if input.ndim == 1:
        result = result[0]
    return result if return_complex else jnp.stack([result.real, result.imag], axis=-1)


@op(out=False, strides="contiguous")
def istft(input: Array, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Array | None = None,
          center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
          return_complex: bool = False):  # fmt: skip
    """The signal with the least squared error to a short-time spectrum: ``(*, frequencies, frames)`` to ``(*, time)``.

    Griffin and Lim, "Signal estimation from modified short-time Fourier transform" (1984).
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    kind = np.dtype(input.dtype)
    if not promotion.is_complex(kind):
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    if input.size == 0:
        raise RuntimeError("istft: input tensor cannot be empty")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {input.ndim}")
    bins = input.shape[-2]
    one = bins != n_fft if onesided is None else onesided
    if one and n_fft // 2 + 1 != bins:
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when onesided=True, but "
            f"got {bins}"
        )
    if not one and n_fft != bins:
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when onesided=False, but got {bins}"
        )
    if not 0 < hop <= width:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, but got hop_length={hop}, win_length={width}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"istft: expected 0 < win_length <= n_fft, but got win_length={width}")
    if return_complex and one:
        raise RuntimeError("cannot have onesided output if window or input is complex")
    taper = _window("istft", window, width, n_fft, promotion.real_of(kind))
    if not return_complex and promotion.is_complex(np.dtype(taper.dtype)):
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    x = jnp.swapaxes(input[None] if input.ndim == 2 else input, 1, 2)
    if normalized:
        x = x * np.asarray(n_fft**0.5, promotion.real_of(kind))
    if return_complex:
        pieces = jnp.fft.ifft(x, axis=-1)
    elif one:
        pieces = jnp.fft.irfft(x, n=n_fft, axis=-1)
    else:
        pieces = jnp.fft.irfft(x[..., : n_fft // 2 + 1], n=n_fft, axis=-1)
    frames = x.shape[1]
    total = n_fft + hop * (frames - 1)
    signal = _overlapped(pieces * taper, hop)
    weight = _overlapped(jnp.broadcast_to(taper * taper, (1, frames, n_fft)), hop)[0]
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal, weight = signal[:, start:end], weight[start:end]
    signal = signal / weight
    if length is not None and end > total:
        signal = jnp.pad(signal, ((0, 0), (0, end - total)))
    return signal[0] if input.ndim == 2 else signal
