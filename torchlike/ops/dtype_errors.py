"""What operators say about dtypes that they do not take, in torch's words."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike.ops import promotion

_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "uint16": "UInt16",
    "uint32": "UInt32", "uint64": "UInt64", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float",
    "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble", "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2",
}  # fmt: skip

# What `reject` may be told to refuse, by the kinds of `promotion.kind`.
BOOL, INTEGER, FLOATING, COMPLEX = 0, 1, 2, 3


def type_name(dtype: Any) -> str:
    """The name that a dtype has in messages: ``Float``, ``Long``, ``ComplexDouble``."""
    name = np.dtype(dtype).name
    return _NAMES.get(name, name)


def unsupported(kernel: str, dtype: Any) -> NotImplementedError:
    """The error of an operator that has no implementation for a dtype."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{type_name(dtype)}'")


def reject(kernel: str, x: Any, *kinds: int) -> None:
    """Raise ``unsupported`` when ``x`` is of one of the kinds."""
    if promotion.kind(np.dtype(x.dtype)) in kinds:
        raise unsupported(kernel, x.dtype)


def is_bool(x: Any) -> bool:
    """Whether an array holds bools."""
    return np.dtype(x.dtype).kind == "b"


def is_integral(x: Any) -> bool:
    """Whether an array holds integers or bools."""
    return promotion.kind(np.dtype(x.dtype)) < 2


def is_complex(x: Any) -> bool:
    """Whether an array holds complex numbers."""
    return np.dtype(x.dtype).kind == "c"
