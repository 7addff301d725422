"""Limits for gradients: ``clip_grad_norm_``, ``clip_grad_value_`` and their parts."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

import torchlike as torch
from torchlike.autograd.modes import no_grad
from torchlike.tensor.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters: Any) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    empty_generator = isinstance(parameters, types.GeneratorType)
    parameters = list(parameters)
    if empty_generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """The norm of all elements of ``tensors`` together. ``RuntimeError`` for NaN or infinity with ``error_if_nonfinite``."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return torch.tensor(0.0)
    norm_type = float(norm_type)
    with no_grad():
        first = tensors[0].device
        norms = [torch.linalg.vector_norm(t, norm_type) for t in tensors]
        total = torch.linalg.vector_norm(torch.stack([n.to(first) for n in norms]), norm_type)
    if error_if_nonfinite and bool(torch.logical_or(total.isnan(), total.isinf())):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this "
            "error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Multiply the gradients by ``max_norm / (total_norm + 1e-6)`` where that is below 1."""
    with no_grad():
        # Multiplied also by 1: a test would end the trace.
        factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for g in _gradients(parameters):
            g.mul_(factor.to(g.device))


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Scale the gradients so that their norm together is at most ``max_norm``; gives the norm before."""
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    if isinstance(parameters, types.GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    parameters = list(parameters)
    total = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:  # fmt: skip
    """``clip_grad_norm_`` under its old name."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limit every element of the gradients to ``[-clip_value, clip_value]``."""
    clip_value = float(clip_value)
    with no_grad():
        for g in _gradients(parameters):
            g.clamp_(min=-clip_value, max=clip_value)
