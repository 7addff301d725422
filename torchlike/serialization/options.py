"""Settings of saving and loading: byte order, checksums, the kind of memory mapping."""

from __future__ import annotations

import mmap
from enum import Enum
from types import TracebackType

__all__ = [
    "LoadEndianness",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
]


class LoadEndianness(Enum):
    """The byte order assumed for a file that does not say its own (files before torch 2.1)."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_load_endianness: LoadEndianness | None = None
_compute_crc32 = True
_mmap_flags: int = getattr(mmap, "MAP_PRIVATE", 2)


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order for files without a ``byteorder`` record; None means little endian."""
    return _load_endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order for files without a ``byteorder`` record. ``TypeError`` for another class."""
    global _load_endianness
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _load_endianness = endianness


def get_crc32_options() -> bool:
    """Whether ``save`` writes a checksum for each record."""
    return _compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Choose whether ``save`` writes checksums. Without them it is faster, and ``unzip`` reports damaged records."""
    global _compute_crc32
    _compute_crc32 = bool(compute_crc32)


def get_default_mmap_options() -> int:
    """The flag (``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``) of ``load(..., mmap=True)``."""
    return _mmap_flags


class set_default_mmap_options:
    """Set the mapping flag of ``load(..., mmap=True)``, for good or, in a ``with`` statement, for a block.

    Values are immutable in torchlike: nothing is ever written to a mapped file, whichever flag is set.
    """

    def __init__(self, flags: int) -> None:
        global _mmap_flags
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, "
                f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = _mmap_flags
        _mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        global _mmap_flags
        _mmap_flags = self.prev
