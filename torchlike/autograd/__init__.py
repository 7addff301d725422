"""The vjp tape and ``torch.autograd``: graph nodes, ``backward``, ``grad``, ``Function``, hooks, grad modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike.autograd import tape
from torchlike.autograd.backward import run_backward
from torchlike.autograd.function import Function, FunctionCtx, once_differentiable
from torchlike.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from torchlike.autograd.tape import Variable as _Variable
from torchlike.autograd.tape import edge_of

__all__ = [
    "Function", "FunctionCtx", "backward", "detect_anomaly", "enable_grad", "grad", "inference_mode", "is_grad_enabled",
    "is_inference_mode_enabled", "no_grad", "once_differentiable", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip


class set_detect_anomaly:
    """Anomaly mode: nodes remember their forward lines; NaN gradients raise (when ``check_nan``) and name those lines."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = tape.anomaly_enabled()
        tape.set_anomaly(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        tape.set_anomaly(self._before)


class detect_anomaly(set_detect_anomaly):
    """``with detect_anomaly():`` turns anomaly mode on for a block."""

    def __init__(self, check_nan: bool = True) -> None:
        self._before = tape.anomaly_enabled()

    def __enter__(self) -> None:
        self._before = tape.anomaly_enabled()
        tape.set_anomaly(True)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return tape.anomaly_enabled()


def _sequence(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else () if x is None else (x,)


def _roots(outputs: Sequence[Any], grads: Sequence[Any], create: bool, batched: bool = False) -> tuple[list[Any], list[Any]]:
    """Edges and start gradients; torch's errors for outputs that cannot be differentiated."""
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    edges, starts = [], []
    for i, (out, g) in enumerate(zip(outputs, grads, strict=True)):
        value = tape.current(out)
        if out._node is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if g is None:
            if value.aval.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if value.aval.dtype.kind == "c":
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
            g = out._ones_like()
        else:
            if not isinstance(g, _Variable):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
            shape = tape.current(g).aval.shape
            if shape != value.aval.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of torch.Size({list(shape)}) and output[{i}] has a "
                    f"shape of torch.Size({list(value.aval.shape)})."
                )
            if (tape.current(g).aval.dtype.kind == "c") != (value.aval.dtype.kind == "c"):
                raise RuntimeError(
                    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                    f"dtype: grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {out.dtype}."
                )
        edges.append(edge_of(out))
        starts.append(g)
    return edges, starts


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``grad`` of the leaves (or of ``inputs``).

    ``grad_tensors``: the gradient of each tensor; None for scalars means one. The graph's saved values are freed unless
    ``retain_graph`` (its default is ``create_graph``).
    """
    outputs = _sequence(tensors)
    grads = _sequence(grad_tensors if grad_tensors is not None else grad_variables) or (None,) * len(outputs)
    if inputs is not None:
        inputs = _sequence(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    edges, starts = _roots(outputs, grads, create_graph)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(edges, starts, retain=retain, create=create_graph)
        return
    targets = _targets(inputs)
    leaves = [t for t in targets if isinstance(t[0], tape.AccumulateGrad)]
    if len(leaves) == len(targets):
        run_backward(edges, starts, retain=retain, create=create_graph, targets=targets)
        return
    results = run_backward(edges, starts, retain=retain, create=create_graph, targets=targets, accumulate=False)
    for x, g in zip(inputs, results, strict=True):
        if g is not None:
            g = g if isinstance(g, _Variable) else tape.wrap(g)
            x._grad = g if x._grad is None else x._grad + g


def _targets(inputs: Sequence[Any]) -> list[Any]:
    targets = []
    for x in inputs:
        if not isinstance(x, _Variable):
            raise TypeError(f"inputs can only be Tensors, but got {type(x).__name__}")
        tape.current(x)
        edge = edge_of(x)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        targets.append(edge)
    return targets


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, as a tuple.

    ``allow_unused``: inputs that the outputs do not depend on give None instead of an error; ``materialize_grads`` gives
    zeros. ``is_grads_batched``: ``grad_outputs`` have one more leading dimension, and so have the results.
    """
    if materialize_grads:
        if allow_unused is False:
            raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
        allow_unused = True
    outputs, inputs = _sequence(outputs), _sequence(inputs)
    if not inputs:
        raise ValueError("grad requires non-empty inputs.")
    grads = _sequence(grad_outputs) or (None,) * len(outputs)
    retain = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _grad_batched(outputs, inputs, grads, retain, create_graph, bool(allow_unused), materialize_grads)
    edges, starts = _roots(outputs, grads, create_graph)
    results = run_backward(edges, starts, retain=retain, create=create_graph, targets=_targets(inputs), accumulate=False)
    answers = []
    for i, (x, g) in enumerate(zip(inputs, results, strict=True)):
        if g is None:
            if not allow_unused:
                raise RuntimeError(
                    f"One of the differentiated Tensors (input {i}) appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                )
            g = x._zeros_like() if materialize_grads else None
        elif not isinstance(g, _Variable):
            g = tape.wrap(g)
        answers.append(g)
    return tuple(answers)


def _grad_batched(outputs: Any, inputs: Any, grads: Any, retain: bool, create: bool, unused: bool, zeros: bool) -> tuple[Any, ...]:
    """One backward pass for each entry of the batch, stacked."""
    size = next(g.shape[0] for g in grads if g is not None)
    rows = []
    for i in range(size):
        row = [None if g is None else g[i] for g in grads]
        last = i == size - 1
        kept = retain or not last
        rows.append(grad(outputs, inputs, row, kept, create, allow_unused=unused, materialize_grads=zeros))
    return tuple(None if column[0] is None else column[0]._stack(column) for column in zip(*rows, strict=True))
