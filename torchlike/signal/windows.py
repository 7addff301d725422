"""``torch.signal.windows``: window functions, from ``tensor/functions_windows.py``."""

from torchlike.tensor import exports

_exports = exports("signal.windows")
__all__ = sorted(_exports)  # noqa: PLE0605 - the names are those of the declarations
globals().update(_exports)
