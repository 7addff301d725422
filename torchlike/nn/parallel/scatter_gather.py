"""``scatter`` and ``gather``: batches split over devices and joined."""

from __future__ import annotations

from typing import Any

import torchlike as torch
from torchlike.tensor.tensor import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """``inputs``, with its tensors cut along ``dim``: a list with one part for each device."""
    n = len(target_gpus)
    if isinstance(inputs, Tensor):
        return [part.to(device) for part, device in zip(torch.chunk(inputs, n, dim), target_gpus, strict=False)]
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        return [type(inputs)(*parts) for parts in zip(*(scatter(x, target_gpus, dim) for x in inputs), strict=False)]
    if isinstance(inputs, (tuple, list)) and inputs:
        return [type(inputs)(parts) for parts in zip(*(scatter(x, target_gpus, dim) for x in inputs), strict=False)]
    if isinstance(inputs, dict) and inputs:
        columns = [scatter(item, target_gpus, dim) for item in inputs.items()]
        return [type(inputs)(pairs) for pairs in zip(*columns, strict=False)]
    return [inputs for _ in range(n)]


def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Any, dim: int = 0) -> tuple[Any, Any]:
    """Positional and keyword arguments for each device."""
    args, named = scatter(inputs, target_gpus, dim) if inputs else [], scatter(kwargs, target_gpus, dim) if kwargs else []
    args += [() for _ in range(len(named) - len(args))]
    named += [{} for _ in range(len(args) - len(named))]
    return tuple(args), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of several devices joined along ``dim`` on one (scalars become a vector)."""
    first = outputs[0]
    if isinstance(first, Tensor):
        parts = [o.to(target_device) for o in outputs]
        return torch.stack(parts) if first.dim() == 0 else torch.cat(parts, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(first) == len(o) for o in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    joined = (gather(list(parts), target_device, dim) for parts in zip(*outputs, strict=True))
    return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)
