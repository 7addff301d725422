"""What a file may name when it is loaded with ``weights_only=True``: a fixed table, and what the user adds to it."""

from __future__ import annotations

import functools
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from torchlike.nn.parameter import Parameter
from torchlike.serialization import rebuild, torch_names
from torchlike.serialization.storages import STORAGE_CLASSES, StorageType, TypedStorage, UntypedStorage
from torchlike.tensor import dtypes
from torchlike.tensor.device import device as Device
from torchlike.tensor.size import Size
from torchlike.tensor.tensor import Tensor

__all__ = ["add_safe_globals", "builtin", "clear_safe_globals", "get_safe_globals", "is_allowed", "safe_globals"]

# Never reachable, even when the user adds something from them.
BLOCKED_MODULES = ("sys", "os", "posix", "nt")

_added: dict[Any, None] = {}


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Allow classes and functions to be named by files loaded with ``weights_only=True``.

    Args:
        safe_globals: classes or functions; or pairs of one and the full name that files have for it.
    """
    _added.update(dict.fromkeys(safe_globals))


def get_safe_globals() -> list[Any]:
    """What was added."""
    return list(_added)


def clear_safe_globals() -> None:
    """Take back everything that was added."""
    _added.clear()


class safe_globals:
    """A block in which more classes and functions are allowed: ``with safe_globals([MyClass]): torch.load(...)``."""

    def __init__(self, safe_globals: Sequence[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for entry in self.safe_globals:
            _added.pop(entry, None)


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    """``_codecs.encode`` as pickles use it for bytes; other codecs are not for files to choose."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("only latin1 text can stand for bytes in a checkpoint")
    return text.encode("latin1")


def _bytearray(*args: Any) -> bytearray:
    """``bytearray`` of bytes or text: not of a number, which would be a size."""
    if args and not isinstance(args[0], (bytes, str)):
        raise pickle.UnpicklingError("a bytearray in a checkpoint must be made of bytes")
    return bytearray(*args)


@functools.cache
def builtin() -> dict[str, Any]:
    """Full name to object, for everything that is allowed without being added."""
    table: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "builtins.set": set,
        "builtins.complex": complex,
        "builtins.bytearray": _bytearray,
        "_codecs.encode": _encode,
        "torch.Size": Size,
        "torch.device": Device,
        "torch.Tensor": Tensor,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.storage.UntypedStorage": UntypedStorage,
        "torch.storage.TypedStorage": TypedStorage,
        **rebuild.CALLABLE,
    }
    for name in STORAGE_CLASSES:
        table[f"torch.{name}"] = table[f"torch.cuda.{name}"] = StorageType(name)
    for dtype in dtypes.DTYPES:
        table[f"torch.{dtype.name}"] = dtype
    return table


@functools.cache
def _callable() -> tuple[Any, ...]:
    """Of the table, what may be called: not the tensor and storage classes, which take sizes and so memory."""
    return OrderedDict, Counter, set, complex, _bytearray, _encode, Size, Device, *rebuild.CALLABLE.values()


def user_table() -> dict[str, Any]:
    """Full name to object, for what was added."""
    table = {}
    for entry in _added:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                    f"{len(entry)}"
                )
            if type(entry[1]) is not str:
                raise TypeError(
                    f"Expected second item in tuple to be str of callable full path, but got: {type(entry[1])}"
                )
            table[entry[1]] = entry[0]
        else:
            table[".".join(torch_names.torch_path(entry))] = entry
            table[f"{entry.__module__}.{entry.__qualname__}"] = entry
    return table


def is_allowed(full_name: str) -> bool:
    """Whether a file may name it now."""
    return full_name in builtin() or full_name in user_table()


def find(module: str, name: str) -> Any:
    """The object with a full name. ``UnpicklingError`` when it is not allowed; nothing is imported."""
    full = f"{module}.{name}"
    if module.partition(".")[0] in BLOCKED_MODULES:
        raise pickle.UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
    found = builtin().get(full)
    if found is not None:
        return found
    found = user_table().get(full)
    if found is not None:
        return found
    shown = full.removeprefix("builtins.")
    raise pickle.UnpicklingError(
        f"Unsupported global: GLOBAL {shown} was not an allowed global by default. "
        f"Please use `torch.serialization.add_safe_globals([{shown}])` or the "
        f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global "
        "if you trust this class/function."
    )


def _contains(objects: Any, x: Any) -> bool:
    """Membership by identity: an object of a file must not be asked whether it equals something."""
    return any(o is x for o in objects)


def checked_call(function: Any) -> Callable[..., Any]:
    """``function``, if it may be called."""
    if not _contains(_callable(), function) and not _contains(user_table().values(), function):
        raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function!r}")
    return function


def checked_new(cls: Any) -> Callable[..., Any]:
    """The constructor of a class, if instances may be made."""
    if cls is Parameter:
        return rebuild.new_parameter
    if _contains((OrderedDict, Counter, set, complex, Size), cls) or _contains(user_table().values(), cls):
        if not isinstance(cls, type):
            raise pickle.UnpicklingError(f"{cls!r} is not a class")
        return functools.partial(cls.__new__, cls)
    raise pickle.UnpicklingError(
        f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got {cls}"
    )


def check_build(instance: Any) -> None:
    """Raise unless the state of such an instance may come from a file."""
    if not _contains(user_table().values(), type(instance)):
        raise pickle.UnpicklingError(
            "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
            f"but got {type(instance)}"
        )
