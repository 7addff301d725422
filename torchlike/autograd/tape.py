"""The tape: variables, graph nodes, and ``apply``, which records an operator and puts it on the tape.

A node keeps its rule, the values that its backward reads, and edges to the nodes of its operands. Running a node records
one more operator (``rules.VJP``), which is differentiable like any other; so ``create_graph`` needs nothing of its own.
"""

from __future__ import annotations

import functools
import itertools
import traceback
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from torchlike.autograd.rules import VJP, Rule
from torchlike.engine import Value, local, record
from torchlike.engine.signature import Signature

_sequence = itertools.count(1)
_new = object.__new__
LAST = 1 << 62  # sequence number of nodes that run as soon as they can

_anomaly = False


def set_anomaly(enabled: bool) -> None:
    """Whether new nodes remember the lines that made them (``torch.autograd.set_detect_anomaly``)."""
    global _anomaly
    _anomaly = enabled


def anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return _anomaly


class Node:
    """A step of the graph: what ``Tensor.grad_fn`` is. Subclasses bear torch's names."""

    __slots__ = (
        "__dict__",
        "__weakref__",
        "edges",
        "own",
        "post_hooks",
        "pre_hooks",
        "retained",
        "rule",
        "saved",
        "seq",
        "tensor_hooks",
        "trace",
        "versions",
    )  # fmt: skip

    def __init__(self) -> None:
        self.seq = next(_sequence)
        self.saved: Any = ()
        self.edges: tuple[Any, ...] = ()
        self.versions: Any = None
        self.own: Value | None = None  # the operand that this very operator, done in place, replaced
        self.tensor_hooks: dict[int, OrderedDict[int, Callable[..., Any]]] | None = None
        self.retained: dict[int, Any] | None = None
        self.pre_hooks: OrderedDict[int, Callable[..., Any]] | None = None
        self.post_hooks: OrderedDict[int, Callable[..., Any]] | None = None
        self.trace: list[str] | None = traceback.format_stack()[:-2] if _anomaly else None

    def name(self) -> str:
        """The node's name, for example ``AddBackward0``; nodes that torch writes by hand bear its C++ namespace."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in ("CopySlices", "AccumulateGrad") else name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the operands, with the number of the result that each operand was."""
        return tuple((None, 0) if e is None else e for e in self.edges)

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary that users may write to."""
        return self.__dict__.setdefault("_metadata", {})

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(grad_inputs, grad_outputs)`` runs after the node; what it returns replaces ``grad_inputs``."""
        if self.post_hooks is None:
            self.post_hooks = OrderedDict()
        return RemovableHandle(self.post_hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(grad_outputs)`` runs before the node; what it returns replaces ``grad_outputs``."""
        if self.pre_hooks is None:
            self.pre_hooks = OrderedDict()
        return RemovableHandle(self.pre_hooks, hook)

    # What the backward pass calls:

    def outputs(self) -> int:
        """How many results the operator had."""
        return len(self.rule.produces)

    def run(self, grads: Sequence[Any], create: bool, retain: bool) -> Sequence[Any]:
        """The gradients for ``edges``, from those of the results (values, or variables when ``create``)."""
        saved = self._unpack()
        if not retain:
            self.release()
        if not create:
            return record(VJP, self.rule, (*saved, *grads))[1]
        return apply(VJP, self.rule, (*self._as_variables(saved), *grads))

    def _unpack(self) -> Sequence[Any]:
        saved = self.saved
        if saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
                "you need to access saved tensors after calling backward."
            )
        for v in saved:
            if type(v) is Value and v.stale and v is not self.own:
                raise _modified(v, *v.stale)
        if self.versions is not None:
            for v, storage, version in self.versions:
                if storage.count != version and v is not self.own:
                    raise _modified(v, storage.count, version)
        return saved

    def _as_variables(self, saved: Sequence[Any]) -> list[Any]:
        """Saved values with the place in the graph that they had."""
        variables = []
        edge_of = dict(zip(self.rule.wanted, self.edges, strict=True))
        for position, v in zip(self.rule.saved, saved, strict=True):
            if type(v) is not Value:
                variables.append(v)
                continue
            if position < 0:
                variables.append(wrap(v, self, ~position) if self.rule.produces[~position] else wrap(v))
                continue
            edge = edge_of.get(position)
            if edge is None:
                variables.append(wrap(v))
            elif isinstance(edge[0], AccumulateGrad):
                variables.append(edge[0].variable)
            else:
                variables.append(wrap(v, *edge))
        return variables

    def release(self) -> None:
        """Let go of the saved values."""
        if self.saved:
            self.saved = None
            self.versions = None


def _modified(value: Value, version: int, expected: int) -> RuntimeError:
    shape = ", ".join(map(str, value.aval.shape))
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{value.aval.dtype.name} tensor of shape [{shape}]] is at version {version}; expected version {expected} instead. Hint: "
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True)."
    )


@functools.cache
def node_type(name: str, base: type = Node) -> type:
    """The class of nodes with a name."""
    return type(name, (base,), {"__slots__": ()})


class Leaf(Node):
    """Marks a variable that requires grad and is no operator's result (its ``AccumulateGrad`` is made when needed)."""

    __slots__ = ()


LEAF = Leaf()


class AccumulateGrad(Node):
    """The end of the graph: adds what arrives to the leaf's ``grad``."""

    __slots__ = ("variable",)

    def __init__(self, variable: Variable) -> None:
        super().__init__()
        self.seq = LAST
        self.variable = variable

    def outputs(self) -> int:
        return 1


class Variable:
    """What the tape needs of a tensor: a value, and its place in the graph.

    ``_node`` is None (no gradient), ``LEAF``, or the node whose result ``_nr`` it is. ``_storage`` is None until a view or
    an alias of the tensor exists; when the storage has moved on, ``_refresh`` reads the value anew.
    """

    _value: Value
    _node: Node | None = None
    _nr: int = 0
    _storage: Any = None
    _seen: int = 0
    _accumulator: Any = None
    _hooks: Any = None
    _accumulate_hooks: Any = None
    _grad: Any = None
    _inference: bool = False

    def _refresh(self) -> None:
        """Bring ``_value`` and ``_node`` up to date with the storage."""
        raise NotImplementedError


def wrap(value: Value, node: Node | None = None, nr: int = 0) -> Any:
    """A variable of the tensor layer's class."""
    t = _new(_class)
    t._value = value
    if node is not None:
        t._node = node
        t._nr = nr
    return t


_class: Any = Variable


def set_class(cls: type) -> None:
    """The tensor layer says what class results have."""
    global _class
    _class = cls


def accumulator(variable: Variable) -> AccumulateGrad:
    """The leaf's ``AccumulateGrad``; there is one as long as some graph refers to it."""
    node = variable._accumulator() if variable._accumulator is not None else None
    if node is None:
        node = AccumulateGrad(variable)
        variable._accumulator = weakref.ref(node)
    return node


def edge_of(variable: Variable) -> tuple[Node, int] | None:
    """Where the gradient of ``variable`` goes: a node, and which of its results the variable is."""
    node = variable._node
    if node is None:
        return None
    return (accumulator(variable), 0) if node is LEAF else (node, variable._nr)


def current(variable: Variable) -> Value:
    """The variable's value, up to date."""
    storage = variable._storage
    if storage is not None and storage.version != variable._seen:
        variable._refresh()
    return variable._value


def apply(op: Any, static: Any, args: Sequence[Any], device: str | None = None) -> list[Any]:
    """Record an operator on variables, numbers and None; its results as variables, on the tape where it must be."""
    operands = []
    mask = 0
    grad = local.grad
    bit = 1
    for a in args:
        if isinstance(a, Variable):
            storage = a._storage
            if storage is not None and storage.version != a._seen:
                a._refresh()
            operands.append(a._value)
            if grad and a._node is not None:
                mask |= bit
        else:
            operands.append(a)
        bit += bit
    signature, values = record(op, static, operands, device)
    cls = _class
    if mask and op.differentiable:
        rule = signature.rules.get(mask)
        if rule is None:
            rule = make_rule(signature, mask)
        if rule.node_type is not None:
            return attach(rule, args, operands, values)
    results = []
    for v in values:
        t = _new(cls)
        t._value = v
        results.append(t)
    if not grad and local.inference:
        for t in results:
            t._inference = True
    return results


def make_rule(signature: Signature, mask: int) -> Rule:
    """The rule for the operands of ``mask``, worked out once a signature."""
    wanted = tuple(i for i in range(len(signature.descriptors)) if mask >> i & 1)
    kinds = {a.dtype.kind for a in signature.outs}
    if not kinds & set("fcV"):
        rule = object.__new__(Rule)
        rule.node_type = None
    else:
        name = getattr(signature.op, "node", "") or f"{signature.op.name}Backward"
        name = name(signature.static) if callable(name) else name
        rule = Rule(signature, wanted, node_type(name))
    signature.rules[mask] = rule
    return rule


def attach(rule: Rule, args: Sequence[Any], operands: Sequence[Any], values: Sequence[Value]) -> list[Any]:
    """Results as variables whose node is a new one with ``rule``."""
    node = rule.node_type()
    node.rule = rule
    saved = []
    for i in rule.saved:
        if i < 0:
            saved.append(values[~i])
            continue
        saved.append(operands[i])
        a = args[i]
        if isinstance(a, Variable) and a._storage is not None:
            if node.versions is None:
                node.versions = []
            node.versions.append((a._value, a._storage, a._storage.count))
    node.saved = saved
    edges = []
    for i in rule.wanted:
        a = args[i]
        n = a._node
        edges.append((accumulator(a), 0) if n is LEAF else (n, a._nr))
    node.edges = edges
    results = []
    cls = _class
    for i, v in enumerate(values):
        t = _new(cls)
        t._value = v
        if rule.produces[i]:
            t._node = node
            t._nr = i
        results.append(t)
    return results


class RemovableHandle:
    """Takes a hook out again: ``handle.remove()``, or at the end of ``with handle:``."""

    _ids = itertools.count()

    def __init__(self, hooks: Any, hook: Any = None) -> None:
        self.id = next(RemovableHandle._ids)
        self._hooks = weakref.ref(hooks) if not isinstance(hooks, dict) or isinstance(hooks, OrderedDict) else None
        self._strong = hooks if self._hooks is None else None
        if hook is not None:
            hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook out; twice does nothing."""
        hooks = self._strong if self._hooks is None else self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()
