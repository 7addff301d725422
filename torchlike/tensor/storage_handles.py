"""``Tensor.untyped_storage()`` and ``Tensor.storage()``: the memory that tensors share, as an object."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike.engine import array_of
from torchlike.ops.views import in_memory_order
from torchlike.tensor.storage import Storage, root_size
from torchlike.tensor.tensor import Tensor


class UntypedStorage:
    """The storage of a tensor as bytes. Equal for tensors that share it."""

    def __init__(self, cell: Storage, device: Any) -> None:
        self._cell = cell
        self.device = device

    def nbytes(self) -> int:
        """Its size in bytes."""
        return root_size(self._cell.value) * self._cell.value.aval.dtype.itemsize

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    def data_ptr(self) -> int:
        """A number that tells storages apart."""
        return self._cell.address

    @property
    def _cdata(self) -> int:
        return self._cell.address

    def element_size(self) -> int:
        """Bytes of one element: 1."""
        return 1

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU."""
        return self.device.type == "cuda"

    def _bytes(self) -> np.ndarray:
        self._cell.sync()
        return elements(self._cell).view(np.uint8)

    def tolist(self) -> list[int]:
        """Its bytes."""
        return self._bytes().tolist()

    def __getitem__(self, i: Any) -> Any:
        found = self._bytes()[i]
        return int(found) if np.ndim(found) == 0 else found.tolist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._cell is other._cell

    def __hash__(self) -> int:
        return hash(self._cell.address)

    def resize_(self, size: int) -> None:
        """Storages cannot change their size: values are immutable underneath."""
        if size != self.nbytes():
            raise NotImplementedError("UntypedStorage.resize_: resize the tensor instead (Tensor.resize_)")

    def is_shared(self) -> bool:
        """Whether it is in shared memory."""
        return False


class TypedStorage(UntypedStorage):
    """The storage of a tensor as elements of its dtype."""

    def __init__(self, cell: Storage, device: Any, dtype: Any) -> None:
        super().__init__(cell, device)
        self.dtype = dtype

    def size(self) -> int:
        """Its size in elements."""
        return self.nbytes() // self.dtype.itemsize

    def __len__(self) -> int:
        return self.size()

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def tolist(self) -> list[Any]:
        """Its elements."""
        self._cell.sync()
        return elements(self._cell).view(self.dtype.numpy).tolist()

    def __getitem__(self, i: Any) -> Any:
        return self.tolist()[i]

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def untyped(self) -> UntypedStorage:
        """The same storage as bytes."""
        return UntypedStorage(self._cell, self.device)


def elements(cell: Storage) -> np.ndarray:
    """The elements of a storage in memory order."""
    host = np.asarray(array_of(cell.value))
    return np.ascontiguousarray(host.reshape(-1) if cell.strides is None else np.asarray(in_memory_order(host, cell.strides)))


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The storage as bytes."""
    return UntypedStorage(self._share(), self.device)


def storage(self: Tensor) -> TypedStorage:
    """The storage as elements."""
    return TypedStorage(self._share(), self.device, self.dtype)


Tensor.untyped_storage = untyped_storage  # type: ignore[attr-defined]
Tensor.storage = storage  # type: ignore[attr-defined]
Tensor._typed_storage = storage  # type: ignore[attr-defined]
