"""``torch.linalg``: linear algebra, made from the declarations in ``ops``."""

from torchlike.tensor import exports
from torchlike.tensor.functions_linalg import LinAlgError

_exports = exports("linalg")
__all__ = ["LinAlgError", *sorted(_exports)]  # noqa: PLE0605 - the names are those of the declarations
globals().update(_exports)
