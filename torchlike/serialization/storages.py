"""Storages as files have them: raw bytes with a place, and the names and sizes of torch's storage classes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from torchlike.tensor.device import device as Device

__all__ = ["DTYPES", "STORAGE_CLASSES", "StorageType", "TypedStorage", "UntypedStorage", "aligned_empty"]

DTYPES: dict[str, np.dtype] = {
    name: np.dtype(kind)
    for name, kind in {
        "float64": np.float64,
        "float32": np.float32,
        "float16": np.float16,
        "bfloat16": ml_dtypes.bfloat16,
        "int64": np.int64,
        "int32": np.int32,
        "int16": np.int16,
        "int8": np.int8,
        "uint8": np.uint8,
        "bool": np.bool_,
        "complex128": np.complex128,
        "complex64": np.complex64,
        "uint16": np.uint16,
        "uint32": np.uint32,
        "uint64": np.uint64,
        "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
        "float8_e5m2": ml_dtypes.float8_e5m2,
        "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
        "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
        "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    }.items()
}
"""torch's name of a dtype to NumPy's dtype."""

STORAGE_CLASSES: dict[str, str] = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
}
"""torch's class of a typed storage to its dtype; dtypes without a class are saved with an untyped storage."""

# JAX takes over a NumPy buffer on the CPU without a copy when it starts at a multiple of 64 bytes.
_ALIGNMENT = 64


def aligned_empty(nbytes: int) -> np.ndarray:
    """Uninitialised bytes, ``(nbytes,)`` uint8, aligned to 64 bytes."""
    block = np.empty(nbytes + _ALIGNMENT, np.uint8)
    start = -block.ctypes.data % _ALIGNMENT
    return block[start:start + nbytes]


class StorageType:
    """What a file means by ``torch.FloatStorage``: the dtype of a storage that follows."""

    __slots__ = ("dtype",)

    def __init__(self, name: str) -> None:
        self.dtype = STORAGE_CLASSES[name]

    def __str__(self) -> str:
        return f"StorageType(dtype=torch.{self.dtype})"


class UntypedStorage:
    """The bytes of one storage: ``array`` is ``(nbytes,)`` uint8, or None on the meta device.

    Tensors rebuilt from one storage share it: ``tensors`` keeps, per dtype, a tensor over these bytes to take views of.
    """

    __slots__ = ("_nbytes", "array", "location", "tensors")

    def __init__(self, array: np.ndarray | None, location: str = "cpu", nbytes: int | None = None) -> None:
        self.array = array
        self.location = location
        self._nbytes = (0 if array is None else array.nbytes) if nbytes is None else nbytes
        self.tensors: dict[str, Any] = {}

    @property
    def device(self) -> Any:
        """The ``torch.device`` that tensors made from this storage are on."""
        return Device(self.location)

    @property
    def is_cuda(self) -> bool:
        """Whether the storage is on a CUDA device."""
        return self.location.startswith("cuda")

    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    size = nbytes

    def __len__(self) -> int:
        return self._nbytes

    def element_size(self) -> int:
        """Bytes an element: always 1."""
        return 1

    def to(self, device: Any) -> UntypedStorage:
        """The same bytes for tensors on ``device`` (they are moved when a tensor is made)."""
        name = str(device)
        if name == self.location:
            return self
        return UntypedStorage(None if name == "meta" else self.array, name, self._nbytes)

    def cpu(self) -> UntypedStorage:
        """The same bytes for tensors on the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> UntypedStorage:
        """The same bytes for tensors on a CUDA device (the first one by default)."""
        name = str(device) if device is not None else "0"
        return self.to(name if name.startswith("cuda") else f"cuda:{name}")

    def tolist(self) -> list[int]:
        """The bytes as Python ints."""
        return [] if self.array is None else self.array.tolist()

    def __repr__(self) -> str:
        return f"<torch.storage.UntypedStorage of {self._nbytes} bytes on {self.location}>"


class TypedStorage:
    """A storage and the dtype that a file gives it. Tensors are rebuilt from it; user code seldom sees one."""

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(self, storage: UntypedStorage, dtype: str) -> None:
        self._untyped_storage = storage
        self.dtype = dtype

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    @property
    def device(self) -> Any:
        """The ``torch.device`` of the bytes."""
        return self._untyped_storage.device

    def nbytes(self) -> int:
        """Size in bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """Number of elements."""
        return self.nbytes() // DTYPES[self.dtype].itemsize

    __len__ = size

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        array = self._untyped_storage.array
        return [] if array is None else array.view(DTYPES[self.dtype]).tolist()

    def __repr__(self) -> str:
        return f"<torch.storage.TypedStorage of {self.size()} {self.dtype} on {self._untyped_storage.location}>"
