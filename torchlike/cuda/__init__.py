"""``torch.cuda``: NVIDIA GPUs, as JAX sees them.

Asking whether there is one initialises JAX's backends, as asking torch initialises CUDA's driver. The current device is always
the first: name another one (``device="cuda:1"``). Random numbers of CUDA tensors are drawn from the default generator, on the
host, so the seeds set here are that generator's.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from torchlike import engine, random
from torchlike.engine.device import devices_of
from torchlike.tensor.device import device as Device

__all__ = [
    "OutOfMemoryError", "current_device", "device", "device_count", "empty_cache", "get_arch_list", "get_device_capability", "get_device_name",
    "get_device_properties", "get_rng_state", "get_rng_state_all", "init", "initial_seed", "is_available", "is_bf16_supported",
    "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated", "mem_get_info", "memory_allocated", "memory_reserved",
    "memory_stats", "seed", "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "synchronize",
]  # fmt: skip


class OutOfMemoryError(RuntimeError):
    """A GPU has no memory left for what was asked of it."""


@dataclass(frozen=True)
class DeviceProperties:
    """What a GPU is. ``total_memory`` is what JAX may take of it, in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def device_count() -> int:
    """How many GPUs JAX can use; 0 without its CUDA plugin."""
    return len(devices_of("cuda"))


def is_available() -> bool:
    """Whether there is a GPU that JAX can use."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether there is a GPU; JAX initialises it by itself."""
    return is_available()


def _found(device: Any = None) -> Any:
    """The JAX device of an index, a string or a ``torch.device``; AssertionError as torch raises it when there is no GPU."""
    present = devices_of("cuda")
    if not present:
        raise AssertionError("Torch not compiled with CUDA enabled: JAX has no CUDA device here (pip install 'torchlike[cuda12]' on a GPU machine)")
    index = device if isinstance(device, int) else Device(device).index if device is not None else 0
    if not 0 <= (index or 0) < len(present):
        raise RuntimeError(f"CUDA error: invalid device ordinal {index}, there are {len(present)} devices")
    return present[index or 0]


def init() -> None:
    """Make sure that there is a GPU."""
    _found()


def current_device() -> int:
    """The index of the device that "cuda" means: 0."""
    _found()
    return 0


def set_device(device: Any) -> None:
    """Make a device the current one. Only the first can be; name others where tensors are made.

    Raises:
        NotImplementedError: another device than the first.
    """
    index = device if isinstance(device, int) else Device(device).index or 0
    if index < 0:
        return
    _found(index)
    if index != 0:
        raise NotImplementedError(f'torchlike always means the first GPU by "cuda"; write device="cuda:{index}" where tensors are made')


class device:
    """``with torch.cuda.device(0):`` makes a device the current one, under the conditions of ``set_device``."""

    def __init__(self, device: Any) -> None:
        self._wanted = device

    def __enter__(self) -> None:
        set_device(self._wanted)

    def __exit__(self, *error: object) -> None:
        pass


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What a GPU is."""
    found = _found(device)
    major, _, minor = str(found.compute_capability).partition(".")
    return DeviceProperties(found.device_kind, int(major), int(minor or 0), (found.memory_stats() or {}).get("bytes_limit", 0), found.core_count)


def get_device_name(device: Any = None) -> str:
    """A GPU's name."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """A GPU's compute capability, as (major, minor)."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def get_arch_list() -> list[str]:
    """The architectures of the GPUs here; XLA compiles for them when it runs, not before."""
    return sorted({"sm_" + str(found.compute_capability).replace(".", "") for found in devices_of("cuda")})


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 is fast on the GPU, or with ``including_emulation`` whether it works."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has computed everything that was asked of it."""
    found = _found(device)
    engine.flush()
    (jnp.zeros((), device=found) + 1).block_until_ready()  # programs run in order on a device


def empty_cache() -> None:
    """Nothing: JAX keeps its pool of memory, and no program of this process is kept waiting for it."""


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """What JAX counts of a GPU's memory, under JAX's names; empty without a GPU."""
    return OrderedDict(sorted((_found(device).memory_stats() or {}).items())) if is_available() else OrderedDict()


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by arrays on a GPU."""
    return memory_stats(device).get("bytes_in_use", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes in use since the start."""
    return memory_stats(device).get("peak_bytes_in_use", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes that JAX has taken from the GPU for its pool."""
    statistics = memory_stats(device)
    return statistics.get("pool_bytes", statistics.get("bytes_reserved", 0))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of what JAX may take of a GPU."""
    statistics = _found(device).memory_stats() or {}
    total = statistics.get("bytes_limit", 0)
    return total - statistics.get("bytes_in_use", 0), total


def manual_seed(seed: int) -> None:
    """Seed the numbers of CUDA tensors (see the module); nothing without a GPU, as in torch."""
    seed = int(seed)
    if is_available():
        random.default_generator.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the numbers of tensors on every GPU; nothing without one, as in torch."""
    manual_seed(seed)


def seed() -> None:
    """Seed the numbers of CUDA tensors from the operating system; nothing without a GPU."""
    if is_available():
        random.default_generator.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed that the numbers of CUDA tensors began with."""
    _found()
    return random.default_generator.initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of the generator that CUDA tensors draw from."""
    _found(device)
    return random.get_rng_state()


def get_rng_state_all() -> list[Any]:
    """The same, once for every GPU."""
    return [random.get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of the generator that CUDA tensors draw from."""
    _found(device)
    random.set_rng_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    """Set the state from the first of a list with one for every GPU."""
    for state in list(new_states)[:1]:
        set_rng_state(state)
