"""Signatures: what an operator gives for operands of certain shapes and dtypes, worked out once by tracing it.

The traced jaxpr is kept: it gives the output shapes now, is replayed when a trace is compiled, and tells the tape which
operands a gradient reads.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core
import numpy as np

from torchlike.engine.device import is_cpu
from torchlike.engine.stats import counters
from torchlike.engine.values import Aval, aval_of

_platform = "cpu"


def current_platform() -> str:
    """The platform that the operator being traced is for: "cpu", "gpu" or "tpu"."""
    return _platform


class ScalarArg:
    """A Python number among the operands: its kind, and its value (a number, or a traced 0-d array)."""

    __slots__ = ("kind", "traced", "value")

    def __init__(self, kind: str, value: Any, traced: bool = False) -> None:
        self.kind, self.value, self.traced = kind, value, traced

    def __repr__(self) -> str:
        return f"{self.kind}({'traced' if self.traced else self.value})"


class Const:
    """An operand descriptor: a number that is a constant of the program."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Any) -> None:
        self.kind, self.value = kind, value

    def _identity(self) -> tuple[str, str]:
        # repr keeps apart what == does not: 0.0 and -0.0, and lets nan equal itself.
        return (self.kind, repr(self.value))

    def __hash__(self) -> int:
        return hash(self._identity())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._identity() == other._identity()

    def __repr__(self) -> str:
        return repr(self.value)


# Descriptors of a number that is an input of the program.
FLOAT_INPUT, INT_INPUT = "float input", "int input"
_SCALAR_KIND = {FLOAT_INPUT: "float", INT_INPUT: "int"}
_SCALAR_STRUCT = {
    FLOAT_INPUT: jax.ShapeDtypeStruct((), np.dtype(np.float64)),
    INT_INPUT: jax.ShapeDtypeStruct((), np.dtype(np.int64)),
}

Descriptor = Any  # Aval | Const | FLOAT_INPUT | INT_INPUT | None


class Signature:
    """An operator at given static arguments and operand descriptors: its jaxpr and the avals of its results."""

    __slots__ = ("apply", "descriptors", "jaxpr", "op", "outs", "rules", "static")

    def __init__(self, op: Any, static: Any, descriptors: tuple[Descriptor, ...], jaxpr: Any, outs: tuple[Aval, ...]) -> None:
        self.op, self.static, self.descriptors = op, static, descriptors
        self.jaxpr, self.outs = jaxpr, outs
        self.apply = jax.extend.core.jaxpr_as_fun(jaxpr)
        self.rules: dict[int, Any] = {}  # gradient rules by the mask of operands that require grad; filled by the tape

    def operand_avals(self) -> list[Aval]:
        """The avals of the operands that are tensors, in order."""
        return [d for d in self.descriptors if isinstance(d, Aval)]


def rebuild_args(descriptors: Sequence[Descriptor], arrays: Sequence[Any]) -> list[Any]:
    """The arguments of ``lower``: arrays at their places, numbers as ``ScalarArg``, absent operands as None."""
    args: list[Any] = []
    taken = iter(arrays)
    for d in descriptors:
        if d is None:
            args.append(None)
        elif isinstance(d, Const):
            args.append(ScalarArg(d.kind, d.value))
        elif isinstance(d, Aval):
            args.append(next(taken))
        else:
            args.append(ScalarArg(_SCALAR_KIND[d], next(taken), traced=True))
    return args


def abstract_args(descriptors: Sequence[Descriptor]) -> list[jax.ShapeDtypeStruct]:
    """The abstract arrays for the descriptors that are inputs (tensors and traced numbers)."""
    return [
        jax.ShapeDtypeStruct(d.shape, d.dtype) if isinstance(d, Aval) else _SCALAR_STRUCT[d]
        for d in descriptors
        if d is not None and not isinstance(d, Const)
    ]


_signatures: dict[tuple[Any, ...], Signature] = {}


def signature_of(op: Any, static: Any, descriptors: tuple[Descriptor, ...], device: str, context: Any) -> Signature:
    """The signature; worked out by ``jax.make_jaxpr`` at the first call, and then remembered.

    Raises what the operator raises (torch's exception classes); an error of JAX's own about operands becomes a
    ``RuntimeError`` with the operator and the operands.
    """
    key = (op, static, descriptors, device, context)
    found = _signatures.get(key)
    if found is None:
        found = _signatures[key] = _infer(op, static, descriptors, device)
    return found


def _infer(op: Any, static: Any, descriptors: tuple[Descriptor, ...], device: str) -> Signature:
    global _platform
    counters.inferences += 1
    before, _platform = _platform, platform_of(device)
    try:
        with jax.enable_x64(True), _products(device):
            jaxpr = jax.make_jaxpr(lambda *arrays: op.lower(static, rebuild_args(descriptors, arrays)))(
                *abstract_args(descriptors)
            )
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        if not _raised_by_jax(error):
            raise
        operands = ", ".join(str(d) for d in descriptors)
        raise RuntimeError(f"{op.name}({operands}): {str(error).splitlines()[0]}") from error
    finally:
        _platform = before
    outs = tuple(aval_of(tuple(a.shape), np.dtype(a.dtype), device) for a in jaxpr.out_avals)
    return Signature(op, static, descriptors, jaxpr, outs)


def platform_of(device: str) -> str:
    """The platform of a device name."""
    if is_cpu(device):
        return "cpu"
    return "gpu" if device.startswith("cuda") else device.partition(":")[0]


def _products(device: str) -> Any:
    """The precision of float32 products. On the CPU there is only one, and naming it keeps XLA from its faster kernels."""
    return contextlib.nullcontext() if platform_of(device) in ("cpu", META) else jax.default_matmul_precision(matmul_precision())


META = "meta"  # the device of values that have a shape and no numbers


def matmul_precision() -> str:
    """float32 products are float32; the tensor layer lowers this when torch's own switches ask for TF32."""
    return _matmul_precision


_matmul_precision = "highest"


def set_matmul_precision(name: str) -> None:
    """Set the JAX precision of float32 products and forget signatures traced with another."""
    global _matmul_precision
    if name != _matmul_precision:
        _matmul_precision = name
        _signatures.clear()


def _raised_by_jax(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1].filename if frames else ""
    return "/jax/" in last or "/numpy/" in last or last.startswith("<__array_function__")
