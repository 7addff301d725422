"""Runs an expression in torch and in torchlike and compares what comes out: values, dtypes, gradients, errors.

An expression names the module ``torch``, the helper ``t(values, dtype)`` that makes a tensor, ``F`` for
``torch.nn.functional``, and (in gradient tests) the leaves ``x``, ``y``, ``z``.
"""

from __future__ import annotations

import importlib
import math
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the reference of parity tests is real torch")
torchlike = importlib.import_module("torchlike")

DTYPES = {
    "b": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16",
    "bf16": "bfloat16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128",
}  # fmt: skip
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5, "float64": 1e-7, "complex64": 2e-5, "complex128": 1e-7}


def scope(module: Any) -> dict[str, Any]:
    """The names that expressions use, for one of the two modules."""
    names = {short: getattr(module, long) for short, long in DTYPES.items()}

    def t(values: Any, dtype: Any = None) -> Any:
        return module.tensor(values, dtype=dtype)

    return {**names, "torch": module, "F": importlib.import_module(f"{module.__name__}.nn.functional"), "t": t,
            "nan": math.nan, "inf": math.inf, "math": math}  # fmt: skip


def host(x: Any) -> Any:
    """Results as nested tuples of (dtype name, NumPy array), numbers as they are."""
    if isinstance(x, (torch.Tensor, torchlike.Tensor)):
        name = str(x.dtype).removeprefix("torch.")
        wide = x.detach().double() if "float" in name else x.detach()
        return name, wide.numpy(force=True)
    if isinstance(x, (tuple, list)):
        return tuple(host(i) for i in x)
    return x


def outcome(module: Any, expression: str, **names: Any) -> Any:
    """The value of the expression, or the class of the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", host(eval(expression, {**scope(module), **names}))
        except Exception as error:
            return "error", type(error).__name__


def assert_same(expression: str) -> None:
    """Both modules agree about the expression."""
    compare(outcome(torchlike, expression), outcome(torch, expression), expression)


def compare(got: Any, want: Any, what: str) -> None:
    """Two outcomes agree: structure, dtype, shape, values (NaN equals NaN, -0.0 differs from 0.0 not)."""
    if isinstance(want, tuple) and len(want) == 2 and isinstance(want[1], np.ndarray):
        assert isinstance(got, tuple) and got[0] == want[0], f"{what}: dtype {got} instead of {want}"
        assert got[1].shape == want[1].shape, f"{what}: shape {got[1].shape} instead of {want[1].shape}"
        tolerance = TOLERANCE.get(want[0], 0)
        np.testing.assert_allclose(got[1], want[1], rtol=tolerance, atol=tolerance / 10, err_msg=what)
    elif isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want), f"{what}: {got} instead of {want}"
        for g, w in zip(got, want, strict=True):
            compare(g, w, what)
    else:
        assert got == want or (got != got and want != want), f"{what}: {got} instead of {want}"


def gradients(module: Any, expression: str, leaves: dict[str, Any], second: bool) -> Any:
    """The value, the gradient of a weighted sum of it and, if ``second``, the gradient of the gradients' weighted sum."""
    variables = {n: module.tensor(v, dtype=module.float64, requires_grad=True) for n, v in leaves.items()}
    result = eval(expression, {**scope(module), **variables})
    weights = module.arange(1, result.numel() + 1, dtype=module.float64).reshape(result.shape)
    inputs = list(variables.values())
    first = module.autograd.grad((result * weights).sum(), inputs, create_graph=second, allow_unused=True)
    everything = [host(result), *[None if g is None else host(g) for g in first]]
    if second:
        total = sum((g * g * 0.5 + g).sum() for g in first if g is not None and g.requires_grad)
        again = [None] * len(inputs) if isinstance(total, int) else module.autograd.grad(total, inputs, allow_unused=True)
        # torch has no second derivative where it is zero by construction
        everything += [np.zeros(tuple(x.shape)) if g is None else host(g)[1] for x, g in zip(inputs, again, strict=True)]
    return [e if e is None or isinstance(e, tuple) else ("float64", e) for e in everything]


def assert_same_gradients(expression: str, leaves: dict[str, Any], second: bool = False) -> None:
    """Both modules agree about the expression's gradients by its leaves (float64)."""
    got, want = (gradients(m, expression, leaves, second) for m in (torchlike, torch))
    assert len(got) == len(want), f"{expression}: {got} instead of {want}"
    for g, w in zip(got, want, strict=True):
        compare(g, w, expression)
