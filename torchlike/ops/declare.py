"""The declaration of an operator: one decorated function of jax arrays says everything about a torch operator.

    @op(promote=FLOAT, inplace=True)
    def exp(input: Array):
        return jnp.exp(input)

    @exp.vjp
    def _(grad, result):
        return grad * result

The function's signature is torch's signature. From the declaration derive the function, the Tensor method, the in-place
form, ``out=``, the page in the docs and the rows of the test matrix (``tensor/dispatch.py`` builds the callables).
CONTRIBUTING.md walks through adding one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike.engine.signature import ScalarArg, current_platform
from torchlike.ops import promotion

NONE, ARITH, FLOAT, COMPARE, ABS, LONG = "none", "arith", "float", "compare", "abs", "long"


class Array:
    """Annotation of a tensor operand; the body receives a jax array."""


class Scalar:
    """Annotation of a Python number that may change from call to call without a new compilation."""


class Index:
    """Annotation of an integer position that may change from call to call without a new compilation."""


class Dim:
    """Annotation of one dimension (an int, counted from either end)."""


class Dims:
    """Annotation of ``None``, a dimension or several."""


class Ints:
    """Annotation of an int or a sequence of ints, given to the body as the user wrote it (sequences as tuples)."""


class DType:
    """Annotation of a dtype; the body receives a ``np.dtype``."""


class Number:
    """Annotation of a static Python number."""


# Roles of a parameter, as the dispatcher distinguishes them.
ARRAY, ARRAY_OR_SCALAR, ARRAYS, SCALAR, STATIC = "array", "array_or_scalar", "arrays", "scalar", "static"

_ROLES = {
    "Array": ARRAY,
    "Array|Scalar": ARRAY_OR_SCALAR,
    "Scalar|Array": ARRAY_OR_SCALAR,
    "Sequence[Array]": ARRAYS,
    "Scalar": SCALAR,
    "Index": SCALAR,
}

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Param:
    """One parameter of an operator: torch's name for it, its role, default, and whether it is keyword-only."""

    name: str
    role: str
    annotation: str
    default: Any
    kw_only: bool
    optional: bool

    @property
    def is_operand(self) -> bool:
        """Whether the argument is an operand of the recorded operator (not part of its static arguments)."""
        return self.role is not STATIC


def _parse_param(p: inspect.Parameter) -> Param:
    text = p.annotation if isinstance(p.annotation, str) else inspect.formatannotation(p.annotation)
    text = re.sub(r"[\w.]*\.", "", text).replace(" ", "")
    optional = "None" in re.split(r"[|\[\]]", text) and not text.startswith(("Dims", "Ints"))
    core = text.replace("|None", "")
    role = _ROLES.get(core, STATIC)
    return Param(p.name, role, core, p.default, p.kind is p.KEYWORD_ONLY, optional)


@dataclass(eq=False)
class Op:
    """An operator: its pure function and all that torch says about it. Identity is equality."""

    body: Callable[..., Any]
    name: str
    namespace: str
    params: tuple[Param, ...]
    promote: str = NONE
    promote_args: tuple[str, ...] | None = None
    keep_scalars: bool = False
    opmath: bool = True
    function: bool = True
    method: bool = True
    inplace: bool = False
    out: bool | tuple[str, ...] = True
    aliases: tuple[str, ...] = ()
    returns: tuple[str, ...] | None = None
    node: str = ""
    autocast: str | None = None
    differentiable: bool = True
    strides: str = "contiguous"
    host: bool = False
    varargs: bool = False
    view: bool = False
    vjp_rule: Callable[..., Any] | None = None
    vjp_args: tuple[str, ...] = ()
    write_rule: Callable[..., Any] | None = None
    __doc__: str | None = None
    operands: tuple[Param, ...] = field(init=False)
    statics: tuple[Param, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.operands = tuple(p for p in self.params if p.is_operand)
        self.statics = tuple(p for p in self.params if not p.is_operand)
        self._promoted = frozenset(
            p.name for p in self.operands
            if (self.promote_args is None and p.role is not SCALAR) or p.name in (self.promote_args or ())
        )

    def __repr__(self) -> str:
        return f"<op {self.namespace}.{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The bare body, on arrays: how one body uses another."""
        return self.body(*args, **kwargs)

    def vjp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the operator's own gradient rule. Its parameter names say what the tape keeps."""
        self.vjp_rule = rule
        self.vjp_args = tuple(inspect.signature(rule).parameters)
        return rule

    def write(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator for views: ``rule(base, new, *args) -> base`` with the viewed elements replaced."""
        self.write_rule = rule
        return rule

    # -- lowering -------------------------------------------------------------------------------------------------

    def bind(self, static: tuple, args: Sequence[Any]) -> tuple[dict[str, Any], np.dtype | None, bool]:
        """The body's keyword arguments from flat operands, promoted; the result dtype to round to; whether to round.

        ``static`` is ``(counts, values)``: the lengths of the tensor lists, and the static arguments in order.
        """
        counts, values = static
        taken, lists = 0, iter(counts)
        bound: dict[str, Any] = {}
        for p in self.operands:
            if p.role is ARRAYS:
                n = next(lists)
                bound[p.name] = None if n < 0 else tuple(args[taken:taken + n])
                taken += max(n, 0)
            else:
                bound[p.name] = args[taken]
                taken += 1
        round_to = None
        if self.promote is not NONE:
            round_to = self._promote_operands(bound)
        for name, value in bound.items():
            if isinstance(value, ScalarArg):
                bound[name] = value.value
            elif isinstance(value, tuple):
                bound[name] = tuple(v.value if isinstance(v, ScalarArg) else v for v in value)
        for p, value in zip(self.statics, values, strict=True):
            bound[p.name] = value
        return bound, round_to, round_to is not None

    def _promote_operands(self, bound: dict[str, Any]) -> np.dtype | None:
        """Cast promoted operands in ``bound`` to the common dtype; returns the dtype to round results to, if any."""
        leaves = []
        for name in self._promoted:
            value = bound[name]
            leaves.extend(value if isinstance(value, tuple) else (value,))
        numbers = [x for x in leaves if isinstance(x, ScalarArg)]
        arrays = [x for x in leaves if x is not None and not isinstance(x, ScalarArg)]
        common = promotion.result_dtype(arrays, (n.kind for n in numbers))
        if self.promote is FLOAT and promotion.kind(common) < 2:
            common = promotion.default_dtype()
        elif self.promote is LONG and promotion.kind(common) < 2:
            common = promotion.INT64
        round_to = None
        compute = common
        if self.opmath and promotion.is_low_precision(common):
            compute = promotion.FLOAT32
            round_to = None if self.promote is COMPARE else common

        def cast(x: Any) -> Any:
            if isinstance(x, ScalarArg):
                return jnp.asarray(x.value).astype(compute) if x.traced else np.asarray(x.value).astype(compute)
            return x if x is None or x.dtype == compute else x.astype(compute)

        for p in self.operands:
            value = bound[p.name]
            if p.name in self._promoted:
                bound[p.name] = tuple(map(cast, value)) if isinstance(value, tuple) else cast(value)
            elif p.role is SCALAR and isinstance(value, ScalarArg) and value.traced and not self.keep_scalars:
                bound[p.name] = value.value.astype(compute)
        return round_to

    def lower(self, static: tuple, args: Sequence[Any]) -> tuple[Any, ...]:
        """Apply to flat operands (arrays, ``ScalarArg`` or ``None``); always a tuple of arrays."""
        bound, round_to, rounds = self.bind(static, args)
        try:
            results = self.body(**bound)
        except (TypeError, ValueError):
            if self.strides == "elementwise":
                _check_broadcast([x.shape for n, x in bound.items() if n in self._promoted and hasattr(x, "shape")])
            raise
        results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
        if rounds:
            results = tuple(_round(r, round_to) for r in results)
        return results

    def lower_vjp(self, static: tuple, args: Sequence[Any], results: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """The declared gradient rule on flat operands: a gradient (or None) for each flat operand."""
        assert self.vjp_rule is not None
        bound, _, rounds = self.bind(static, args)
        if rounds:
            results = [r if r is None else _widen(r) for r in results]
            grads = [_widen(g) for g in grads]
        given = {**bound, "grad": grads[0], "grads": tuple(grads), "result": results[0], "results": tuple(results)}
        answer = self.vjp_rule(**{name: given[name] for name in self.vjp_args})
        differentiable = [p for p in self.operands if p.role is not SCALAR]
        if not (isinstance(answer, (tuple, list)) and (len(differentiable) > 1 or differentiable[0].role is ARRAYS)) or (len(differentiable) == 1 and not isinstance(answer[0], (tuple, list))):
            answer = (answer,)
        flat: list[Any] = []
        answers = iter(answer)
        for p in self.operands:
            value = bound[p.name]
            if p.role is SCALAR:
                flat.append(None)
            elif p.role is ARRAYS:
                got = next(answers, None)
                flat.extend(got if got is not None else [None] * len(value or ()))
            else:
                flat.append(next(answers, None))
        return [None if g is None else _like(g, a) for g, a in zip(flat, args, strict=True)]


def _check_broadcast(shapes: Sequence[tuple[int, ...]]) -> None:
    """torch's error for operands whose shapes do not broadcast."""
    have = shapes[0]
    for shape in shapes[1:]:
        n = max(len(have), len(shape))
        a, b = (1,) * (n - len(have)) + tuple(have), (1,) * (n - len(shape)) + tuple(shape)
        for dim in range(n - 1, -1, -1):
            if a[dim] != b[dim] and a[dim] != 1 and b[dim] != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at non-singleton dimension {dim}"
                )
        have = tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def _round(x: Any, dtype: np.dtype) -> Any:
    return x.astype(dtype) if x.dtype == np.float32 else x


def _widen(x: Any) -> Any:
    return x.astype(np.float32) if promotion.is_low_precision(x.dtype) else x


def _like(grad: Any, operand: Any) -> Any:
    """``grad`` summed over the dimensions that broadcasting added, in the operand's dtype."""
    if operand is None or isinstance(operand, ScalarArg):
        return None
    if grad.shape != operand.shape:
        lead = grad.ndim - operand.ndim
        if lead < 0:
            grad = jnp.broadcast_to(grad, operand.shape)
        else:
            axes = tuple(range(lead)) + tuple(
                lead + i for i, n in enumerate(operand.shape) if n == 1 and grad.shape[lead + i] != 1
            )
            grad = jnp.sum(grad, axis=axes).reshape(operand.shape) if axes else jnp.broadcast_to(grad, operand.shape)
    if promotion.is_complex(np.dtype(grad.dtype)) and not promotion.is_complex(np.dtype(operand.dtype)):
        grad = grad.real
    return grad.astype(operand.dtype)


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_") if part)


def op(
    *,
    name: str | None = None,
    namespace: str = "torch",
    promote: str = NONE,
    node: str = "",
    strides: str | None = None,
    method: bool | None = None,
    **declared: Any,
) -> Callable[[Callable[..., Any]], Op]:
    """Declare an operator (see the module docstring and ``Op`` for what may be said)."""

    def declare(body: Callable[..., Any]) -> Op:
        torch_name = name or body.__name__
        params = tuple(_parse_param(p) for p in inspect.signature(body).parameters.values())
        return Op(
            body=body,
            name=torch_name,
            namespace=namespace,
            params=params,
            promote=promote,
            node=node or f"{_camel(torch_name)}Backward0",
            strides=strides or ("contiguous" if promote is NONE else "elementwise"),
            method=(namespace in ("torch", "Tensor")) if method is None else method,
            function=declared.pop("function", namespace != "Tensor"),
            __doc__=inspect.getdoc(body),
            **declared,
        )

    return declare


# -- what bodies share ----------------------------------------------------------------------------------------------


def platform() -> str:
    """The platform ("cpu", "gpu", "tpu") that the operator is being lowered for."""
    return current_platform()


def scalar_kind(x: Any) -> str:
    """The kind of a ``Scalar`` argument: "bool", "int", "float" or "complex", whether constant or traced."""
    if type(x) in (bool, int, float, complex):
        return type(x).__name__
    return {"b": "bool", "i": "int", "u": "int", "f": "float", "V": "float", "c": "complex"}[np.dtype(x.dtype).kind]


def canonical_dim(dim: int, ndim: int, *, scalar_ok: bool = True) -> int:
    """``dim`` counted from the front; ``IndexError`` as torch's when it is out of range.

    A 0-d tensor is treated as having one dimension when ``scalar_ok`` (torch's rule for most operators).
    """
    span = ndim
    if ndim == 0:
        if not scalar_ok:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        span = 1
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim + span if dim < 0 else dim


def canonical_dims(dim: int | Sequence[int] | None, ndim: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """Dimensions counted from the front; ``None`` (and ``()`` unless told otherwise) means all of them."""
    if dim is None or (empty_is_all and isinstance(dim, (tuple, list)) and len(dim) == 0):
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    canonical = tuple(canonical_dim(int(d), ndim) for d in dims)
    if len(set(canonical)) != len(canonical):
        repeated = next(d for d in canonical if canonical.count(d) > 1)
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return canonical if ndim else ()
