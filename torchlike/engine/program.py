"""Programs: a trace, compiled. This is the tier that compiles the whole trace as one XLA program.

A tier is a function ``(state, live, donatable) -> Program``; ``recorder.flush`` asks ``build`` for one when the key
(state, live, donatable) is new, and keeps it in the state.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from torchlike.engine.device import resolve_device
from torchlike.engine.signature import FLOAT_INPUT, INT_INPUT, Const, platform_of
from torchlike.engine.stats import counters, log, user_line
from torchlike.engine.trie import State
from torchlike.engine.values import Aval


class Program:
    """A compiled trace: which inputs it takes, the executable, which results alias inputs or one another."""

    __slots__ = ("call", "entry", "inputs", "numbers", "shared_inputs", "shared_outputs")

    def __init__(self, call: Callable[..., Any], inputs: tuple[int, ...], numbers: tuple[bool, bool],
                 shared_inputs: frozenset[int], shared_outputs: frozenset[int], entry: dict[str, Any]) -> None:  # fmt: skip
        self.call, self.inputs, self.numbers = call, inputs, numbers
        self.shared_inputs, self.shared_outputs, self.entry = shared_inputs, shared_outputs, entry


class Step:
    """One operator of a trace, with its operands resolved to slots of the environment."""

    __slots__ = ("apply", "first", "operands", "outs")

    def __init__(self, apply: Any, operands: list[tuple[str, int]], first: int, outs: int) -> None:
        self.apply, self.operands, self.first, self.outs = apply, operands, first, outs


def layout(state: State) -> tuple[list[Step], dict[int, Aval], int, int]:
    """The steps of the trace, the avals of its inputs by slot, and how many float and int numbers it takes."""
    steps: list[Step] = []
    inputs: dict[int, Aval] = {}
    floats = ints = 0
    slot = 0
    for s in state.path():
        signature = s.signature
        assert signature is not None
        operands: list[tuple[str, int]] = []
        for ref, d in zip(s.key[2:], signature.descriptors, strict=True):
            if isinstance(d, Aval):
                if isinstance(ref, Aval):
                    inputs[slot] = ref
                    operands.append(("slot", slot))
                    slot += 1
                else:
                    operands.append(("slot", ref))
            elif d == FLOAT_INPUT and not isinstance(d, Const):
                operands.append(("float", floats))
                floats += 1
            elif d == INT_INPUT and not isinstance(d, Const):
                operands.append(("int", ints))
                ints += 1
        steps.append(Step(signature.apply, operands, slot, len(signature.outs)))
        slot += len(signature.outs)
    return steps, inputs, floats, ints


def _needed(steps: list[Step], live: tuple[int, ...]) -> tuple[list[Step], set[int], set[str]]:
    """The steps that the live slots depend on, the slots read, and which kinds of numbers are read."""
    wanted = set(live)
    kinds: set[str] = set()
    kept: list[Step] = []
    for step in reversed(steps):
        if any(step.first + i in wanted for i in range(step.outs)):
            kept.append(step)
            for kind, index in step.operands:
                if kind == "slot":
                    wanted.add(index)
                else:
                    kinds.add(kind)
    kept.reverse()
    return kept, wanted, kinds


def build(state: State, live: tuple[int, ...], donatable: tuple[int, ...], device: str) -> Program:
    """Compile the trace that ends in ``state`` to return the slots ``live``, reusing the buffers of ``donatable``."""
    started = time.perf_counter()
    steps, input_avals, floats, ints = layout(state)
    kept, wanted, kinds = _needed(steps, live)
    inputs = tuple(s for s in input_avals if s in wanted)
    use_floats, use_ints = "float" in kinds, "int" in kinds

    def trace(*args: Any) -> list[Any]:
        env: dict[int, Any] = dict(zip(inputs, args, strict=False))
        rest = list(args[len(inputs):])
        numbers: dict[str, Any] = {"float": rest.pop(0) if use_floats else None, "int": rest.pop(0) if use_ints else None}
        for step in kept:
            results = step.apply(*[env[i] if kind == "slot" else numbers[kind][i] for kind, i in step.operands])
            for i, result in enumerate(results):
                env[step.first + i] = result
        return [env[s] for s in live]

    sharding = jax.sharding.SingleDeviceSharding(resolve_device(device))
    structs = [jax.ShapeDtypeStruct(input_avals[s].shape, input_avals[s].dtype, sharding=sharding) for s in inputs]
    if use_floats:
        structs.append(jax.ShapeDtypeStruct((floats,), np.dtype(np.float64), sharding=sharding))
    if use_ints:
        structs.append(jax.ShapeDtypeStruct((ints,), np.dtype(np.int64), sharding=sharding))

    with jax.enable_x64(True):
        traced = jax.jit(trace, out_shardings=sharding).trace(*structs)
        outvars = traced.jaxpr.jaxpr.outvars
        invars = traced.jaxpr.jaxpr.invars
        position = {id(v): i for i, v in enumerate(invars)}
        seen: dict[int, int] = {}
        shared_inputs, shared_outputs = set(), set()
        for i, v in enumerate(outvars):
            if id(v) in position:
                shared_inputs.add(inputs[position[id(v)]])
                shared_outputs.add(i)
            elif id(v) in seen:
                shared_outputs.update((i, seen[id(v)]))
            seen[id(v)] = i
        donated = _donations(inputs, input_avals, donatable, shared_inputs, [v.aval for v in outvars])
        lowered = jax.jit(trace, donate_argnums=donated, keep_unused=True, out_shardings=sharding).lower(*structs) \
            if donated else traced.lower()  # fmt: skip
        compiled = lowered.compile(compiler_options=compiler_options(platform_of(device)))
    seconds = time.perf_counter() - started
    counters.compilations += 1
    counters.compile_seconds += seconds
    entry = {"operators": state.depth, "ended_at": user_line(), "seconds": seconds, "runs": 0}
    counters.traces.append(entry)
    if log.isEnabledFor(20):
        log.info("%s", explain(state, seconds))
    return Program(compiled, inputs, (use_floats, use_ints), frozenset(shared_inputs), frozenset(shared_outputs), entry)


def compiler_options(platform: str) -> dict[str, Any] | None:
    """Options of every program on a platform."""
    return None


def _donations(inputs: tuple[int, ...], avals: dict[int, Aval], donatable: tuple[int, ...], shared: set[int],
               outs: list[Any]) -> tuple[int, ...]:  # fmt: skip
    """Positions of inputs whose buffer a result of the same shape and dtype can take."""
    free: dict[tuple[Any, Any], int] = {}
    for a in outs:
        k = (tuple(a.shape), np.dtype(a.dtype))
        free[k] = free.get(k, 0) + 1
    chosen = []
    for i, slot in enumerate(inputs):
        if slot in donatable and slot not in shared:
            k = (avals[slot].shape, avals[slot].dtype)
            if free.get(k, 0) > 0:
                free[k] -= 1
                chosen.append(i)
    return tuple(chosen)


def explain(state: State, seconds: float) -> str:
    """Why the trace of ``state`` had to be compiled: where it left the traces known before, at which user line."""
    steps = state.path()
    text = f"compiled {len(steps)} operators in {seconds:.2f} s, ended at {user_line()}"
    fork = next((s for s in reversed(steps) if s.reason), None)
    if state.programs:
        return f"{text}: the same operators as before, but other results are alive"
    if fork is None:
        return f"{text}: a new trace"
    assert fork.signature is not None
    return f"{text}: left the known traces at operator {fork.depth}, {fork.signature.op.name} ({fork.line}): {fork.reason}"
