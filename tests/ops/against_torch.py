"""One checker for tables of operator calls: the same function of the library and tensors, on torch and on torchlike.

A row is ``(name, call, inputs)``: ``call(T, *tensors)`` gives a tensor or several, ``inputs`` are NumPy arrays. Values, dtypes,
shapes and the gradients of every floating input are compared (for a fixed cotangent); an exception must be of the same class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")

TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-8, "complex128": 1e-8, "bfloat16": 2e-2, "float16": 3e-3}


def floats(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    """Normal numbers (complex ones if the dtype is)."""
    random = np.random.default_rng([seed, *shape])
    values = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype)


def ints(*shape: int, below: int = 5, seed: int = 0) -> np.ndarray:
    """Numbers from 0 to ``below`` - 1."""
    return np.random.default_rng([seed, below, *shape]).integers(0, below, shape)


def bools(*shape: int, seed: int = 0) -> np.ndarray:
    """Half true, half false."""
    return np.random.default_rng([seed, *shape]).random(shape) < 0.5


def positive(n: int, *batch: int, dtype: Any = np.float32) -> np.ndarray:
    """Positive definite matrices."""
    a = floats(*batch, n, n, dtype=dtype)
    return (a @ np.conj(np.swapaxes(a, -1, -2)) + n * np.eye(n)).astype(dtype)


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [leaf for item in x for leaf in _leaves(item)]
    return [x]


def _run(T: Any, call: Callable[..., Any], inputs: Sequence[np.ndarray], grad: bool) -> Any:
    """The answer: results and gradients as (dtype, array), or the class of the exception."""
    tensors = [T.tensor(i) for i in inputs]
    wanted = [t for t in tensors if grad and (t.is_floating_point() or t.is_complex())]
    for t in wanted:
        t.requires_grad_()
    try:
        results = _leaves(call(T, *tensors))
    except Exception as error:
        return type(error).__name__
    answer = [(str(r.dtype), _array(r)) if hasattr(r, "dtype") else (type(r).__name__, r) for r in results]
    smooth = [(k, r) for k, r in enumerate(results) if getattr(r, "requires_grad", False)]
    if wanted and smooth:
        total = sum(_paired(T, r, k) for k, r in smooth)
        for g in T.autograd.grad(total, wanted, allow_unused=True):
            # None stands for zeros
            answer.append(("gradient", np.zeros(()) if g is None else _array(g)))
    return answer


def _paired(T: Any, r: Any, k: int) -> Any:
    """The real sum of a result times fixed numbers."""
    weights = np.cos(np.arange(r.numel()) + k).reshape(tuple(r.shape))
    if r.is_complex():
        weights = weights + 1j * np.sin(np.arange(r.numel()) + k).reshape(tuple(r.shape))
        return (r * T.tensor(weights).to(r.dtype)).sum().real.double()
    return (r * T.tensor(weights).to(r.dtype)).sum().double()


def _array(t: Any) -> np.ndarray:
    t = t.detach()
    return np.array(t.float().tolist() if t.dtype in (torch.bfloat16, torchlike.bfloat16) else t.tolist()).reshape(tuple(t.shape))


def check(call: Callable[..., Any], inputs: Sequence[np.ndarray], grad: bool = True, rtol: float | None = None) -> None:
    """Assert that the call gives on torchlike what it gives on torch."""
    expected, got = (_run(T, call, inputs, grad) for T in (torch, torchlike))
    if isinstance(expected, str) or isinstance(got, str):
        assert got == expected
        return
    assert [kind for kind, _ in got] == [kind for kind, _ in expected]
    for (kind, e), (_, g) in zip(expected, got, strict=True):
        if not isinstance(e, np.ndarray):
            assert g == e
            continue
        assert g.shape == e.shape or kind == "gradient"
        tolerance = rtol or TOLERANCE.get(kind.removeprefix("torch."), 2e-4 if kind == "gradient" else 0)
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance, err_msg=kind)
