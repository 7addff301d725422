"""The format before torch 1.6: pickles (magic number, protocol, system, object, keys), then the storages' bytes."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from torchlike.serialization.locations import Restore
from torchlike.serialization.pickler import dump
from torchlike.serialization.storages import DTYPES, StorageType, TypedStorage, UntypedStorage, aligned_empty
from torchlike.serialization.unpickler import Skimmer, Unpickler

__all__ = ["NotACheckpoint", "read", "write"]

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001

_TAR_MAGIC_AT, _TAR_MAGIC = 257, b"ustar"


class NotACheckpoint(pickle.UnpicklingError):
    """The file is something else."""


def write(obj: Any, file: Any, pickle_module: Any, protocol: int) -> None:
    """Save in the old format."""
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for header in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        pickle_module.dump(header, file, protocol=protocol)
    pickled = io.BytesIO()
    records = sorted(dump(obj, pickled, protocol, pickle_module, legacy=True), key=lambda record: record.key)
    file.write(pickled.getbuffer())
    pickle_module.dump([record.key for record in records], file, protocol=protocol)
    for record in records:
        file.write(struct.pack("<q", record.numel))
        file.write(record.data())
    file.flush()


def read(
    file: BinaryIO, restore: Restore, load: Callable[[Any, Callable[[Any], Any]], Any], path: str | None
) -> Any:
    """Load from the old format.

    The storages lie behind the pickle that uses them, and tensors are immutable once made; so the pickle is skimmed
    first for its storages, then these are read, then ``load(file, persistent_load)`` builds the object.

    Raises:
        NotACheckpoint: this is another kind of file.
        RuntimeError: a pickle of something else, or a damaged checkpoint.
    """
    start = file.tell()
    if path is not None and start == 0 and _is_tar(file):
        raise RuntimeError(
            "this file is in the .tar format that torch wrote before version 0.2; load it with an old torch and save "
            "it again"
        )
    try:
        magic = Unpickler(file).load()
    except pickle.UnpicklingError as e:
        file.seek(start)
        raise NotACheckpoint(
            f"the file is not one that torch.save writes: it begins with {file.read(16)!r} ({e})"
        ) from None
    if magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = Unpickler(file).load()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    system = Unpickler(file).load()
    swap = isinstance(system, dict) and system.get("little_endian", True) != (sys.byteorder == "little")
    pickled = file.tell()
    skimmer = Skimmer(file)
    skimmer.load()
    dtypes = {_text(pid[2]): _dtype(pid[1]) for pid in skimmer.ids if len(pid) == 6 and _text(pid[0]) == "storage"}
    keys = Unpickler(file).load()
    arrays = {}
    for key in keys:
        key = _text(key)
        if key not in dtypes:
            raise RuntimeError(f"the file has a storage {key!r} that no tensor in it uses; corrupt file?")
        arrays[key] = _read_storage(file, dtypes[key], swap, path)
    end = file.tell()
    storages: dict[str, UntypedStorage] = {}

    def persistent_load(pid: Any) -> Any:
        kind = _text(pid[0]) if type(pid) is tuple and pid else None
        if kind == "module":
            return pid[1]
        if kind != "storage" or len(pid) != 6:
            raise RuntimeError(f"Unknown saved id type: {pid!r:.80}")
        _, storage_type, key, location, _, view = pid
        key, dtype = _text(key), _dtype(storage_type)
        if key not in storages:
            if key not in arrays:
                raise RuntimeError(f"the file lacks the data of storage {key!r}; corrupt file?")
            storages[key] = restore(UntypedStorage(arrays[key]), _text(location))
        storage = storages[key]
        if view is not None:
            return _part(storage, storages, view, dtype)
        return TypedStorage(storage, dtype)

    file.seek(pickled)
    result = load(file, persistent_load)
    file.seek(end)
    return result


def _part(storage: UntypedStorage, storages: dict[str, UntypedStorage], view: Any, dtype: str) -> TypedStorage:
    """A storage that is a part of another one (files before torch 0.4)."""
    key, offset, size = _text(view[0]), view[1], view[2]
    if key not in storages:
        itemsize = DTYPES[dtype].itemsize
        part = None if storage.array is None else storage.array[offset * itemsize:(offset + size) * itemsize]
        storages[key] = UntypedStorage(part, storage.location, size * itemsize)
    return TypedStorage(storages[key], dtype)


def _read_storage(file: BinaryIO, dtype: str, swap: bool, path: str | None) -> np.ndarray:
    header = file.read(8)
    numel = struct.unpack("<q", header)[0] if len(header) == 8 else -1
    nbytes = numel * DTYPES[dtype].itemsize
    if numel < 0 or nbytes > _left(file):
        raise RuntimeError("the file ends before its last storage: it is cut off or corrupt")
    array = aligned_empty(nbytes)
    if nbytes:
        data = file.read(nbytes) if not hasattr(file, "readinto") else None
        if data is None:
            got = file.readinto(memoryview(array))
        else:
            got = len(data)
            array[:got] = np.frombuffer(data, np.uint8)
        if got != nbytes:
            raise RuntimeError("the file ends before its last storage: it is cut off or corrupt")
    return array.view(DTYPES[dtype]).byteswap().view(np.uint8) if swap else array


def _left(file: BinaryIO) -> int:
    here = file.tell()
    end = file.seek(0, io.SEEK_END)
    file.seek(here)
    return (file.tell() if end is None else end) - here


def _is_tar(file: BinaryIO) -> bool:
    start = file.tell()
    head = file.read(_TAR_MAGIC_AT + len(_TAR_MAGIC))
    file.seek(start)
    return head[_TAR_MAGIC_AT:] == _TAR_MAGIC


def _dtype(storage_type: Any) -> str:
    """The dtype that a persistent id gives; bytes for untyped storages."""
    if isinstance(storage_type, StorageType):
        return storage_type.dtype
    if storage_type is UntypedStorage:
        return "uint8"
    if isinstance(storage_type, str) and storage_type.removeprefix("torch.") in DTYPES:
        return storage_type.removeprefix("torch.")
    raise pickle.UnpicklingError(f"{storage_type!r:.80} is not a type of storage that torchlike knows")


def _text(s: Any) -> Any:
    return s.decode("ascii") if isinstance(s, bytes) else s
