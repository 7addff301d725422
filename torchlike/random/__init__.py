"""``torch.random``: torch's CPU random streams, and the state of the default generator."""

from torchlike.random.generator import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    thread_generator,
    thread_safe_generator,
)

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
    "thread_generator", "thread_safe_generator",
]  # fmt: skip
