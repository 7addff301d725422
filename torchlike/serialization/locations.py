"""Where loaded storages go: location tags ("cpu", "cuda:1", "meta"), ``map_location``, and the registry of places."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from torchlike.serialization import bridge
from torchlike.serialization.storages import UntypedStorage

__all__ = [
    "default_restore_location",
    "location_tag",
    "register_package",
    "restorer",
    "validate_cuda_device",
]

Restore = Callable[[UntypedStorage, str], UntypedStorage]

_registry: list[tuple[int, Callable[[Any], str | None], Callable[[Any, str], Any]]] = []

current_map_location: ContextVar[Any] = ContextVar("torchlike_map_location", default=None)
"""The ``map_location`` of the load in progress, for tensors that carry a device of their own in the file."""


def register_package(
    priority: int, tagger: Callable[[Any], str | None], deserializer: Callable[[Any, str], Any]
) -> None:
    """Teach ``save`` and ``load`` a place for storages.

    Args:
        priority: lower numbers are asked first.
        tagger: storage -> its location tag, or None when it lives elsewhere.
        deserializer: (storage, tag) -> the storage at its place, or None when the tag means nothing to it.
    """
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The tag that a storage is saved with. ``RuntimeError`` when no registered place claims it."""
    for _, tagger, _ in _registry:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """Put a storage where its tag says. ``RuntimeError`` when that place is unknown or absent on this machine."""
    for _, _, deserializer in _registry:
        placed = deserializer(storage, location)
        if placed is not None:
            return placed
    raise RuntimeError(
        f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})"
    )


def restorer(map_location: Any) -> Restore:
    """``map_location`` (None, string, device, dict of tags, or callable) as one function of (storage, tag)."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, str) or bridge.is_device(map_location):
        target = str(map_location)
        return lambda storage, location: default_restore_location(storage, target)

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        placed = map_location(storage, location)
        return default_restore_location(storage, location) if placed is None else placed

    return restore


def validate_cuda_device(location: str) -> int:
    """The index in a tag like "cuda:1". ``RuntimeError`` when this machine has no such device."""
    index = int(location[5:]) if location.startswith("cuda:") else 0
    count = bridge.device_count("cuda")
    if not count:
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. "
            "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') "
            "to map your storages to the CPU."
        )
    if index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is {count}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )
    return index


def _cpu(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return storage.to("cpu") if location == "cpu" else None


def _meta(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return storage.to("meta") if location == "meta" else None


def _cuda(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    if not re.fullmatch(r"cuda(:\d+)?", location):
        return None
    return storage.to(f"cuda:{validate_cuda_device(location)}")


def _tagger(kind: str) -> Callable[[Any], str | None]:
    def tag(storage: Any) -> str | None:
        name = str(storage.device)
        if name.partition(":")[0] != kind:
            return None
        return f"{kind}:{name.partition(':')[2] or 0}" if kind == "cuda" else kind

    return tag


register_package(10, _tagger("cpu"), _cpu)
register_package(20, _tagger("cuda"), _cuda)
register_package(22, _tagger("meta"), _meta)
