"""Fourier transforms, short-time transforms, windows."""

import numpy as np
import pytest

from tests.ops.against_torch import check, floats, ints

x6, x45, z6, z45 = floats(6), floats(4, 5), floats(6, dtype=np.complex64), floats(4, 5, dtype=np.complex64)
cube = floats(2, 3, 4, 5)
wave = floats(2, 64)

ROWS = [
    *((f"{name} {norm}", lambda T, x, name=name, norm=norm: getattr(T.fft, name)(x, norm=norm), [z6])
      for name in ("fft", "ifft", "irfft", "hfft") for norm in ("backward", "ortho", "forward")),
    *((f"{name} sized", lambda T, x, name=name: getattr(T.fft, name)(x, n=9, dim=0), [x45]) for name in ("fft", "rfft", "irfft", "ihfft")),
    *((f"{name} cut", lambda T, x, name=name: getattr(T.fft, name)(x, s=(3, 7)), [x45]) for name in ("fft2", "rfft2", "ihfft2")),
    *((name, lambda T, x, name=name: getattr(T.fft, name)(x), [z45]) for name in ("ifft2", "irfft2", "hfft2", "ifftn", "irfftn", "hfftn")),
    ("fftn over four", lambda T, x: T.fft.fftn(x), [cube]),
    ("rfftn over four", lambda T, x: T.fft.rfftn(x), [cube]),
    ("irfftn over four", lambda T, x: T.fft.irfftn(x, s=(2, 3, 4, 5), dim=(0, 1, 2, 3)), [cube]),
    ("fft of ints", lambda T, x: T.fft.fft(x), [ints(5)]),
    ("rfft of complex", lambda T, x: T.fft.rfft(x), [z6]),
    ("fft of the wrong dim", lambda T, x: T.fft.fft(x, dim=2), [x45]),
    ("fftn twice the same dim", lambda T, x: T.fft.fftn(x, dim=(0, 0)), [x45]),
    ("fftshift", lambda T, x: T.fft.fftshift(x), [x45]),
    ("ifftshift", lambda T, x: T.fft.ifftshift(x, dim=1), [x45]),
    ("stft", lambda T, x: T.stft(x, 16, return_complex=True), [wave]),
    ("stft with a window", lambda T, x, w: T.stft(x, 16, 4, 12, w, normalized=True, return_complex=True), [wave, floats(12)]),
    ("stft uncentred, in pairs", lambda T, x: x.stft(16, 8, center=False, onesided=False, return_complex=False), [wave]),
    ("stft does not say what it returns", lambda T, x: T.stft(x, 16), [wave]),
    ("istft", lambda T, x, w: T.istft(T.stft(x, 16, window=w * w + 1, return_complex=True), 16, window=w * w + 1), [wave, floats(16)]),
    ("istft with a length", lambda T, x: T.istft(T.stft(x, 16, return_complex=True), 16, length=60), [wave]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "inputs"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_fft(call, inputs):
    check(call, inputs)
