"""torch's zip archive: ``name/data.pkl`` and a record for each storage, uncompressed and aligned to 64 bytes."""

from __future__ import annotations

import hashlib
import mmap
import struct
import sys
import zipfile
from typing import Any, BinaryIO

import numpy as np

from torchlike.serialization import options
from torchlike.serialization.storages import aligned_empty

__all__ = ["ArchiveReader", "ArchiveWriter", "is_zip"]

ALIGNMENT = 64
FORMAT_VERSION = b"1"  # records of storages lie in the order of their numbers
ARCHIVE_VERSION = b"3\n"
_SIGNATURE = b"PK\x03\x04"
_LOCAL_HEADER = 30
_CHUNK = 1 << 22


def is_zip(file: BinaryIO) -> bool:
    """Whether a zip archive begins at the present position (which does not move)."""
    start = file.tell()
    head = file.read(len(_SIGNATURE))
    file.seek(start)
    return head == _SIGNATURE


class _Forward:
    """A file that is only ever written to, wherever it stands: zip offsets then count from the archive's first byte."""

    def __init__(self, file: Any) -> None:
        self.write = file.write
        self.flush = getattr(file, "flush", lambda: None)


class ArchiveWriter:
    """Writes records into an archive; a context manager that completes it on leaving without an error.

    ``name`` is the folder in the archive: the file's name without its last ending, or "archive".
    """

    def __init__(self, file: Any, name: str) -> None:
        self._zip = zipfile.ZipFile(_Forward(file), "w", zipfile.ZIP_STORED)
        self._name = name
        self._digest = hashlib.sha256()

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            # the archive is abandoned: a directory at its end would make it look whole
            self._zip.fp = None
            return
        self.write("version", ARCHIVE_VERSION)
        digest = self._digest.digest()
        numbers = struct.unpack("<QQ", digest[:16])
        self.write(".data/serialization_id", "".join(f"{n:020d}" for n in numbers).encode())
        self._zip.close()

    def write(self, record: str, data: bytes | memoryview) -> None:
        """Add a record. Its bytes are not copied."""
        name = f"{self._name}/{record}"
        info = zipfile.ZipInfo(name)
        big = len(data) * 1.05 > zipfile.ZIP64_LIMIT  # zipfile's own criterion for long sizes
        start = self._zip.start_dir + _LOCAL_HEADER + len(name.encode()) + (20 if big else 0) + 4
        padding = -start % ALIGNMENT
        info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
        with self._zip.open(info, "w", force_zip64=big) as out:
            if options.get_crc32_options():
                for begin in range(0, len(data), _CHUNK):  # in chunks, so that the checksum reads from the cache
                    out.write(data[begin:begin + _CHUNK])
            else:
                _write_unchecked(out, data)
        info.extra = b""  # padding belongs to the local header only
        self._digest.update(f"{name} {info.CRC} {info.file_size};".encode())


def _write_unchecked(out: Any, data: bytes | memoryview) -> None:
    # zipfile has no switch for its checksum: the same bookkeeping as its writer's, without it
    out._file_size += len(data)
    out._fileobj.write(data)


class ArchiveReader:
    """Reads records of an archive. ``RuntimeError`` where it is damaged or not torch's.

    With ``mapped`` (the path of the file) storages are read-only views of the mapped file, read from disk when used.
    """

    def __init__(self, file: BinaryIO, mapped: str | None = None) -> None:
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError, struct.error, NotImplementedError) as e:
            raise _damaged(f"failed finding central directory ({e})") from e
        self._infos = {info.filename: info for info in self._zip.infolist()}
        if not self._infos:
            raise _damaged("the archive is empty")
        self._name = next(iter(self._infos)).partition("/")[0]
        self._map: np.ndarray | None = None
        if mapped is not None:
            self._map = _map_file(mapped)
        self.swap = False

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def has(self, record: str) -> bool:
        """Whether there is such a record."""
        return f"{self._name}/{record}" in self._infos

    def read(self, record: str) -> bytes:
        """A small record as bytes."""
        return self._bytes(record, None).tobytes()

    def storage(self, record: str, nbytes: int) -> np.ndarray:
        """The first ``nbytes`` of a record, ``(nbytes,)`` uint8; nobody else changes the array."""
        return self._bytes(record, nbytes)

    def _bytes(self, record: str, nbytes: int | None) -> np.ndarray:
        info = self._infos.get(f"{self._name}/{record}")
        if info is None:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {record}: file not found. The archive holds: "
                f"{', '.join(sorted(self._infos)[:8])}"
            )
        size = info.file_size if nbytes is None else nbytes
        if size > info.file_size:
            raise _damaged(f"record {record} has {info.file_size} bytes where {size} are expected")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            return self._inflate(info, size)
        begin = self._begin(info)
        if self._map is not None:
            if begin + size > len(self._map):
                raise _damaged(f"record {record} reaches beyond the end of the file")
            return self._map[begin:begin + size]
        data = aligned_empty(size)
        self._file.seek(begin)
        _read_into(self._file, memoryview(data) if size else memoryview(b""), record)
        return data

    def _inflate(self, info: zipfile.ZipInfo, size: int) -> np.ndarray:
        """A record of an archive that another program packed again with compression."""
        try:
            with self._zip.open(info) as packed:
                data = packed.read(size)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, OSError, ValueError) as e:
            raise _damaged(f"cannot read {info.filename} ({e})") from e
        if len(data) != size:
            raise _damaged(f"record {info.filename} is cut off")
        out = aligned_empty(size)
        out[:] = np.frombuffer(data, np.uint8)
        return out

    def _begin(self, info: zipfile.ZipInfo) -> int:
        """Where the record's bytes begin in the file."""
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        if len(header) != _LOCAL_HEADER or header[:4] != _SIGNATURE:
            raise _damaged(f"no local header for {info.filename}")
        name, extra = struct.unpack("<HH", header[26:30])
        return info.header_offset + _LOCAL_HEADER + name + extra

    def byte_order(self) -> str:
        """"little" or "big": what the archive says, or the default for archives that do not say it."""
        if self.has("byteorder"):
            order = self.read("byteorder").decode("ascii", "replace")
            if order not in ("little", "big"):
                raise ValueError(f"Unknown endianness type: {order}")
            return order
        default = options.get_default_load_endianness()
        if default is options.LoadEndianness.NATIVE:
            return sys.byteorder
        return "big" if default is options.LoadEndianness.BIG else "little"


def _read_into(file: BinaryIO, view: memoryview, record: str) -> None:
    got = 0
    readinto = getattr(file, "readinto", None)
    while got < len(view):
        if readinto is not None:
            n = readinto(view[got:])
        else:
            piece = file.read(len(view) - got)
            n = len(piece)
            view[got:got + n] = piece
        if not n:
            raise _damaged(f"record {record} is cut off: {got} of {len(view)} bytes")
        got += n


def _map_file(path: str) -> np.ndarray:
    with open(path, "rb") as file:
        flags = {} if sys.platform == "win32" else {"flags": options.get_default_mmap_options(), "prot": mmap.PROT_READ}
        mapping = mmap.mmap(file.fileno(), 0, **(flags or {"access": mmap.ACCESS_READ}))
    return np.frombuffer(mapping, np.uint8)


def _damaged(what: str) -> RuntimeError:
    return RuntimeError(
        f"PytorchStreamReader failed reading zip archive: {what}. The checkpoint is probably damaged: it may have "
        "been cut off while it was saved or transferred. Save or download it again."
    )
