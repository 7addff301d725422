"""Gradient rules: for an operator and the operands that need gradients, its backward and the values that it reads.

A rule comes from ``jax.vjp`` of the operator's function, or from the rule that the operator declares. Either is traced
once a signature; what the traced backward really reads is what the tape saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np

from torchlike.engine.signature import Const, ScalarArg, Signature, rebuild_args
from torchlike.engine.values import Aval


def _differentiable(dtype: np.dtype) -> bool:
    return dtype.kind in "fcV"


class Rule:
    """The backward of one signature for one set of operands.

    ``saved``: what the node keeps, an operand's position, or ``~i`` for result ``i``. ``wanted``: positions of the operands
    that get a gradient. ``produces``: for each result, whether it can have a gradient.
    """

    __slots__ = ("backward", "node_type", "produces", "saved", "signature", "wanted")

    def __init__(self, signature: Signature, wanted: tuple[int, ...], node_type: type) -> None:
        self.signature, self.wanted, self.node_type = signature, wanted, node_type
        self.produces = tuple(_differentiable(a.dtype) for a in signature.outs)
        self.saved: tuple[int, ...] = ()
        self._trace()

    def _trace(self) -> None:
        signature = self.signature
        outs = signature.outs
        structs: list[Any] = []
        positions: list[int] = []
        for i, d in enumerate(signature.descriptors):
            if d is None or isinstance(d, Const):
                continue
            positions.append(i)
            structs.append(_struct(d) if isinstance(d, Aval) else _NUMBER_STRUCT[d])
        for i, a in enumerate(outs):
            positions.append(~i)
            structs.append(_struct(a))
        cotangents = [_struct(a) for a, p in zip(outs, self.produces, strict=True) if p]

        def backward(*args: Any) -> list[Any]:
            n = len(structs)
            inputs, grads = args[:n], iter(args[n:])
            arrays, results = inputs[: n - len(outs)], inputs[n - len(outs):]
            full = [next(grads) if p else None for p in self.produces]
            return self._gradients(arrays, results, full)

        with jax.enable_x64(True):
            jaxpr = jax.make_jaxpr(backward)(*structs, *cotangents)
        used = used_inputs(jaxpr.jaxpr)
        self.saved = tuple(p for p, u in zip(positions, used, strict=False) if u)
        self.backward = (jax.extend.core.jaxpr_as_fun(jaxpr), positions, structs)

    def _gradients(self, arrays: Sequence[Any], results: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        op, signature = self.signature.op, self.signature
        args = rebuild_args(signature.descriptors, arrays)
        if getattr(op, "vjp_rule", None) is not None:
            full = [g if g is not None else _zeros(a) for g, a in zip(grads, signature.outs, strict=True)]
            answers = op.lower_vjp(signature.static, args, results, full)
            return [_zeros(args[i]) if answers[i] is None else answers[i] for i in self.wanted]

        def forward(*inputs: Any) -> list[Any]:
            given = list(args)
            for i, x in zip(self.wanted, inputs, strict=True):
                given[i] = x
            outs = op.lower(signature.static, given)
            return [o for o, p in zip(outs, self.produces, strict=True) if p]

        _, pull = jax.vjp(forward, *[args[i] for i in self.wanted])
        # torch's gradient of a complex value is the conjugate of JAX's.
        answers = pull([jnp.conj(g) if g.dtype.kind == "c" else g for g in grads if g is not None])
        return [jnp.conj(a) if a.dtype.kind == "c" else a for a in answers]

    def apply(self, saved: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """The gradients from saved values (arrays or ``ScalarArg``) and the results' gradients (None where there is none)."""
        function, positions, structs = self.backward
        known = dict(zip(self.saved, saved, strict=True))
        args = []
        for position, struct in zip(positions, structs, strict=True):
            value = known.get(position)
            if value is None:
                args.append(_zeros(struct))  # not read
            elif isinstance(value, ScalarArg):
                args.append(jnp.asarray(value.value, struct.dtype))
            else:
                args.append(value)
        for g, a, p in zip(grads, self.signature.outs, self.produces, strict=True):
            if p:
                args.append(_zeros(a) if g is None else g.astype(a.dtype))
        return function(*args)


class VjpOp:
    """The recorded operator that runs a rule: ``static`` is the rule, the operands are the saved values, then the grads."""

    name = "backward"
    differentiable = True
    vjp_rule = None

    def lower(self, rule: Rule, args: Sequence[Any]) -> tuple[Any, ...]:
        """Apply the rule."""
        n = len(rule.saved)
        return tuple(rule.apply(args[:n], args[n:]))


VJP = VjpOp()


def used_inputs(jaxpr: Any, outs_used: Sequence[bool] | None = None) -> list[bool]:
    """For each input of a jaxpr, whether its results depend on the input's numbers."""
    used: set[Any] = set()

    def mark(atom: Any) -> None:
        if not isinstance(atom, jax.extend.core.Literal):
            used.add(atom)

    for i, atom in enumerate(jaxpr.outvars):
        if outs_used is None or outs_used[i]:
            mark(atom)
    for eqn in reversed(jaxpr.eqns):
        live = [v in used for v in eqn.outvars]
        if not any(live):
            continue
        inner = eqn.params.get("jaxpr") if eqn.primitive.name in ("jit", "pjit", "closed_call", "remat", "checkpoint") \
            else eqn.params.get("call_jaxpr") if eqn.primitive.name in ("custom_jvp_call", "custom_vjp_call") else None  # fmt: skip
        if inner is not None:
            inner = getattr(inner, "jaxpr", inner)
            if len(inner.invars) == len(eqn.invars):
                for atom, u in zip(eqn.invars, used_inputs(inner, live), strict=True):
                    if u:
                        mark(atom)
                continue
        for atom in eqn.invars:
            mark(atom)
    return [v in used for v in jaxpr.invars]


_NUMBER_STRUCT = {
    "float input": jax.ShapeDtypeStruct((), np.dtype(np.float64)),
    "int input": jax.ShapeDtypeStruct((), np.dtype(np.int64)),
}


def _struct(a: Aval) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(a.shape, a.dtype)


def _zeros(like: Any) -> Any:
    return jnp.zeros(like.shape, like.dtype)
