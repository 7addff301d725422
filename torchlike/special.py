"""``torch.special``: special functions, made from the declarations in ``ops``."""

from torchlike.tensor import exports

_exports = exports("special")
__all__ = sorted(_exports)  # noqa: PLE0605 - the names are those of the declarations
globals().update(_exports)
