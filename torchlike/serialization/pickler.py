"""Writing the pickle of a checkpoint: torch's names and calls for tensors, storages as references to records.

The pickler is Python's pure one: only there can a class be written under another name than its own (``torch.nn...`` for
``torchlike.nn...``). What checkpoints are made of, tensors, is written as opcodes directly, so that 2 000 small
tensors take 30 ms, as torch does with C.
"""

from __future__ import annotations

import copyreg
import io
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from torchlike.nn.parameter import Buffer, Parameter
from torchlike.serialization import bridge, torch_names
from torchlike.serialization import rebuild as calls
from torchlike.serialization.bridge import Described
from torchlike.serialization.locations import location_tag
from torchlike.serialization.storages import DTYPES, STORAGE_CLASSES, StorageType, TypedStorage, UntypedStorage
from torchlike.tensor import dtypes
from torchlike.tensor.device import device as Device
from torchlike.tensor.size import Size
from torchlike.tensor.tensor import Tensor

__all__ = ["Record", "dump", "reduce_tensor"]

_CLASS_OF = {dtype: name for name, dtype in STORAGE_CLASSES.items()}


class Record:
    """A storage to be written beside the pickle."""

    __slots__ = ("dtype", "key", "location", "nbytes", "read")

    def __init__(self, key: str, dtype: str, location: str, nbytes: int, read: Callable[[], np.ndarray]) -> None:
        self.key, self.dtype, self.location, self.nbytes, self.read = key, dtype, location, nbytes, read

    @property
    def numel(self) -> int:
        """The size that the pickle gives: elements where torch has a storage class for the dtype, bytes otherwise."""
        return self.nbytes // (DTYPES[self.dtype].itemsize if self.dtype in _CLASS_OF else 1)

    def data(self) -> memoryview:
        """The bytes, computed now if the tensor was pending."""
        array = self.read()
        return memoryview(array.view(np.uint8) if array.size else b"").cast("B")


class Records:
    """The storages met while pickling, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self._by_owner: dict[int, Record] = {}
        self._owners: list[Any] = []

    def __iter__(self) -> Any:
        return iter(self._by_owner.values())

    def of_tensor(self, d: Described) -> Record:
        """The record of a tensor's storage. ``RuntimeError`` when it was met with another dtype."""
        record = self._by_owner.get(id(d.owner))
        if record is None:
            location = "cpu" if d.location == "cpu" else location_tag(UntypedStorage(None, d.location))
            record = self._add(d.owner, d.dtype, location, d.numel * DTYPES[d.dtype].itemsize, d.read)
        if record.dtype != d.dtype:
            raise _two_dtypes()
        return record

    def of_storage(self, storage: TypedStorage | UntypedStorage) -> Record:
        """The record of a storage that is saved as such."""
        untyped = storage.untyped() if isinstance(storage, TypedStorage) else storage
        dtype = storage.dtype if isinstance(storage, TypedStorage) else "uint8"
        record = self._by_owner.get(id(untyped))
        if record is None:
            array = untyped.array
            read = (lambda: np.empty(0, np.uint8)) if array is None else (lambda: array)
            record = self._add(untyped, dtype, location_tag(untyped), untyped.nbytes(), read)
        if record.dtype != dtype:
            raise _two_dtypes()
        return record

    def _add(self, owner: Any, dtype: str, location: str, nbytes: int, read: Callable[[], np.ndarray]) -> Record:
        record = Record(str(len(self._owners)), dtype, location, nbytes, read)
        self._owners.append(owner)  # keeps the id of the owner its own while pickling
        self._by_owner[id(owner)] = record
        return record


def _two_dtypes() -> RuntimeError:
    return RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")


class Reference:
    """A storage inside a reduced tensor; picklers write it as a persistent id."""

    __slots__ = ("described",)

    def __init__(self, described: Described) -> None:
        self.described = described


class Call:
    """A call inside a reduced object: the tensor in a parameter."""

    __slots__ = ("args", "function")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function, self.args = function, args

    def __reduce__(self) -> tuple[Any, ...]:
        return self.function, self.args


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """The call that makes a tensor again, in the form of ``__reduce_ex__``, as torch writes it.

    Storages in it are ``Reference`` objects, which only the picklers of this package understand.
    """
    state = bridge.user_attributes(tensor)
    is_parameter = issubclass(type(tensor), Parameter)  # isinstance is also true of marked tensors of other classes
    function, args = _reduce_data(tensor, tensor.requires_grad and not is_parameter)
    if is_parameter:
        given = (Call(function, args), tensor.requires_grad, OrderedDict())
        return (calls._rebuild_parameter_with_state, (*given, state)) if state else (calls._rebuild_parameter, given)
    cls = Tensor if type(tensor) is Buffer else type(tensor)  # in torch a buffer is a tensor with a mark
    if cls is Tensor and not state:
        return function, args
    return calls._rebuild_from_type_v2, (function, cls, args, state)


def _reduce_data(tensor: Tensor, requires_grad: bool) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    if tensor.is_sparse:
        parts = (tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced())
        return calls._rebuild_sparse_tensor, (tensor.layout, parts)
    if tensor.is_sparse_csr:
        return calls._rebuild_sparse_tensor, (
            tensor.layout, (tensor.crow_indices(), tensor.col_indices(), tensor.values(), tensor.size())
        )  # fmt: skip
    d = bridge.describe(tensor)
    if d.location == "meta":
        return calls._rebuild_meta_tensor_no_storage, (dtypes.NAMES[d.dtype], d.size, d.stride, requires_grad)
    args = (Reference(d), d.offset, d.size, d.stride, requires_grad, OrderedDict())
    if d.dtype in _CLASS_OF:
        return calls._rebuild_tensor_v2, args
    return calls._rebuild_tensor_v3, (*args, dtypes.NAMES[d.dtype])


class _ReduceTable(Mapping):
    """``dispatch_table`` of picklers: tensors and torch's small objects, then what ``copyreg`` knows."""

    def __getitem__(self, cls: type) -> Callable[[Any], Any]:
        if issubclass(cls, Tensor) and cls.__reduce_ex__ is Tensor.__reduce_ex__:
            return reduce_tensor
        if cls.__name__ == "layout" and cls.__module__.startswith("torch"):
            return lambda layout: (calls._get_layout, (str(layout),))
        return copyreg.dispatch_table[cls]

    def __iter__(self) -> Any:
        return iter(copyreg.dispatch_table)

    def __len__(self) -> int:
        return len(copyreg.dispatch_table)


for _name, _dtype in dtypes.NAMES.items():
    if _name == _dtype.name:
        torch_names.register("torch", _name, _dtype)
for _class in STORAGE_CLASSES:
    torch_names.register("torch", _class, StorageType(_class))
torch_names.register("torch.storage", "UntypedStorage", UntypedStorage)
torch_names.register("torch.storage", "TypedStorage", TypedStorage)
torch_names.register("torch", "Size", Size)
torch_names.register("torch", "Tensor", Tensor)
torch_names.register("torch", "device", Device)

_CPU = "cpu"


class Pickler(pickle._Pickler):
    """A pickler that writes torch's names. ``legacy`` adds the sixth item that storages had before torch 1.6."""

    dispatch = pickle._Pickler.dispatch.copy()
    dispatch_table = _ReduceTable()

    def __init__(self, file: Any, protocol: int, records: Records, legacy: bool) -> None:
        super().__init__(file, protocol)
        self._records = records
        self._legacy = legacy

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """A class or function by name: torch's name where it is torchlike's."""
        module, qualified = torch_names.torch_path(obj, name)
        if not _is_ours(obj, module, qualified):
            super().save_global(obj, name)
            return
        if self.proto >= 4:
            self.save(module)
            self.save(qualified)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{qualified}\n".encode())
        self.memoize(obj)

    def save_type(self, obj: type) -> None:
        """Classes by name; ``type(None)`` and its like as Python does."""
        if obj.__module__.startswith("torch"):
            self.save_global(obj)
        else:
            super().save_type(obj)

    dispatch[type] = save_type
    dispatch[type(reduce_tensor)] = save_global
    dispatch[dtypes.dtype] = save_global
    dispatch[StorageType] = save_global

    def save_size(self, size: Size) -> None:
        """``torch.Size((2, 3))``."""
        self.save_reduce(Size, (tuple(size),), obj=size)

    dispatch[Size] = save_size

    def save_storage(self, storage: TypedStorage | UntypedStorage) -> None:
        """A storage on its own."""
        self._save_record(self._records.of_storage(storage), type(storage) is UntypedStorage)

    dispatch[TypedStorage] = save_storage
    dispatch[UntypedStorage] = save_storage

    def save_reference(self, reference: Reference) -> None:
        """The storage of a tensor."""
        self._save_record(self._records.of_tensor(reference.described), False)

    dispatch[Reference] = save_reference

    def _save_record(self, record: Record, untyped: bool) -> None:
        name = _CLASS_OF.get(record.dtype)
        self.write(pickle.MARK)
        self._put("storage")
        self._put(UntypedStorage if untyped or name is None else torch_names.find("torch", name))
        self.write(_text(record.key))
        self._put(_CPU if record.location == _CPU else record.location)
        end = pickle.NONE if self._legacy else b""
        self.write(_int(record.nbytes if untyped else record.numel) + end + pickle.TUPLE + pickle.BINPERSID)

    def _put(self, known: Any) -> None:
        """What is in the pickle already most of the time: ``save`` without its detours."""
        entry = self.memo.get(id(known))
        if entry is None:
            self.save(known)
        else:
            self.write(self.get(entry[0]))

    def save_tensor(self, tensor: Tensor) -> None:
        """A plain tensor, by the opcodes that ``reduce_tensor`` would lead to."""
        if self.proto < 2 or not _is_plain(tensor):
            self.save_reduce(*reduce_tensor(tensor), obj=tensor)
            return
        self._save_data(bridge.describe(tensor), tensor.requires_grad)
        self.memoize(tensor)

    def save_parameter(self, parameter: Tensor) -> None:
        """A parameter: its data, whether it wants gradients, no hooks."""
        if self.proto < 2 or not _is_plain(parameter):
            self.save_reduce(*reduce_tensor(parameter), obj=parameter)
            return
        self._put(calls._rebuild_parameter)
        d = bridge.describe(parameter)
        self._save_data(d, False)
        self.write(pickle.NEWTRUE if d.requires_grad else pickle.NEWFALSE)
        self._save_no_hooks()
        self.write(pickle.TUPLE3 + pickle.REDUCE)
        self.memoize(parameter)

    def _save_data(self, d: Described, requires_grad: bool) -> None:
        typed = d.dtype in _CLASS_OF
        self._put(calls._rebuild_tensor_v2 if typed else calls._rebuild_tensor_v3)
        self.write(pickle.MARK)
        self._save_record(self._records.of_tensor(d), not typed)
        wants_grad = pickle.NEWTRUE if requires_grad else pickle.NEWFALSE
        self.write(_int(d.offset) + _ints(d.size) + _ints(d.stride) + wants_grad)
        self._save_no_hooks()
        if not typed:
            self._put(dtypes.NAMES[d.dtype])
        self.write(pickle.TUPLE + pickle.REDUCE)

    def _save_no_hooks(self) -> None:
        self._put(OrderedDict)
        self.write(pickle.EMPTY_TUPLE + pickle.REDUCE)

    dispatch[Tensor] = save_tensor
    dispatch[Parameter] = save_parameter


def _is_ours(obj: Any, module: str, name: str) -> bool:
    """Whether the object is written under a torch name (real torch's own classes, if it is imported, are not ours)."""
    if module != "torch" and not module.startswith("torch."):
        return False
    own = getattr(obj, "__module__", None) or ""
    return own.partition(".")[0] == "torchlike" or torch_names.is_registered(obj) or _is_shown(obj, module, name)


def _is_shown(obj: Any, module: str, name: str) -> bool:
    """Whether something that says that it is from ``torch`` is what torchlike shows there."""
    try:
        return torch_names.find(module, name) is obj
    except AttributeError:
        return False


def _is_plain(tensor: Tensor) -> bool:
    if tensor.is_sparse or tensor.is_sparse_csr or tensor._value.aval.device == "meta":
        return False
    return not bridge.user_attributes(tensor)


def _text(s: str) -> bytes:
    data = s.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(data)) + data


def _int(n: int) -> bytes:
    if n < 256:
        return pickle.BININT1 + bytes((n,))
    if n < 65536:
        return pickle.BININT2 + struct.pack("<H", n)
    if n < 1 << 31:
        return pickle.BININT + struct.pack("<i", n)
    data = pickle.encode_long(n)
    return pickle.LONG1 + bytes((len(data),)) + data


_TUPLES = {0: pickle.EMPTY_TUPLE, 1: pickle.TUPLE1, 2: pickle.TUPLE2, 3: pickle.TUPLE3}


def _ints(numbers: tuple[int, ...]) -> bytes:
    items = b"".join(map(_int, numbers))
    if len(numbers) < 4:
        return items + _TUPLES[len(numbers)]
    return pickle.MARK + items + pickle.TUPLE


def dump(obj: Any, file: io.BytesIO, protocol: int, pickle_module: Any, *, legacy: bool = False) -> Records:
    """Pickle ``obj`` into ``file``; returns the storages that belong to it.

    With another ``pickle_module`` than Python's, its own rules for names hold, and real torch may not find the classes.
    """
    records = Records()
    if pickle_module is pickle:
        Pickler(file, protocol, records, legacy).dump(obj)
        return records

    class Foreign(pickle_module.Pickler):
        dispatch_table = _ReduceTable()

        def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
            if isinstance(obj, Reference):
                record = records.of_tensor(obj.described)
            elif isinstance(obj, (TypedStorage, UntypedStorage)):
                record = records.of_storage(obj)
            else:
                return None
            dtype = record.dtype if record.dtype in _CLASS_OF else "uint8"
            pid = ("storage", f"torch.{dtype}", record.key, record.location, record.numel)
            return (*pid, None) if legacy else pid

    Foreign(file, protocol=protocol).dump(obj)
    return records
