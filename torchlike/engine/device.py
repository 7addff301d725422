"""Device names ("cpu", "cuda:0") and the JAX devices they stand for, looked up when first needed."""

from __future__ import annotations

import functools
from typing import Any

import jax

_PLATFORM = {"cpu": "cpu", "cuda": "gpu", "gpu": "gpu", "tpu": "tpu", "xla": "tpu"}
_NAME = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda", "rocm": "cuda", "tpu": "tpu"}


@functools.cache
def devices_of(kind: str) -> tuple[Any, ...]:
    """The JAX devices of a kind ("cpu", "cuda", "tpu"); empty when this machine has none."""
    try:
        return tuple(jax.local_devices(backend=_PLATFORM[kind]))
    except (RuntimeError, KeyError):
        return ()


@functools.cache
def resolve_device(name: str) -> Any:
    """The JAX device of "cpu", "cuda:1", ...; ``RuntimeError`` when there is none."""
    kind, _, index = name.partition(":")
    found = devices_of(kind)
    if not found:
        raise RuntimeError(f"no {kind} device: JAX sees only {sorted({d.platform for d in jax.devices()})} on this machine")
    position = int(index or 0)
    if position >= len(found):
        raise RuntimeError(f"{name}: invalid device ordinal, this machine has {len(found)} {kind} device(s)")
    return found[position]


@functools.cache
def device_name(device: Any) -> str:
    """The name of a JAX device: "cpu" for the host's first, "cuda:0", "tpu:1", ..."""
    kind = _NAME.get(device.platform, device.platform)
    siblings = devices_of(kind)
    position = siblings.index(device) if device in siblings else device.id
    return kind if kind == "cpu" and position == 0 else f"{kind}:{position}"


def default_device() -> str:
    """Where tensors are made when no device is named. As in torch it is the CPU, whatever JAX would prefer."""
    return "cpu"


def is_cpu(name: str) -> bool:
    """Whether the name means the host."""
    return name == "cpu" or name.startswith("cpu:")
