"""Type promotion: which dtype an operator computes in, by torch's rules.

Operands fall into three categories: tensors with dimensions, zero-dimensional tensors, and Python numbers. A category of
lower rank takes part only when its kind (bool < integer < floating < complex) is higher than what the categories before
it have. Source: PyTorch documentation, "Tensor Attributes", section torch.dtype.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

BOOL = np.dtype(bool)
INT64 = np.dtype(np.int64)
FLOAT16 = np.dtype(np.float16)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
COMPLEX64 = np.dtype(np.complex64)
COMPLEX128 = np.dtype(np.complex128)

_LOW_PRECISION = (FLOAT16, BFLOAT16)
_COMPLEX_OF = {FLOAT32: COMPLEX64, FLOAT64: COMPLEX128, FLOAT16: COMPLEX64, BFLOAT16: COMPLEX64}
_REAL_OF = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}
_KIND = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}

_default_dtype = FLOAT32


def default_dtype() -> np.dtype:
    """The dtype that Python floats and integer inputs of float operators take (``torch.get_default_dtype``)."""
    return _default_dtype


def set_default_dtype(dtype: np.dtype) -> None:
    """Change ``default_dtype``; the tensor layer ends the running trace first."""
    global _default_dtype
    _default_dtype = np.dtype(dtype)


def kind(dtype: np.dtype) -> int:
    """0 bool, 1 integer, 2 floating (the 8-bit and bfloat16 extension types included), 3 complex."""
    return _KIND[dtype.kind]


def is_floating(dtype: np.dtype) -> bool:
    """Whether ``dtype`` is a real floating type."""
    return _KIND[dtype.kind] == 2


def is_complex(dtype: np.dtype) -> bool:
    """Whether ``dtype`` is complex."""
    return dtype.kind == "c"


def is_inexact(dtype: np.dtype) -> bool:
    """Whether values of ``dtype`` can have a gradient."""
    return _KIND[dtype.kind] >= 2


def is_low_precision(dtype: np.dtype) -> bool:
    """Whether operators compute this dtype in float32 and round once (float16, bfloat16)."""
    return dtype in _LOW_PRECISION


def complex_of(dtype: np.dtype) -> np.dtype:
    """The complex dtype whose parts have the precision of ``dtype``."""
    return dtype if dtype.kind == "c" else _COMPLEX_OF[dtype]


def real_of(dtype: np.dtype) -> np.dtype:
    """The dtype of the real part."""
    return _REAL_OF.get(dtype, dtype)


def promote_types(a: np.dtype, b: np.dtype) -> np.dtype:
    """The smallest dtype that ``torch.promote_types`` gives for two dtypes."""
    if a == b:
        return a
    kind_a, kind_b = kind(a), kind(b)
    if kind_a != kind_b and (kind_a < 2 or kind_b < 2):
        return a if kind_a > kind_b else b
    if kind_a == 3 or kind_b == 3:
        wide = any(real_of(d) == FLOAT64 for d in (a, b))
        return COMPLEX128 if wide else COMPLEX64
    if kind_a == 2:
        if a.itemsize == b.itemsize:
            return FLOAT32
        wide, narrow = (a, b) if a.itemsize > b.itemsize else (b, a)
        if narrow.itemsize == 1:
            raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {a} and {b}")
        return wide
    result = np.promote_types(a, b)
    if result.kind == "f":
        raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a} and {b}")
    return result


def number_dtype(number_kind: str) -> np.dtype:
    """The dtype a Python number of kind "bool", "int", "float" or "complex" has as a tensor."""
    if number_kind == "bool":
        return BOOL
    if number_kind == "int":
        return INT64
    return _default_dtype if number_kind == "float" else complex_of(_default_dtype)


def _combine(higher: np.dtype | None, lower: np.dtype | None) -> np.dtype | None:
    if higher is None:
        return lower
    if lower is None or kind(lower) <= kind(higher):
        return higher
    if kind(higher) == 2 and kind(lower) == 3:
        return complex_of(higher)
    return promote_types(higher, lower)


def _promote_all(dtypes: Iterable[np.dtype]) -> np.dtype | None:
    result = None
    for dtype in dtypes:
        result = dtype if result is None else promote_types(result, dtype)
    return result


def result_dtype(arrays: Iterable[Any], number_kinds: Iterable[str]) -> np.dtype:
    """The common dtype of tensors (anything with ``ndim`` and ``dtype``) and Python numbers (their kinds)."""
    arrays = list(arrays)
    with_dims = _promote_all(a.dtype for a in arrays if a.ndim)
    zero_dim = _promote_all(a.dtype for a in arrays if not a.ndim)
    numbers = _promote_all(number_dtype(k) for k in number_kinds)
    result = _combine(with_dims, _combine(zero_dim, numbers))
    assert result is not None, "an operator needs at least one operand"
    return result
