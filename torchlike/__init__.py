"""torchlike: PyTorch's API on JAX/XLA.

``import torchlike as torch``, or run a script unmodified: ``torchlike run script.py``. This module is what a script sees as
``torch``.
"""

from __future__ import annotations

from torchlike import autograd, engine
from torchlike.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from torchlike.tensor import Size, Tensor, device, dtype, exports, finfo, from_jax, get_default_device, get_default_dtype, iinfo
from torchlike.tensor import set_default_device, set_default_dtype
from torchlike.tensor import dtypes as _dtypes
from torchlike.tensor import formats as _formats
from torchlike.tensor import legacy as _legacy
from torchlike.tensor import namespace as _namespace

globals().update(exports("torch"))
globals().update(_dtypes.NAMES)
globals().update(_namespace.LEGACY_TYPES)
globals().update(_formats._ALL)
can_cast, promote_types = _dtypes.can_cast, _dtypes.promote_types
layout, memory_format = _formats.layout, _formats.memory_format
set_default_tensor_type = _legacy.set_default_tensor_type
