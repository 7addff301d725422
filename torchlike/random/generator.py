"""``torch.Generator``, the default generator, and the state of it: ``manual_seed, get_rng_state, fork_rng, ...``."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from torchlike.random.streams import Stream
from torchlike.tensor.device import device as Device
from torchlike.tensor.tensor import Tensor

DEFAULT_SEED = 67280421310721


class Generator:
    """A source of random numbers: torch's CPU stream, whatever the device (numbers are drawn on the host)."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = Device(device)
        self.stream = Stream()
        self.stream.seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed."""
        self.stream.seed(_checked(seed))
        return self

    def seed(self) -> int:
        """Start with a seed from the operating system; the seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.stream.seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed that the stream started with."""
        return self.stream.initial_seed

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes, as torch has it."""
        return Tensor._from_numpy(self.stream.get_state())

    def set_state(self, new_state: Tensor) -> None:
        """Take over a state."""
        if not isinstance(new_state, Tensor) or new_state.dtype.name != "uint8":
            raise TypeError("expected a torch.ByteTensor, but got " + (new_state.type() if isinstance(new_state, Tensor) else type(new_state).__name__))
        self.stream.set_state(np.array(new_state._host()))

    def clone_state(self) -> Generator:
        """A generator with the same state."""
        other = Generator(self.device)
        other.set_state(self.get_state())
        return other

    graphsafe_get_state = clone_state

    def __reduce__(self) -> Any:
        return _rebuild, (str(self.device), np.array(self.stream.get_state()), self.initial_seed())

    def __deepcopy__(self, memo: Any) -> Generator:
        return self.clone_state()


def _rebuild(device: str, state: np.ndarray, initial_seed: int) -> Generator:
    g = Generator(device)
    g.stream.seed(initial_seed)
    g.stream.set_state(state)
    return g


def _checked(seed: Any) -> int:
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return seed % 2**64


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the operating system."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices", device_type: str = "cuda") -> Iterator[None]:
    """A block after which the default generator is as it was before."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


_thread = threading.local()


@contextlib.contextmanager
def thread_generator(generator: Generator) -> Iterator[Generator]:
    """A block in which this thread draws from a generator of its own when it names none: a data loader's worker thread."""
    before = thread_safe_generator()
    _thread.generator = generator
    try:
        yield generator
    finally:
        _thread.generator = before


def thread_safe_generator() -> Generator | None:
    """The generator of this thread (a data loader's worker); None where the default generator serves."""
    return getattr(_thread, "generator", None)
