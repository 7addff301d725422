"""``torch.fft``: discrete Fourier transforms, made from the declarations in ``ops``."""

from torchlike.tensor import exports

_exports = exports("fft")
__all__ = sorted(_exports)  # noqa: PLE0605 - the names are those of the declarations
globals().update(_exports)
