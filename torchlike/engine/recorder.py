"""Recording and flushing. ``record`` is the hot path of the whole library: one walk over the operands, one look-up.

Every thread records into its own trace; one lock guards all of them, so that a thread which needs another's pending
value can flush that trace.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from torchlike.engine import program as programs
from torchlike.engine.device import default_device, resolve_device
from torchlike.engine.signature import FLOAT_INPUT, INT_INPUT, META, Const, Signature, matmul_precision, rebuild_args, signature_of
from torchlike.engine.stats import counters, user_line
from torchlike.engine.trie import State
from torchlike.engine.values import Value, aval_of

MAX_TRACE = 4000  # operators in a trace; XLA's compile time grows faster than linearly beyond
MAX_STATES = 200_000  # states in the trie before it is dropped and learned anew

_new = object.__new__
_epochs = itertools.count(1)
_lock = threading.RLock()
_roots: dict[tuple[str, Any, str], State] = {}
_states = 0
_context: Any = None  # what changes the meaning of operators without being an argument (the default dtype)
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class Recorder:
    """A trace being recorded by one thread."""

    __slots__ = ("count", "device", "epoch", "floats", "inputs", "ints", "owned", "refs", "state")

    def __init__(self) -> None:
        self.restart("cpu")

    def restart(self, device: str) -> None:
        """Begin an empty trace on ``device``."""
        self.device = device
        self.state = _root(device)
        self.epoch = next(_epochs)
        self.count = 0
        self.refs: list[Any] = []  # weak references to the values by slot
        self.inputs: dict[int, Any] = {}  # arrays by slot
        self.owned: list[int] = []  # slots of inputs whose buffer only the engine knows
        self.floats: list[float] = []
        self.ints: list[int] = []


class _Local(threading.local):
    """Per-thread state: the recorder, and the tape's grad mode (kept here to make it one look-up)."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.grad = True
        self.inference = False
        self.host_views = False  # views of values that exist are taken by NumPy at once, not recorded


def _root(device: str) -> State:
    key = (device, _context, matmul_precision())
    root = _roots.get(key)
    if root is None:
        root = _roots[key] = State(None, (), None)
    return root


local = _Local()


def set_context(context: Any) -> None:
    """Operators recorded from now on mean something else for the same arguments: end the trace, use another trie."""
    global _context
    flush()
    with _lock:
        _context = context
        local.recorder.restart(local.recorder.device)


def record(op: Any, static: Any, operands: Sequence[Any], device: str | None = None) -> tuple[Signature, list[Value]]:
    """Record ``op``; operands are ``Value``, Python numbers or None.

    Returns the signature and the (pending) results. ``device`` is for operators without tensor operands. Raises at once
    what the operator's shape rule raises. Values of a JAX transformation in progress make the operator apply directly.
    """
    rec = local.recorder
    with _lock:
        epoch = rec.epoch
        key: list[Any] = [op, static]
        fresh = numbers = None
        for x in operands:
            if type(x) is Value:
                if x.epoch == epoch:
                    key.append(x.slot)
                else:
                    key.append(x.aval)
                    if fresh is None:
                        fresh = [x]
                    else:
                        fresh.append(x)
            elif x is None:
                key.append(None)
            else:
                kind = type(x)
                if (kind is float and x != 0.0) or (kind is int and _INT64_MIN <= x <= _INT64_MAX):
                    key.append(kind)
                    if numbers is None:
                        numbers = [x]
                    else:
                        numbers.append(x)
                else:
                    key.append(Const(kind.__name__, x))
        if fresh is not None or device is not None or rec.state.depth >= MAX_TRACE:
            direct = _enter(rec, key, op, static, operands, fresh or (), device)
            if direct is not None:
                return direct
        state = rec.state
        found = state.children.get(tuple(key))
        if found is None or (found.numbers is not None and numbers is not None and found.numbers != tuple(numbers)):
            found = _step(rec, state, tuple(key), found, numbers, operands)
        if numbers is not None and found.generic:
            for x in numbers:
                place: list[Any] = rec.floats if type(x) is float else rec.ints
                place.append(x)
        rec.state = found
        counters.recorded += 1
        epoch = rec.epoch
        slot = rec.count
        results = []
        refs = rec.refs
        for aval in found.outs:
            v = _new(Value)
            v.aval = aval
            v.epoch = epoch
            v.slot = slot
            v.recorder = rec
            refs.append(weakref.ref(v))
            results.append(v)
            slot += 1
        rec.count = slot
        return found.signature, results  # type: ignore[return-value]  # only the root has no signature


def _enter(rec: Recorder, key: list[Any], op: Any, static: Any, operands: Sequence[Any], fresh: Sequence[Value], device: str | None) -> Any:
    """Give slots to the operands that enter the trace here, and complete the key.

    Pending values of other traces are computed first; a trace that is long or on another device ends. When an operand
    belongs to a JAX transformation under way, the operator is applied directly and its results are returned.
    """
    for x in fresh:
        array = x.array
        if array is None:
            if x.aval.device != META:
                _materialize(x)
        elif isinstance(array, jax.core.Tracer):
            return _apply_directly(op, static, operands)
    wanted = fresh[0].aval.device if fresh else device
    if rec.state.depth >= MAX_TRACE or (wanted is not None and wanted != rec.device):
        _flush(rec)
        rec.restart(wanted or rec.device)
    here, epoch = rec.device, rec.epoch
    for i, x in enumerate(operands, start=2):
        if type(x) is not Value:
            continue
        if x.epoch == epoch:
            key[i] = x.slot
            continue
        aval = x.aval
        if aval.device != here:
            _forget_inputs(rec, rec.state, operands)
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {here} and {aval.device}! "
                f"(operator {op.name})"
            )
        array = x.array
        if array is None and here != META:  # flushed just now, as part of the trace that ended
            _materialize(x)
            array = x.array
        if type(array) is np.ndarray:
            if x.slot >= 0:
                # read a second time: worth a device buffer. The first time it goes straight into the program.
                with jax.enable_x64(True):
                    array = x.array = jax.device_put(array, resolve_device(aval.device))
        elif not x.shared:
            rec.owned.append(rec.count)
        key[i] = aval
        x.epoch = epoch
        x.slot = rec.count
        x.recorder = None
        rec.refs.append(weakref.ref(x))
        rec.inputs[rec.count] = array
        rec.count += 1
    return None


def _step(rec: Recorder, state: State, key: tuple[Any, ...], found: State | None, numbers: list[Any] | None,
          operands: Sequence[Any]) -> State:  # fmt: skip
    """A step not taken before: infer its results, add it to the trie.

    With ``found``, the same step was taken with other numbers: from now on they are inputs of the program.
    """
    global _states
    counters.misses += 1
    constants = tuple(numbers) if numbers is not None else ()
    twin = found
    generic = found is not None
    if found is None and state.twin is not None:
        twin = state.twin.children.get(key)
        if twin is not None and numbers is not None:
            generic = twin.generic or twin.numbers != constants
    try:
        descriptors = _descriptors(key, operands, generic)
        signature = signature_of(key[0], key[1], descriptors, rec.device, (_context, matmul_precision()))
    except BaseException:
        _forget_inputs(rec, state, operands)
        raise
    child = State(state, key, signature)
    child.line = user_line()
    child.twin = twin
    if numbers is not None and generic:
        child.generic, child.numbers = True, None
    else:
        child.numbers = constants
    if found is not None:
        child.reason = f"numbers {found.numbers} became {constants}, and are inputs from now on"
    elif state.children:
        known = next(iter(state.children.values()))
        child.reason = f"before it was {_describe(known.key)}, now {_describe(key)}"
    child.count = rec.count + len(child.outs)
    state.children[key] = child
    _states += 1
    if _states > MAX_STATES:
        _roots.clear()
        _states = 0
    return child


def _descriptors(key: tuple[Any, ...], operands: Sequence[Any], generic: bool) -> tuple[Any, ...]:
    described: list[Any] = []
    for ref, x in zip(key[2:], operands, strict=True):
        if type(x) is Value:
            described.append(x.aval)
        elif x is None or isinstance(ref, Const):
            described.append(ref)
        elif generic:
            described.append(FLOAT_INPUT if ref is float else INT_INPUT)
        else:
            described.append(Const(type(x).__name__, x))
    return tuple(described)


def _describe(key: tuple[Any, ...]) -> str:
    operands = ", ".join(x.__name__ if isinstance(x, type) else str(x) for x in key[2:])
    return f"{key[0].name}({operands}) {key[1]}"


def _forget_inputs(rec: Recorder, state: State, operands: Sequence[Any]) -> None:
    """Take back the slots of operands that were admitted for a step which failed."""
    first = state.count if state.parent is not None else 0
    for x in operands:
        if type(x) is Value and x.epoch == rec.epoch and x.slot >= first:
            x.epoch = 0
            rec.inputs.pop(x.slot, None)
            if x.slot in rec.owned:
                rec.owned.remove(x.slot)
    del rec.refs[first:]
    rec.count = first


def _apply_directly(op: Any, static: Any, operands: Sequence[Any]) -> tuple[Signature, list[Value]]:
    """Apply the operator to arrays of which some are tracers, under the ambient JAX transformation."""
    arrays, described = [], []
    device = default_device()
    for x in operands:
        if type(x) is Value:
            if x.array is None:
                _materialize(x)
            arrays.append(x.array)
            described.append(x.aval)
            device = x.aval.device
        else:
            described.append(None if x is None else Const(type(x).__name__, x))
    with jax.enable_x64(True):
        signature = signature_of(op, static, tuple(described), device, (_context, matmul_precision()))
        results = op.lower(static, rebuild_args(described, arrays))
    return signature, [Value(aval_of(tuple(r.shape), np.dtype(r.dtype), device), r) for r in results]


# -- flushing ---------------------------------------------------------------------------------------------------------


def flush() -> None:
    """End this thread's trace: compute everything that somebody still holds."""
    with _lock:
        _flush(local.recorder)


def array_of(value: Value) -> Any:
    """The array of a value (jax or NumPy), computing it if it is pending."""
    if value.array is None:
        with _lock:
            _materialize(value)
    return value.array


def release(value: Value) -> Any:
    """The array of a value, to be held outside the engine: it is not donated from now on."""
    value.shared = True
    with _lock:
        rec = local.recorder
        if value.epoch == rec.epoch and value.slot in rec.owned:
            rec.owned.remove(value.slot)
        return array_of(value)


def _materialize(value: Value) -> None:
    if value.aval.device == META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if value.array is None and value.recorder is not None and value.error is None:
        _flush(value.recorder)
    if value.array is None:
        if value.error is not None:
            raise RuntimeError(str(value.error)) from value.error
        raise RuntimeError("internal error: a pending value belongs to no trace")


def _flush(rec: Recorder) -> None:
    state = rec.state
    if state.parent is None:
        if rec.inputs:
            rec.restart(rec.device)
        return
    held = [r() for r in rec.refs]
    if rec.device == META:
        rec.restart(META)
        return
    live = tuple([i for i, v in enumerate(held) if v is not None and v.array is None])
    if live:
        # An input whose value nobody holds: its buffer can become a result's.
        donatable = tuple([i for i in rec.owned if held[i] is None])
        key = (live, donatable)
        program = state.programs.get(key)
        if program is None:
            # An interrupt here leaves the trace as it is: the next look at a value compiles it again.
            try:
                program = programs.build(state, live, donatable, rec.device)
            except Exception as error:
                _fail(rec, held, live, state, error)
                raise
            state.programs[key] = program
        _run(rec, program, held, live, state)
    counters.flushes += 1
    rec.restart(rec.device)


def _run(rec: Recorder, program: programs.Program, held: list[Any], live: tuple[int, ...], state: State) -> None:
    inputs = rec.inputs
    args = [inputs[i] for i in program.inputs]
    use_floats, use_ints = program.numbers
    if use_floats:
        args.append(np.array(rec.floats, np.float64))
    if use_ints:
        args.append(np.array(rec.ints, np.int64))
    try:
        with jax.enable_x64(True):
            results = program.call(*args)
    except Exception as error:
        _fail(rec, held, live, state, error)
        raise
    program.entry["runs"] += 1
    for i, result in zip(live, results, strict=True):
        v = held[i]
        v.array = result
        v.recorder = None
    for i in program.shared_outputs:
        held[live[i]].shared = True
    for i in program.shared_inputs:
        if held[i] is not None:
            held[i].shared = True


def _fail(rec: Recorder, held: list[Any], live: tuple[int, ...], state: State, error: Exception) -> None:
    """A trace that could not be computed: each of its values remembers why, and the recorder starts afresh."""
    names = {}
    slot = 0
    for s in state.path():
        assert s.signature is not None
        slot = s.count - len(s.outs)
        for i in range(len(s.outs)):
            names[slot + i] = f"{s.signature.op.name} at {s.line}"
    for i in live:
        v = held[i]
        v.error = RuntimeError(f"could not compute the result of {names.get(i, 'an operator')}: {error}")
        v.recorder = None
    with contextlib.suppress(Exception):
        rec.restart(rec.device)
