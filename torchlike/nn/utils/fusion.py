"""Batch normalisation folded into the convolution or linear layer before it (for evaluation)."""

from __future__ import annotations

import copy
from typing import Any

import torchlike as torch
from torchlike.nn.parameter import Parameter
from torchlike.tensor.tensor import Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of ``conv`` that also does what ``bn`` does in evaluation."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("BatchNorm layer must have running_mean and running_var set to be fused")
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def _scale(bn_rv: Tensor, bn_eps: float, bn_w: Tensor) -> Tensor:
    return bn_w * torch.rsqrt(bn_rv + bn_eps)


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
                         bn_b: Tensor | None, transpose: bool = False) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias of a convolution with the normalisation in them."""
    conv_b = torch.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = torch.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = torch.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = _scale(bn_rv, bn_eps, bn_w)
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(dtype=conv_w.dtype)
    bias = ((conv_b - bn_rm) * scale + bn_b).to(dtype=conv_b.dtype)
    return Parameter(weight.detach(), conv_w.requires_grad), Parameter(bias.detach(), conv_b.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of ``linear`` that also does what ``bn`` does in evaluation."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("BatchNorm layer must have running_mean and running_var set to be fused")
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor,
                           bn_b: Tensor) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias of a linear layer with the normalisation in them."""
    linear_b = torch.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = _scale(bn_rv, bn_eps, bn_w)
    weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_w.dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(dtype=linear_b.dtype)
    return Parameter(weight.detach(), linear_w.requires_grad), Parameter(bias.detach(), linear_b.requires_grad)
