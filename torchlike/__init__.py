"""torchlike: PyTorch's API on JAX/XLA.

``import torchlike as torch``, or run a script unmodified: ``torchlike run script.py``. This module is what a script sees as
``torch``.
"""

from __future__ import annotations

import importlib
import math as _math
import pkgutil as _pkgutil
from typing import Any

from torchlike import autograd, engine
from torchlike.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from torchlike.autograd import is_anomaly_enabled
from torchlike.tensor import Size, Tensor, device, dtype, exports, finfo, from_jax, get_default_device, get_default_dtype, iinfo
from torchlike.tensor import set_default_device, set_default_dtype
from torchlike.tensor import dtypes as _dtypes
from torchlike.tensor import formats as _formats
from torchlike.tensor import legacy as _legacy
from torchlike.tensor import namespace as _namespace
from torchlike.random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from torchlike.random import sampling as _sampling

_namespace.attach([_sampling])
globals().update(exports("torch"))
globals().update(_dtypes.NAMES)
globals().update(_namespace.LEGACY_TYPES)
globals().update(_formats._ALL)
from torchlike.tensor.printing import get_printoptions, set_printoptions

can_cast, promote_types = _dtypes.can_cast, _dtypes.promote_types
layout, memory_format = _formats.layout, _formats.memory_format
set_default_tensor_type = _legacy.set_default_tensor_type
autograd.Variable = _legacy.Variable  # type: ignore[attr-defined]  # a name of torch.autograd that needs the tensor layer
e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None

from torchlike.torch_version import __version__

# Names that live in modules which are loaded when first needed.
_LAZY: dict[str, str] = {
    "save": "torchlike.serialization", "load": "torchlike.serialization", "install": "torchlike.compat", "uninstall": "torchlike.compat",
    "set_float32_matmul_precision": "torchlike.backends.precision", "get_float32_matmul_precision": "torchlike.backends.precision",
    "OutOfMemoryError": "torchlike.cuda", "compile": "torchlike.compiler", "svd_lowrank": "torchlike.lowrank", "pca_lowrank": "torchlike.lowrank",
}  # fmt: skip
_SUBMODULES = {m.name for m in _pkgutil.iter_modules(__path__)}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    elif name in _SUBMODULES and not name.startswith("_"):
        value = importlib.import_module(f"torchlike.{name}")
    else:
        raise AttributeError(f"module 'torch' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_SUBMODULES})


from torchlike.compat.finder import watch as _watch  # noqa: E402 - names that are missing are answered for when all others are there

_watch()
