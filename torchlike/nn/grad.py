"""``torch.nn.grad``: the gradients of convolutions as functions of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torchlike as torch
from torchlike.nn import functional as F
from torchlike.tensor.tensor import Tensor


def _of_input(function: Callable[..., Tensor], input_size: Any, weight: Tensor, grad_output: Tensor, *geometry: Any) -> Tensor:
    with torch.enable_grad():
        input = torch.zeros(tuple(input_size), dtype=weight.dtype, device=weight.device, requires_grad=True)
        return torch.autograd.grad(function(input, weight, None, *geometry), input, grad_output)[0]


def _of_weight(function: Callable[..., Tensor], input: Tensor, weight_size: Any, grad_output: Tensor, *geometry: Any) -> Tensor:
    with torch.enable_grad():
        weight = torch.zeros(tuple(weight_size), dtype=input.dtype, device=input.device, requires_grad=True)
        return torch.autograd.grad(function(input, weight, None, *geometry), weight, grad_output)[0]


def conv1d_input(input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of ``conv1d`` with respect to its input, of ``input_size``."""
    return _of_input(F.conv1d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                  groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of ``conv1d`` with respect to its weight, of ``weight_size``."""
    return _of_weight(F.conv1d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of ``conv2d`` with respect to its input, of ``input_size``."""
    return _of_input(F.conv2d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                  groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of ``conv2d`` with respect to its weight, of ``weight_size``."""
    return _of_weight(F.conv2d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of ``conv3d`` with respect to its input, of ``input_size``."""
    return _of_input(F.conv3d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                  groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of ``conv3d`` with respect to its weight, of ``weight_size``."""
    return _of_weight(F.conv3d, input, weight_size, grad_output, stride, padding, dilation, groups)
