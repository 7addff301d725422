"""Tensors computed from a formula of the position: window functions, ``fft.fftfreq``. They are made on the host."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike.tensor import dtypes
from torchlike.tensor.dispatch import index, write_out
from torchlike.tensor.facade import facade
from torchlike.tensor.tensor import Tensor


def _made(values: np.ndarray, dtype: Any, device: Any, requires_grad: bool, out: Any = None) -> Tensor:
    """Values computed in float64 as a tensor of ``dtype``."""
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    t = Tensor._from_numpy(values.astype(dtypes.numpy_of(kind)))
    if out is not None:
        return write_out(out, t)
    if device is not None:
        t = t.to(device)
    return t.requires_grad_() if requires_grad else t


def _check(name: str, length: int, dtype: Any) -> int:
    length = index(length)
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    return length


def _periodic(length: int, periodic: bool, formula: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
    """A window over ``length`` points; a periodic one is the longer symmetric one without its last point."""
    if length == 0:
        return np.zeros(0)
    if length == 1:
        return np.ones(1)
    full = length + 1 if periodic else length
    return formula(np.arange(full, dtype=np.float64), full - 1)[:length]


def _cosines(*weights: float) -> Callable[[np.ndarray, int], np.ndarray]:
    """``w0 - w1 cos(2 pi k / n) + w2 cos(4 pi k / n) - ...``"""
    return lambda k, n: sum((-1) ** i * w * np.cos(2 * math.pi * i * k / n) for i, w in enumerate(weights))  # type: ignore[return-value]


@facade(method=False, override=False)
def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
                pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``sin(pi k / n) ** 2``."""
    n = _check("hann_window", window_length, dtype)
    return _made(_periodic(n, periodic, _cosines(0.5, 0.5)), dtype, device, requires_grad)


@facade(method=False, override=False)
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
                   layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``alpha - beta cos(2 pi k / n)``."""
    n = _check("hamming_window", window_length, dtype)
    return _made(_periodic(n, periodic, _cosines(alpha, beta)), dtype, device, requires_grad)


@facade(method=False, override=False)
def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
                    pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n)``."""
    n = _check("blackman_window", window_length, dtype)
    return _made(np.maximum(_periodic(n, periodic, _cosines(0.42, 0.5, 0.08)), 0.0), dtype, device, requires_grad)


@facade(method=False, override=False)
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
                    pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``1 - |2 k / n - 1|``."""
    n = _check("bartlett_window", window_length, dtype)
    return _made(_periodic(n, periodic, lambda k, m: 1 - np.abs(2 * k / m - 1)), dtype, device, requires_grad)


@facade(method=False, override=False)
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, layout: Any = None,
                  device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``I0(beta sqrt(1 - (2 k / n - 1) ** 2)) / I0(beta)``."""
    n = _check("kaiser_window", window_length, dtype)
    return _made(_periodic(n, periodic, _kaiser(beta)), dtype, device, requires_grad)


def _kaiser(beta: float) -> Callable[[np.ndarray, int], np.ndarray]:
    return lambda k, n: np.i0(beta * np.sqrt(np.maximum(1 - (2 * k / n - 1) ** 2, 0))) / np.i0(beta)


# -- torch.signal.windows ---------------------------------------------------------------------------------------------


def _signal_window(M: int, name: str, sym: bool, formula: Callable[[np.ndarray, int], np.ndarray], dtype: Any, layout: Any,
                   device: Any, requires_grad: bool) -> Tensor:  # fmt: skip
    M = index(M)
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and str(layout) != "torch.strided":
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if kind.name not in ("float32", "float64"):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    return _made(_periodic(M, not sym, formula), kind, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
                device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``exp(-|k - center| / tau)``."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def formula(k: np.ndarray, n: int) -> np.ndarray:
        return np.exp(-np.abs(k - (n / 2 if center is None else center)) / tau)

    return _signal_window(M, "exponential", sym, formula, dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def cosine(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``sin(pi (k + 1/2) / M)``."""
    return _signal_window(M, "cosine", sym, lambda k, n: np.sin(math.pi * (k + 0.5) / (n + 1)), dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``exp(-((k - n / 2) / std) ** 2 / 2)``."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _signal_window(M, "gaussian", sym, lambda k, n: np.exp(-(((k - n / 2) / std) ** 2) / 2), dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``I0(beta sqrt(1 - (2 k / n - 1) ** 2)) / I0(beta)``."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _signal_window(M, "kaiser", sym, _kaiser(beta), dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def hamming(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``0.54 - 0.46 cos(2 pi k / n)``."""
    return _signal_window(M, "hamming", sym, _cosines(0.54, 0.46), dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def hann(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``0.5 - 0.5 cos(2 pi k / n)``."""
    return _signal_window(M, "hann", sym, _cosines(0.5, 0.5), dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def blackman(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n)``."""
    return _signal_window(M, "blackman", sym, _cosines(0.42, 0.5, 0.08), dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def bartlett(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``1 - |2 k / n - 1|``."""
    return _signal_window(M, "bartlett", sym, lambda k, n: 1 - np.abs(2 * k / n - 1), dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def general_cosine(M: int, *, a: Any, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
                   requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``a[0] - a[1] cos(2 pi k / n) + a[2] cos(4 pi k / n) - ...``."""
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _signal_window(M, "general_cosine", sym, _cosines(*weights), dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
                    requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``alpha - (1 - alpha) cos(2 pi k / n)``."""
    return _signal_window(M, "general_hamming", sym, _cosines(alpha, 1.0 - alpha), dtype, layout, device, requires_grad)


@facade(namespace="signal.windows", method=False, override=False)
def nuttall(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The minimum 4-term Blackman-Harris window of Nuttall (1981)."""
    return _signal_window(M, "nuttall", sym, _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411), dtype, layout, device, requires_grad)


# -- frequencies ------------------------------------------------------------------------------------------------------


@facade(namespace="fft", method=False, override=False)
def fftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of ``fft`` of ``n`` points ``d`` apart: ``0, 1, ..., -2, -1`` over ``n d``."""
    return _made(np.fft.fftfreq(index(n), d), dtype, device, requires_grad, out)


@facade(namespace="fft", method=False, override=False)
def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of ``rfft`` of ``n`` points ``d`` apart: ``0, 1, ..., n // 2`` over ``n d``."""
    return _made(np.fft.rfftfreq(index(n), d), dtype, device, requires_grad, out)
