"""``torch.device`` and the default device."""

from __future__ import annotations

import threading
from typing import Any

_KINDS = ("cpu", "cuda", "tpu", "xla", "meta", "mps", "xpu", "hpu", "mtia")


class device:
    """A device: ``device("cuda:1")``, ``device("cuda", 1)``, ``device("cpu")``; as a context manager, the default device.

    Attributes: ``type`` and ``index`` (None where none was given).
    """

    __slots__ = ("_before", "engine", "index", "type")

    def __init__(self, type: Any = None, index: int | None = None, *, device: Any = None) -> None:
        given = type if type is not None else device
        if isinstance(given, globals()["device"]):
            given, index = given.type, given.index if index is None else index
        if isinstance(given, int) and not isinstance(given, bool):
            given, index = "cuda", given
        if not isinstance(given, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {given.__class__.__name__}")
        kind, colon, number = given.partition(":")
        if kind not in _KINDS:
            raise RuntimeError(f"Expected one of {', '.join(_KINDS)} device type at start of device string: {given}")
        if colon:
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{given}'")
            index = int(number)
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        self.type, self.index = kind, index
        self._before: list[Any] = []
        self.engine = kind if kind in ("cpu", "meta") and not index else f"{kind}:{index or 0}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __deepcopy__(self, memo: Any) -> device:
        return self

    def __enter__(self) -> device:
        self._before.append(_default.device)
        _default.device = self
        return self

    def __exit__(self, *error: object) -> None:
        _default.device = self._before.pop()

    def __call__(self, function: Any) -> Any:
        import functools

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return decorated


class _Default(threading.local):
    device: device | None = None


_default = _Default()
CPU = device("cpu")


def set_default_device(d: Any) -> None:
    """Where tensors are made when no ``device=`` is given; None means the CPU."""
    _default.device = None if d is None else device(d)


def get_default_device() -> device:
    """The device where tensors are made when none is given."""
    return _default.device or CPU


def engine_device(d: Any) -> str:
    """The engine's name of a device argument (None means the default device)."""
    if d is None:
        chosen = _default.device
        return "cpu" if chosen is None else chosen.engine
    return (d if isinstance(d, device) else device(d)).engine


def from_engine(name: str) -> device:
    """The ``torch.device`` of an engine's device name."""
    return CPU if name == "cpu" else device(name)
