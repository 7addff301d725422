"""Arithmetic that rounds as torch's compiled kernels do: fused multiply-adds, and the C library's functions in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_SPLIT = 134217729.0  # 2**27 + 1


def fma32(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """``a * b + c`` in float32 with one rounding: the product of two float32 numbers is exact in float64."""
    return (a.astype(np.float64) * np.float64(np.float32(b)) + np.float64(np.float32(c))).astype(np.float32)


def fma(a: Any, b: float, c: float) -> Any:
    """``a * b + c`` in float64 with one rounding, from error-free transformations; ``a`` is a number or an array.

    T. J. Dekker, "A floating-point technique for extending the available precision" (1971), for the product's error, and
    D. Knuth's two-sum for the sum's; their sum is added at the end.
    """
    product = a * b
    t = a * _SPLIT
    high = t - (t - a)
    low = a - high
    t = b * _SPLIT
    b_high = t - (t - b)
    b_low = b - b_high
    error = ((high * b_high - product) + high * b_low + low * b_high) + low * b_low
    total = product + c
    other = total - product
    return total + (((product - (total - other)) + (c - other)) + error)


def fma64(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """``fma`` of an array; where the splitting overflows, which the product need not do, plain arithmetic."""
    with np.errstate(all="ignore"):
        out = fma(a, b, c)
        finite = np.isfinite(out)
        return out if finite.all() else np.where(finite, out, a * b + c)


def libm(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """A function of ``math`` for each number: the C library's last bit, which NumPy's vectorised functions do not keep."""
    return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)
