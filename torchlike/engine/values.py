"""Values: arrays that exist, or that a trace will make. ``Aval`` is what is known of a value at once."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from torchlike.engine.device import device_name


class Aval:
    """Shape, dtype and device; interned by ``aval_of``, so that identity is equality and keys hash quickly."""

    __slots__ = ("device", "dtype", "ndim", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, device: str) -> None:
        self.shape, self.dtype, self.device = shape, dtype, device
        self.ndim = len(shape)
        self.size = math.prod(shape)

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]" + ("" if self.device == "cpu" else f"@{self.device}")


_avals: dict[tuple[tuple[int, ...], np.dtype, str], Aval] = {}


def aval_of(shape: tuple[int, ...], dtype: np.dtype, device: str = "cpu") -> Aval:
    """The one ``Aval`` with these properties."""
    key = (shape, dtype, device)
    aval = _avals.get(key)
    if aval is None:
        aval = _avals.setdefault(key, Aval(shape, dtype, device))
    return aval


class Value:
    """An immutable array: pending (``array`` is None) until the trace that makes it is flushed.

    ``epoch`` and ``slot`` place it in a running trace. ``shared`` says that somebody outside may hold the same buffer, so
    that it is never donated. ``stale`` is set when the tensor that held this value was modified in place: the tape
    refuses it then. ``error`` is why a failed trace could not make it.
    """

    # Defaults on the class: an operator's result sets only its place (recorder.record makes thousands a second).
    aval: Aval
    array: Any = None
    epoch: int = 0
    slot: int = -1
    recorder: Any = None
    shared: bool = False
    stale: Any = None
    error: Exception | None = None

    def __init__(self, aval: Aval, array: Any = None, *, shared: bool = False) -> None:
        self.aval = aval
        self.array = array
        self.shared = shared

    def __repr__(self) -> str:
        state = "pending" if self.array is None else "traced" if is_tracer(self.array) else "ready"
        return f"<{state} {self.aval}>"


def is_tracer(array: Any) -> bool:
    """Whether ``array`` belongs to a JAX transformation in progress."""
    return isinstance(array, jax.core.Tracer)


def from_array(array: Any, *, device: str | None = None, shared: bool = True) -> Value:
    """The value of an existing array (jax or NumPy), without a copy. A NumPy array must not be changed afterwards."""
    if device is None:
        device = "cpu"
        if isinstance(array, jax.Array) and not is_tracer(array):
            held = array.devices()
            if len(held) == 1:
                device = device_name(next(iter(held)))
    return Value(aval_of(tuple(array.shape), np.dtype(array.dtype), device), array, shared=shared)
