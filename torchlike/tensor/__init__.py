"""The eager facade: ``Tensor`` with torch's aliasing, in-place operators, indexing, dtypes, devices and printing."""

from torchlike.tensor.creation import from_jax
from torchlike.tensor.device import device, get_default_device, set_default_device
from torchlike.tensor.dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from torchlike.tensor.namespace import exports, registry
from torchlike.tensor.size import Size
from torchlike.tensor.tensor import Tensor

__all__ = [
    "Size", "Tensor", "device", "dtype", "exports", "finfo", "from_jax", "get_default_device", "get_default_dtype", "iinfo",
    "registry", "set_default_device", "set_default_dtype",
]  # fmt: skip
