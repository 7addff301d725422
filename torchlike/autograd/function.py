"""``torch.autograd.Function``: operators whose forward and backward the user writes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from torchlike.autograd.modes import no_grad
from torchlike.autograd.tape import LEAF, Node, Variable, apply, current, edge_of, node_type, wrap
from torchlike.engine import local


class FunctionCtx:
    """What ``forward`` leaves for ``backward``."""

    def __init__(self) -> None:
        self._to_save: tuple[Any, ...] = ()
        self._saved: Any = ()
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._materialize = True
        self._node: FunctionNode | None = None
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for ``backward``; their later modification in place is detected."""
        for t in tensors:
            if t is not None and not isinstance(t, Variable):
                raise TypeError(f"save_for_backward can only save variables, but argument is of type {type(t).__name__}")
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``; they are available as ``saved_tensors`` too."""
        for t in tensors:
            if t is not None and not isinstance(t, Variable):
                raise TypeError(f"save_for_forward can only save variables, but argument is of type {type(t).__name__}")
        if not self._to_save:
            self._to_save = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs ``forward`` modified in place."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which results have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` receives zeros (the default) or None for results without a gradient."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` kept."""
        if self._saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Specify retain_graph=True if you need to backward through the graph a second time."
            )
        tensors = []
        for kind, tensor, detail in self._saved:
            if kind == "out":
                tensors.append(wrap(tensor, self._node, detail))
                continue
            if tensor is not None and tensor._version != detail:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"[tensor of shape {list(tensor.shape)}] is at version {tensor._version}; expected version {detail} instead."
                )
            tensors.append(tensor)
        return tuple(tensors)

    saved_variables = saved_tensors


class FunctionNode(Node):
    """The node of a ``Function``: runs the user's ``backward``."""

    __slots__ = ("ctx", "function", "outs", "places", "total")

    def outputs(self) -> int:
        return len(self.outs)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``forward`` saved."""
        return self.ctx.saved_tensors

    def run(self, grads: Sequence[Any], create: bool, retain: bool) -> Sequence[Any]:
        """Call ``backward`` with tensors; one answer for each tensor argument of ``forward``."""
        ctx = self.ctx
        given = []
        for g, aval in zip(grads, self.outs, strict=True):
            if g is None and ctx._materialize and aval is not None:
                g = _zeros(aval)
            given.append(g if g is None or isinstance(g, Variable) else wrap(g))
        answers = self.function.backward(ctx, *given)
        if not isinstance(answers, tuple):
            answers = tuple(answers) if isinstance(answers, list) else (answers,)
        if (len(answers) > self.total and any(a is not None for a in answers[self.total:])) or len(answers) < self.total:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {self.total}, got {len(answers)})"
            )
        if not retain and ctx._saved:
            ctx._saved = None
        kept = []
        for place, edge in zip(self.places, self.edges, strict=True):
            a = answers[place]
            if a is not None and not isinstance(a, Variable):
                raise RuntimeError(
                    f"function {self.name()} returned a gradient of type {type(a).__name__} at position {place}, "
                    "expected a tensor or None"
                )
            kept.append(None if edge is None or a is None else a if create else current(a))
        return kept


class _Zeros:
    name = "zeros"
    differentiable = False
    node = ""

    def lower(self, static: Any, args: Sequence[Any]) -> tuple[Any, ...]:
        import jax.numpy as jnp

        return (jnp.zeros(static.shape, static.dtype),)


_ZEROS = _Zeros()


def _zeros(aval: Any) -> Any:
    return apply(_ZEROS, aval, (), aval.device)[0]


class _FunctionMeta(type):
    """Gives every Function a ``_backward_cls`` name for its nodes."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        cls._node_type = node_type(f"{name}Backward", FunctionNode)


class Function(metaclass=_FunctionMeta):
    """Subclass with static methods ``forward(ctx, *args)`` (or ``forward(*args)`` and ``setup_context``) and ``backward``.

    Use through ``apply``: ``MyFunction.apply(x, y)``.
    """

    _node_type: type

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; operators inside are not put on the tape."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save on ``ctx`` what ``backward`` needs, when ``forward`` has no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient (or None) for each argument of ``forward``."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Forward-mode rule; not used: forward mode differentiates through JAX."""
        raise NotImplementedError("forward-mode AD through autograd.Function.jvp is not implemented")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function on tensors and other arguments."""
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(a, Variable) and a.requires_grad for a in args)
        edges = [(i, edge_of(a)) for i, a in enumerate(args) if isinstance(a, Variable)]
        records = local.grad and any(e is not None for _, e in edges)
        with no_grad():
            if cls.setup_context is not Function.setup_context:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        single = not isinstance(output, tuple)
        outputs = [output] if single else list(output)
        node = None
        if records:
            node = cls._node_type()
            node.rule = None
            node.ctx, node.function = ctx, cls
            node.places, node.edges = tuple(i for i, _ in edges), tuple(e for _, e in edges)
            node.total = len(args)
            node.outs = tuple(current(o).aval if isinstance(o, Variable) else None for o in outputs)
            ctx._node = node
        tensors = {id(a): a for a in args if isinstance(a, Variable)}
        originals = list(outputs)
        for nr, o in enumerate(outputs):
            if not isinstance(o, Variable):
                continue
            dirty = any(o is d for d in ctx._dirty)
            if id(o) in tensors and not dirty:
                o = outputs[nr] = o.detach()
            if node is None:
                continue
            plain = any(originals[nr] is n for n in ctx._non_differentiable) or current(o).aval.dtype.kind not in "fcV"
            if plain:
                continue
            if dirty and o._node is LEAF and o.requires_grad:
                raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
            o._node, o._nr = node, nr
        if node is not None:
            places = {id(o): i for i, o in enumerate(originals) if isinstance(o, Variable) and id(o) not in tensors}
            ctx._saved = tuple(
                ("out", current(t), places[id(t)]) if t is not None and id(t) in places and t._node is node
                else ("in", t, None if t is None else t._version)
                for t in ctx._to_save
            )  # fmt: skip
        else:
            ctx._saved = tuple(("in", t, None if t is None else t._version) for t in ctx._to_save)
        ctx._to_save = ()
        return outputs[0] if single else tuple(outputs)


class _OnceNode(Node):
    """Stands where a once-differentiable gradient would be differentiated again."""

    __slots__ = ()

    def outputs(self) -> int:
        return 1

    def run(self, grads: Sequence[Any], create: bool, retain: bool) -> Sequence[Any]:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of ``backward`` methods whose gradient has no gradient: a second differentiation raises."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = function(ctx, *args)
        if not local.grad or not any(isinstance(a, Variable) and a.requires_grad for a in args):
            return outputs
        single = not isinstance(outputs, tuple)
        results = []
        for o in (outputs,) if single else outputs:
            if isinstance(o, Variable):
                o = o.detach()
                node = node_type("OnceDifferentiableBackward", _OnceNode)()
                node.rule = None
                node.edges = tuple(edge_of(a) for a in args if isinstance(a, Variable))
                o._node, o._nr = node, 0
            results.append(o)
        return results[0] if single else tuple(results)

    return wrapper
