"""``x[...]`` and ``x[...] = v`` in all forms.

Ints, slices, ``None`` and ``...`` become views. Bool masks become the positions of their ones (read on the host, since their
number is the result's size); positions and lists of them are one gather or scatter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike.autograd import tape
from torchlike.autograd.tape import apply
from torchlike.engine import local
from torchlike.ops import indexing as ops
from torchlike.ops import views
from torchlike.tensor.creation import as_tensor
from torchlike.tensor.shape import select, slice_view, unsqueeze
from torchlike.tensor.tensor import Tensor, jax_traced

CHECKED = 1 << 16  # index tensors up to this many elements are checked against the bounds when their values are at hand


_COMPOUND = (slice, type(None), type(...), list, tuple, Tensor, np.ndarray)


def _entries(index: Any) -> list[Any]:
    """The index as a list of entries."""
    if isinstance(index, tuple):
        return list(index)
    # A list with sequences or slices in it stands for a tuple, as in old NumPy; plain numbers are positions.
    if isinstance(index, list) and len(index) <= 32 and any(isinstance(i, _COMPOUND) for i in index):
        return list(index)
    return [index]


def _as_index_tensor(entry: Any) -> Tensor:
    if isinstance(entry, Tensor):
        t = entry
    elif isinstance(entry, (list, tuple)) and len(entry) == 0:
        t = Tensor._from_numpy(np.zeros(0, np.int64))
    else:
        t = as_tensor(entry)
    if t.dtype.name not in ("int64", "int32", "int16", "int8", "uint8", "bool"):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return t


def _is_int(entry: Any) -> bool:
    if isinstance(entry, (bool, np.bool_)):
        return False
    return isinstance(entry, (int, np.integer))


def _bound(x: Any) -> int | None:
    """A slice bound as an int."""
    return x if x is None or type(x) is int else x.__index__()


def _resolve(x: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None]]:
    """Apply the views of an index; the viewed tensor and, for each of its dimensions, the index tensor (or None)."""
    entries = _entries(index)
    consumed = 0
    for e in entries:
        if e is None or e is Ellipsis or isinstance(e, (bool, np.bool_)):
            continue
        if (isinstance(e, Tensor) and e.dtype.name in ("bool", "uint8")) or (isinstance(e, np.ndarray) and e.dtype == bool):
            consumed += e.ndim
        elif isinstance(e, (list, tuple)) and e and not _is_int(e[0]):
            t = _as_index_tensor(e)
            consumed += t.ndim if t.dtype.name == "bool" else 1
        else:
            consumed += 1
    ndim = x.ndim
    if consumed > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    dim = 0
    skip = ndim - consumed  # what the first ellipsis stands for; torch lets further ones stand for nothing
    advanced: list[Tensor | None] = []
    for e in entries:
        if e is None:
            x = unsqueeze(x, dim)
            advanced.append(None)
            dim += 1
        elif e is Ellipsis:
            advanced.extend([None] * skip)
            dim += skip
            skip = 0
        elif isinstance(e, slice):
            step = 1 if e.step is None else _bound(e.step)
            if step <= 0:
                raise ValueError("step must be greater than zero")
            if e.start is not None or e.stop is not None or step != 1:
                x = slice_view(x, dim, _bound(e.start), _bound(e.stop), step)
            advanced.append(None)
            dim += 1
        elif isinstance(e, (bool, np.bool_)):
            x = unsqueeze(x, dim)
            advanced.append(Tensor._from_numpy(np.zeros(1 if e else 0, np.int64)))
            dim += 1
        elif _is_int(e):
            x = _select(x, dim, int(e))
        elif isinstance(e, Tensor) and e.ndim == 0 and e.dtype.numpy.kind in "iu" and e.dtype.name != "uint8":
            if jax_traced(e):
                advanced.append(e)
                dim += 1
            elif (local.grad and x.requires_grad) or e._value.array is None:
                # keep the value unread: a 0-d position is one gather
                advanced.append(e)
                dim += 1
            else:
                x = _select(x, dim, int(e))
        else:
            t = _as_index_tensor(e)
            if t.dtype.name in ("bool", "uint8"):
                shape = x.shape
                for i, n in enumerate(t.shape):
                    if n != shape[dim + i]:
                        raise IndexError(
                            f"The shape of the mask {list(t.shape)} at index {i} does not match the shape of the indexed tensor "
                            f"{list(shape)} at index {dim + i}"
                        )
                if t.ndim == 0:
                    x = unsqueeze(x, dim)
                    advanced.append(Tensor._from_numpy(np.zeros(1 if bool(t) else 0, np.int64)))
                    dim += 1
                else:
                    for positions in np.nonzero(t._host()):
                        advanced.append(Tensor._from_numpy(np.ascontiguousarray(positions)))
                    dim += t.ndim
            else:
                check_bounds(t, x.shape[dim], dim)
                advanced.append(t)
                dim += 1
    return x, advanced


def _select(x: Tensor, dim: int, i: int) -> Tensor:
    n = x._value.aval.shape[dim]
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")
    return x._view(views.select, (dim,), (i + n if i < 0 else i,), dense=dim == 0)


def check_bounds(t: Tensor, size: int, dim: int) -> None:
    """Raise IndexError for positions out of range, when the values are already there; others are clamped by XLA."""
    value = tape.current(t)
    array = value.array
    if array is None or jax_traced(t) or value.aval.size == 0 or value.aval.size > CHECKED:
        return
    host = np.asarray(array)
    low, high = int(host.min()), int(host.max())
    if low < -size or high >= size:
        raise IndexError(f"index {low if low < -size else high} is out of bounds for dimension {dim} with size {size}")


def _mask_of(x: Tensor, index: Any) -> Tensor | None:
    """The mask when the index is one bool tensor that covers whole leading dimensions of ``x``."""
    if isinstance(index, tuple) and len(index) == 1:
        index = index[0]
    if isinstance(index, np.ndarray) and index.dtype == bool:
        index = as_tensor(index)
    if isinstance(index, Tensor) and index.dtype.name == "bool" and 0 < index.ndim <= x.ndim and index.shape == x.shape[: index.ndim]:
        return index
    return None


def getitem(self: Tensor, index: Any) -> Tensor:
    """``x[index]``."""
    kind = index.__class__
    if kind is int and self._value.aval.ndim:
        return _select(self, 0, index)
    if kind is slice and self._value.aval.ndim and (index.step is None or index.step == 1):
        return slice_view(self, 0, _bound(index.start), _bound(index.stop))
    mask = _mask_of(self, index)
    if mask is not None and not (local.grad and self.requires_grad) and self._value.aval.device == "cpu" and not jax_traced(self):
        # The size depends on values that are read anyway: on the host, without a compilation for every count.
        return Tensor._from_numpy(np.ascontiguousarray(self._host()[mask._host()]))
    x, advanced = _resolve(self, index)
    if not any(t is not None for t in advanced):
        if x is self:
            return self._view(views.alias, (), dense=True)
        return x
    return apply(ops.index, ((len(advanced),), ()), (x, *_same_device(x, advanced)))[0]


def _same_device(x: Tensor, advanced: list[Tensor | None]) -> list[Tensor | None]:
    device = x._value.aval.device
    if device == "cpu":
        return advanced
    from torchlike.tensor.conversion import transfer

    return [t if t is None or t._value.aval.device == device else transfer(t, device) for t in advanced]


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``."""
    if not isinstance(value, Tensor):
        if isinstance(value, (list, tuple, np.ndarray, str)) and not (isinstance(value, np.ndarray) and value.ndim == 0):
            raise TypeError(f"can't assign a {type(value).__name__} to a {self.type()}")
        value = as_tensor(value.item() if isinstance(value, np.generic) else value, dtype=self.dtype, device=self.device)
    mask = _mask_of(self, index)
    if mask is not None and value.numel() == 1 and not jax_traced(self):
        self._check_inplace()
        while mask.ndim < self.ndim:
            mask = mask.unsqueeze(-1)
        if value._value.aval.device != self._value.aval.device:
            value = value.to(self.device)
        self._write(apply(ops.masked_assign, ((), ()), (self, mask, value.reshape(())))[0])
        return
    x, advanced = _resolve(self, index)
    if jax_traced(self):
        _set_traced(self, index, value)
        return
    if not any(t is not None for t in advanced):
        while value.ndim > x.ndim and value.shape[0] == 1:
            value = select(value, 0, 0)
        x.copy_(value)
        return
    x._check_inplace()
    if value._value.aval.device != x._value.aval.device:
        value = value.to(x.device)
    if value.dtype is not x.dtype:
        if value.ndim and not isinstance(value, Tensor):
            raise RuntimeError("Index put requires the source and destination dtypes match")
        if value.ndim:
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {x.dtype} for the destination and {value.dtype} "
                "for the source."
            )
        value = value.to(x.dtype)
    result = apply(ops.index_put, ((len(advanced),), (False,)), (x, *_same_device(x, advanced), value))[0]
    x._write(result)


def _set_traced(self: Tensor, index: Any, value: Tensor) -> None:
    """Assignment to a tensor of a JAX transformation under way: functional, on the array."""
    entries = index if isinstance(index, tuple) else (index,)
    arrays = tuple(e.jax() if isinstance(e, Tensor) else e for e in entries)
    self._value = tape.current(Tensor._wrap(_from(self._value.array.at[arrays].set(value.jax()))))


def _from(array: Any) -> Any:
    from torchlike.engine import from_array

    return from_array(array)


Tensor.__getitem__ = getitem  # type: ignore[attr-defined]
Tensor.__setitem__ = setitem  # type: ignore[attr-defined]


def delitem(self: Tensor, index: Any) -> None:
    """Tensors have no ``del x[i]``."""
    raise TypeError("Tensor does not support deleting items")


Tensor.__delitem__ = delitem  # type: ignore[attr-defined]
