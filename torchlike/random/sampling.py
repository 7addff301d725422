"""Random tensors: ``rand, randn, randint, randperm, normal_, uniform_, bernoulli_, ...``, drawn on the host as torch draws."""

from __future__ import annotations

from typing import Any

from torchlike.random.generator import default_generator
from torchlike.tensor.facade import facade
from torchlike.tensor.tensor import Tensor


@facade(function=False)
def uniform_(input: Tensor, from_: float = 0, to: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with uniform numbers of [from, to)."""
    input._check_inplace()
    s = (generator or default_generator).stream
    aval = input._value.aval
    input._write(Tensor._from_numpy(s.uniform(aval.size, from_, to, aval.dtype).reshape(aval.shape), device=aval.device))
    return input


@facade(method=False, override=False)
def manual_seed(seed: int) -> Any:
    """Seed the default generator."""
    default_generator.stream.seed(seed)
    return default_generator
