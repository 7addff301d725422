"""The only functions here that look inside tensors: a tensor as plain NumPy data, and back."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

import torchlike
from torchlike import engine
from torchlike.autograd import tape
from torchlike.serialization.storages import DTYPES, UntypedStorage
from torchlike.tensor import copying, dtypes
from torchlike.tensor.device import device as Device
from torchlike.tensor.tensor import Tensor

__all__ = [
    "Described",
    "describe",
    "device_count",
    "from_numpy",
    "is_device",
    "is_internal",
    "is_meta",
    "rebuild",
    "rebuild_meta",
    "user_attributes",
]


class Described(NamedTuple):
    """A tensor as a file has it. Tensors on one storage have one ``owner``; ``read`` gives the storage's elements."""

    owner: Any
    numel: int
    read: Callable[[], np.ndarray]
    dtype: str
    location: str
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool


def describe(tensor: Tensor) -> Described:
    """What a file says of a tensor. Nothing is computed or copied until ``read()``, which gives the storage's elements.

    Raises:
        RuntimeError: the tensor has another dtype than the tensor that its storage belongs to (a reinterpreting view).
    """
    value = tape.current(tensor)
    dtype = dtypes.of_numpy(value.aval.dtype).name
    size, stride, offset = tensor._layout()
    storage = tensor._storage
    owner, root, root_stride = tensor, value, tensor._strides
    if storage is not None:
        owner, root, root_stride = storage, storage.value, storage.strides
        if root.aval.dtype != value.aval.dtype:
            raise RuntimeError(
                f"cannot save a tensor of dtype torch.{dtype} that views the memory of one of dtype "
                f"torch.{dtypes.of_numpy(root.aval.dtype).name}; save a clone() of it"
            )
    location = value.aval.device
    read = functools.partial(_in_memory_order, root, root_stride)
    return Described(
        owner, root.aval.size, read, dtype, location, offset, tuple(size), tuple(stride), tensor.requires_grad
    )


def _in_memory_order(value: engine.Value, stride: Sequence[int] | None) -> np.ndarray:
    array = np.asarray(engine.array_of(value))
    if stride is not None:
        array = array.transpose(_memory_order(array.shape, stride))
    return np.ascontiguousarray(array).reshape(-1)


def _memory_order(size: Sequence[int], stride: Sequence[int]) -> list[int]:
    """The dimensions from the outermost to the innermost in memory."""
    return sorted(range(len(size)), key=lambda d: (-stride[d], d))


def _is_row_major(size: Sequence[int], stride: Sequence[int]) -> bool:
    expected = 1
    for n, s in zip(reversed(size), reversed(stride), strict=True):
        if n != 1 and s != expected:
            return False
        expected *= n
    return True


def user_attributes(tensor: Tensor) -> dict[str, Any]:
    """Python attributes that the user set on a tensor."""
    attributes = vars(tensor)
    # Most tensors have a value and perhaps a node: not worth a look at every name.
    return {} if len(attributes) < 2 else {k: v for k, v in attributes.items() if not is_internal(tensor, k)}


def is_internal(tensor: Tensor, name: str) -> bool:
    """Whether an attribute is the tensor's own: a value, a place in the graph, a method."""
    return name in copying._OWN or hasattr(type(tensor), name)


def rebuild(
    storage: UntypedStorage,
    dtype: str,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
) -> Tensor:
    """A tensor on a loaded storage. All tensors rebuilt on one ``UntypedStorage`` share their memory.

    Raises:
        RuntimeError: the geometry reaches outside the storage, or is malformed.
    """
    _check_geometry(storage.nbytes(), dtype, offset, size, stride)
    if storage.array is None:
        return rebuild_meta(dtype, size, stride, requires_grad)
    numel = math.prod(size)
    first = storage.tensors.get(dtype)
    total = storage.nbytes() // DTYPES[dtype].itemsize
    order = _memory_order(size, stride)
    in_order = [size[d] for d in order]
    dense = _is_row_major(in_order, [stride[d] for d in order])
    if not storage.tensors and dense and offset == 0 and numel == total and numel:
        tensor = _root(storage, dtype, tuple(in_order), order, stride)
        storage.tensors[dtype] = tensor
    else:
        if first is None:
            first = storage.tensors[dtype] = _flat(storage, dtype, total)
        tensor = _view(first, offset, size, stride, dense, order)
    # the tensor kept in ``storage.tensors`` stays a plain one: it is the source of views only
    return tensor._alias().requires_grad_() if requires_grad else tensor


def _check_geometry(nbytes: int, dtype: str, offset: int, size: Sequence[int], stride: Sequence[int]) -> None:
    numbers = (offset, *size, *stride)
    if len(size) != len(stride) or not all(type(n) is int and n >= 0 for n in numbers):
        raise RuntimeError(
            f"malformed tensor in the file: sizes {list(size)}, strides {list(stride)}, storage offset {offset}"
        )
    itemsize = DTYPES[dtype].itemsize
    needed = 0 if 0 in size else (offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))) * itemsize
    if needed > nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
            f"requiring a storage size of {needed} are out of bounds for storage of size {nbytes}"
        )


def _elements(storage: UntypedStorage, dtype: str) -> np.ndarray:
    kind = DTYPES[dtype]
    return storage.array[: storage.nbytes() // kind.itemsize * kind.itemsize].view(kind)


def _on(array: np.ndarray, location: str) -> Tensor:
    name = Device(location).engine
    tensor = Tensor._from_numpy(array)
    return tensor if name == "cpu" else tensor.to(location)


def _root(
    storage: UntypedStorage, dtype: str, in_order: tuple[int, ...], order: list[int], stride: Sequence[int]
) -> Tensor:
    """A tensor that is its whole storage, with the file's strides (channels_last and transposed weights keep them)."""
    array = _elements(storage, dtype).reshape(in_order)
    if order == list(range(len(order))):
        return _on(array, storage.location)
    tensor = _on(np.ascontiguousarray(array.transpose(np.argsort(order))), storage.location)
    tensor._strides, tensor._dense = tuple(stride), False
    return tensor


def _flat(storage: UntypedStorage, dtype: str, total: int) -> Tensor:
    if storage.tensors:
        other = next(iter(storage.tensors.values()))
        return other._alias().as_strided((other._share().value.aval.size,), (1,), 0).view(dtypes.NAMES[dtype])
    return _on(_elements(storage, dtype)[:total], storage.location)


def _view(
    first: Tensor, offset: int, size: tuple[int, ...], stride: tuple[int, ...], dense: bool, order: list[int]
) -> Tensor:
    """``size``, ``stride``, ``offset`` in the storage of ``first``; by slices where the elements lie together."""
    alias = first._alias()
    if first._layout() == (size, stride, offset):
        return alias
    if dense and first._layout()[1:] == ((1,), 0):
        numel = math.prod(size)
        part = alias.narrow(0, offset, numel).view([size[d] for d in order])
        backward = [order.index(d) for d in range(len(order))]
        return (part if backward == list(range(len(order))) else part.permute(backward))._alias()
    # repeated dimensions are expanded afterwards: as_strided would list the place of every element
    once = tuple(1 if s == 0 else n for n, s in zip(size, stride, strict=True))
    part = alias.as_strided(once, stride, offset)
    return (part if once == size else part.expand(size))._alias()


def rebuild_meta(dtype: str, size: Sequence[int], stride: Sequence[int], requires_grad: bool) -> Tensor:
    """A tensor on the meta device: a shape without data."""
    return torchlike.empty_strided(
        tuple(size), tuple(stride), dtype=dtypes.NAMES[dtype], device="meta", requires_grad=requires_grad
    )


def is_device(x: Any) -> bool:
    """Whether ``x`` is a ``torch.device``."""
    return isinstance(x, Device)


def device_count(kind: str) -> int:
    """How many devices of a kind ("cuda") this machine has."""
    try:
        return len(jax.devices("gpu" if kind == "cuda" else kind))
    except RuntimeError:
        return 0


def is_meta(map_location: Any) -> bool:
    """Whether ``map_location`` sends everything to the meta device, so that data need not be read."""
    return (isinstance(map_location, str) or is_device(map_location)) and str(map_location) == "meta"


def from_numpy(array: np.ndarray, location: Any) -> Tensor:
    """A tensor of an array that nobody else changes, on a device."""
    return _on(array, str(location))
