"""The backward pass: walks the graph from the outputs and hands every node the gradients of its results."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Sequence
from typing import Any

from torchlike.autograd import tape
from torchlike.autograd.tape import AccumulateGrad, Node, Variable, wrap
from torchlike.engine import Value, local, record

Edge = tuple[Node, int]


class _Add:
    """Sum of two gradients that meet at a node."""

    name = "add_gradients"
    node = "AddBackward0"
    differentiable = True
    vjp_rule = None

    def lower(self, static: Any, args: Sequence[Any]) -> tuple[Any, ...]:
        a, b = args
        return (a + b,)


ADD = _Add()


def run_backward(
    roots: Sequence[Edge],
    grads: Sequence[Any],
    *,
    retain: bool,
    create: bool,
    targets: Sequence[Edge] | None = None,
    accumulate: bool = True,
) -> list[Any]:
    """Propagate ``grads`` (variables) from ``roots``.

    With ``targets``, only the nodes on a way to them run, and the gradients that arrive there are returned (None where
    none does) when not ``accumulate``; with ``accumulate``, they are added to the leaves among them.
    """
    dependencies = _dependencies(roots)
    needed = None if targets is None else _needed(dependencies, targets, roots)
    captured: dict[Edge, Any] = {}
    wanted = {} if targets is None or accumulate else {t: None for t in targets}
    wanted_nodes = {n for n, _ in wanted}
    buffers: dict[Node, list[Any]] = {}
    ready: list[tuple[int, int, Node]] = []
    ticket = 0

    def arrive(edge: Edge, grad: Any) -> None:
        node, nr = edge
        buffer = buffers.get(node)
        if buffer is None:
            buffer = buffers[node] = [None] * node.outputs()
        held = buffer[nr]
        if held is None:
            buffer[nr] = grad
        elif create:
            buffer[nr] = tape.apply(ADD, (), (held, grad))[0]
        else:
            buffer[nr] = record(ADD, (), (held, grad))[1][0]

    for edge, grad in zip(roots, grads, strict=True):
        arrive(edge, grad if create else tape.current(grad))
    for node in buffers:
        if not dependencies.get(node):
            heapq.heappush(ready, (-node.seq, ticket, node))
            ticket += 1
    before = local.grad
    local.grad = create
    anomaly = tape.anomaly_enabled()
    try:
        while ready:
            _, _, node = heapq.heappop(ready)
            buffer = buffers.pop(node, None)
            if buffer is None:
                buffer = [None] * node.outputs()
            if node.tensor_hooks is not None or node.retained is not None or type(node) is AccumulateGrad:
                _tensor_hooks(node, buffer, create)
            if node in wanted_nodes:
                for nr, grad in enumerate(buffer):
                    if (node, nr) in wanted:
                        captured[node, nr] = grad
            if needed is not None and node not in needed:
                continue
            if type(node) is AccumulateGrad:
                if accumulate and buffer[0] is not None:
                    _accumulate(node, buffer[0], create)
                continue
            if wanted and not any(e is not None and needed is not None and e[0] in needed for e in node.edges):
                continue
            if not any(g is not None for g in buffer):
                answers: Sequence[Any] = [None] * len(node.edges)
            elif node.pre_hooks or node.post_hooks or node.trace is not None or anomaly:
                answers = _run(node, buffer, create, retain)
            else:
                answers = node.run(buffer, create, retain)
            for edge, grad in zip(node.edges, answers, strict=True):
                if edge is None:
                    continue
                target = edge[0]
                if needed is not None and target not in needed:
                    continue
                if grad is not None:
                    arrive(edge, grad)
                left = dependencies[target] - 1
                dependencies[target] = left
                if left == 0:
                    heapq.heappush(ready, (-target.seq, ticket, target))
                    ticket += 1
    finally:
        local.grad = before
    return [captured.get(t) for t in targets or ()]


def _dependencies(roots: Sequence[Edge]) -> dict[Node, int]:
    """How many edges lead to each node that the roots reach."""
    count: dict[Node, int] = {}
    seen = {n for n, _ in roots}
    stack = list(seen)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                node = edge[0]
                if node in seen:
                    count[node] = count.get(node, 0) + 1
                else:
                    seen.add(node)
                    count[node] = count.get(node, 0) + 1
                    stack.append(node)
    return count


def _needed(dependencies: dict[Node, int], targets: Sequence[Edge], roots: Sequence[Edge]) -> set[Node]:
    """The nodes on a way from the roots to a target; counts in ``dependencies`` are reduced to edges between those."""
    goal = {n for n, _ in targets}
    nodes = set(dependencies) | {n for n, _ in roots}
    needed = {n for n in nodes if n in goal}
    # A node is made after the nodes of its operands, so that ascending order visits operands first.
    for node in sorted(nodes, key=lambda n: n.seq):
        if node not in needed and any(e is not None and e[0] in needed for e in node.edges):
            needed.add(node)
    dependencies.clear()
    for node in needed:
        for edge in node.edges:
            if edge is not None and edge[0] in needed:
                dependencies[edge[0]] = dependencies.get(edge[0], 0) + 1
    return needed


def _as_variable(grad: Any) -> Any:
    return wrap(grad) if type(grad) is Value else grad


def _as_grad(answer: Any, create: bool) -> Any:
    if answer is None or create or not isinstance(answer, Variable):
        return answer
    return tape.current(answer)


def _tensor_hooks(node: Node, buffer: list[Any], create: bool) -> None:
    """Run the hooks of the tensors that are this node's results, then fill in retained ``grad``."""
    if type(node) is AccumulateGrad:
        hooks_by_result = {0: node.variable._hooks} if node.variable._hooks else {}
    else:
        hooks_by_result = node.tensor_hooks or {}
    for nr, hooks in hooks_by_result.items():
        for hook in list(hooks.values()):
            if buffer[nr] is None:
                continue
            answer = hook(_as_variable(buffer[nr]))
            if answer is not None:
                if not isinstance(answer, Variable):
                    raise TypeError(f"hook returned {type(answer).__name__}, it must return None or a Tensor")
                buffer[nr] = _as_grad(answer, create)
    for nr, reference in (node.retained or {}).items():
        variable = reference()
        if variable is not None and buffer[nr] is not None:
            held = variable._grad
            grad = _as_variable(buffer[nr])
            variable._grad = grad if held is None else tape.apply(ADD, (), (held, grad))[0]


def _run(node: Node, buffer: list[Any], create: bool, retain: bool) -> Sequence[Any]:
    if node.pre_hooks:
        given = tuple(map(_as_variable, buffer))
        for hook in list(node.pre_hooks.values()):
            answer = hook(given)
            if answer is not None:
                given = tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
        buffer = [_as_grad(g, create) for g in given]
    try:
        answers = node.run(buffer, create, retain)
    except Exception:
        if node.trace is not None:
            _tell_forward_line(node)
        raise
    if tape.anomaly_enabled():
        _check_nan(node, answers)
    if node.post_hooks:
        given = tuple(map(_as_variable, answers))
        outer = tuple(map(_as_variable, buffer))
        for hook in list(node.post_hooks.values()):
            answer = hook(given, outer)
            if answer is not None:
                given = tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)
        answers = [_as_grad(g, create) for g in given]
    return answers


def _accumulate(node: AccumulateGrad, grad: Any, create: bool) -> None:
    variable = node.variable
    held = variable._grad
    if held is None:
        if type(grad) is Value:
            if grad.stale is None:
                grad.stale = ()  # the same value may be a gradient elsewhere; changing .grad in place harms nobody
            grad = wrap(grad)
        elif not create:
            grad = wrap(tape.current(grad))
        variable._grad = grad
    elif create:
        variable._grad = tape.apply(ADD, (), (held, grad))[0]
    else:
        held._assign(record(ADD, (), (tape.current(held), grad))[1][0])
    if variable._accumulate_hooks:
        for hook in list(variable._accumulate_hooks.values()):
            hook(variable)
    if node.post_hooks:
        for hook in list(node.post_hooks.values()):
            hook((), (_as_variable(grad),))


def _check_nan(node: Node, answers: Sequence[Any]) -> None:
    import numpy as np

    from torchlike.engine import array_of

    for i, a in enumerate(answers):
        value = tape.current(a) if isinstance(a, Variable) else a
        if value is None or value.aval.dtype.kind not in "fcV":
            continue
        if np.isnan(np.asarray(array_of(value)).astype(complex if value.aval.dtype.kind == "c" else np.float64)).any():
            _tell_forward_line(node)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def _tell_forward_line(node: Node) -> None:
    lines = "".join(node.trace) if node.trace else "(no forward lines: anomaly mode was off during the forward)"
    print(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{lines}", file=sys.stderr)
