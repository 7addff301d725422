"""``torch.save``: objects with tensors into a file that torch reads."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import secrets
import stat
import sys
from collections.abc import Iterator
from typing import Any

from torchlike.serialization import legacy
from torchlike.serialization.pickler import dump
from torchlike.serialization.zipfile_format import ALIGNMENT, FORMAT_VERSION, ArchiveWriter

__all__ = ["DEFAULT_PROTOCOL", "save"]

DEFAULT_PROTOCOL = 2
_BUFFER = 1 << 20


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save ``obj`` (tensors, containers, modules, optimizer states, anything that can be pickled).

    Tensors that share memory are saved with one copy of it, and share it again after loading. Classes of torchlike are
    written under torch's names, so that real torch reads the file.

    Args:
        obj: what to save.
        f: a path, or a binary file with ``write``. A path is replaced only when everything was written: the data goes
            to a temporary file in the same folder, which then takes the name.
        pickle_module: a module like ``pickle``. With another one, real torch may not be able to read the file.
        pickle_protocol: the pickle protocol.

    Raises:
        AttributeError: ``f`` is neither a path nor has ``write``.
        RuntimeError: the folder does not exist; or two tensors view the same memory as different types.
    """
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if pickle_module is None:
        pickle_module = pickle
    with _opened(f) as (file, name):
        if not _use_new_zipfile_serialization:
            legacy.write(obj, file, pickle_module, pickle_protocol)
            return
        pickled = io.BytesIO()
        records = dump(obj, pickled, pickle_protocol, pickle_module)
        with ArchiveWriter(file, name) as archive:
            archive.write("data.pkl", pickled.getbuffer())
            archive.write(".format_version", FORMAT_VERSION)
            archive.write(".storage_alignment", str(ALIGNMENT).encode())
            if not _disable_byteorder_record:
                archive.write("byteorder", sys.byteorder.encode())
            for record in records:
                archive.write(f"data/{record.key}", record.data())


@contextlib.contextmanager
def _opened(f: Any) -> Iterator[tuple[Any, str]]:
    """A file to write to, and the name of the archive in it."""
    if not isinstance(f, (str, os.PathLike)):
        yield f, "archive"
        return
    path = os.path.realpath(os.fspath(f))  # a link stays a link; what it points to is replaced
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    stem = os.path.splitext(os.path.basename(os.fspath(f)))[0]
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise RuntimeError(f"cannot save to {path}: it is a directory")
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb", _BUFFER) as file:  # a device or a pipe cannot be replaced
            yield file, stem
        return
    temporary = os.path.join(folder, f".{name[:100]}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb", _BUFFER) as file:
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            yield file, stem
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except OSError:
        return None
