"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import torchlike as torch
from torchlike.tensor.tensor import Tensor


def _check_device(tensors: list[Tensor]) -> None:
    if len({str(t.device) for t in tensors}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, one after the other."""
    parameters = list(parameters)
    _check_device(parameters)
    return torch.cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the elements of ``vec``."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    _check_device(parameters)
    start = 0
    for p in parameters:
        n = p.numel()
        p.data = vec[start : start + n].view_as(p).data
        start += n
