"""Storage cells: what tensors that share memory in torch share here.

A cell holds the value of the root tensor (the one that was made first) and counts its modifications. A tensor gets a cell
when the first view or alias of it is made. Small NumPy arrays can share a cell too (``Mirror``).
"""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np

from torchlike.engine import Value, array_of, from_array

_addresses = itertools.count(1)
MIRROR_LIMIT = 1 << 16  # elements; larger arrays are copied when they cross between NumPy and tensors


class Storage:
    """The shared cell.

    ``version`` is what readers compare with the version that they have seen; it is NaN (never equal) while a NumPy array
    mirrors the cell, since that may change at any time. ``count`` is the number of modifications that the tape has to know
    of (those through ``.data`` are not among them). ``strides`` are the root's, None when it is contiguous.
    """

    __slots__ = ("__weakref__", "address", "changes", "count", "mirror", "strides", "value", "version")

    def __init__(self, value: Value, count: int, strides: tuple[int, ...] | None) -> None:
        self.value = value
        self.count: int = count
        self.changes = 0
        self.version: float = 0
        self.strides = strides
        self.mirror: Mirror | None = None
        # Distinct storages have addresses that do not overlap, as memory has.
        self.address = next(_addresses) << 32

    def replace(self, value: Value, silent: bool = False) -> None:
        """The root has a new value; ``silent`` where the tape shall not know."""
        if not silent:
            if self.value.stale is None:
                self.value.stale = (self.count + 1, self.count)
            self.count += 1
        self.value = value
        self.changes += 1
        if self.mirror is None:
            self.version = self.changes
        else:
            self.mirror.push(value)

    def _changed(self) -> None:
        self.changes += 1
        if self.mirror is None:
            self.version = self.changes

    def sync(self) -> None:
        """Take over what was written to the NumPy array that mirrors the cell."""
        if self.mirror is None:
            return
        changed = self.mirror.pull()
        if self.mirror.gone():
            self.mirror = None
        if changed is not None:
            self.value = changed
        self._changed()


class Mirror:
    """A NumPy array that shows the same memory as a cell: ``Tensor.numpy()`` and ``torch.from_numpy``.

    Values are immutable, so sharing is kept by copying at the moments when one side looks: a write to the tensor is copied
    into the array at once, a write to the array is found by comparison when the tensor is next read.
    """

    __slots__ = ("_array", "_seen")

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self._seen = array.copy()

    def gone(self) -> bool:
        """Whether nobody else can see the array any more (NumPy views of it refer to it, and count)."""
        base = self._array.base
        return sys.getrefcount(self._array) <= 2 and (base is None or sys.getrefcount(base) <= 3)

    def push(self, value: Value) -> None:
        """Copy a new value of the tensor into the array."""
        np.copyto(self._array, np.asarray(array_of(value)).reshape(self._array.shape))
        self._seen = self._array.copy()

    def pull(self) -> Value | None:
        """The array's content as a value, if it changed since the last look."""
        if self._array.tobytes() == self._seen.tobytes():
            return None
        self._seen = self._array.copy()
        return from_array(self._seen.copy(), device="cpu", shared=False)


def mark_stale(value: Value, count: int) -> None:
    """The tensor that had this value was modified: the tape must refuse to use it as a saved value."""
    if value.stale is None:
        value.stale = (count + 1, count)


def root_size(value: Value) -> int:
    """Elements of the storage."""
    return math.prod(value.aval.shape)
