"""Layer, group, root-mean-square and local response normalisation."""

from __future__ import annotations

import numbers
from typing import Any

import torchlike as torch
from torchlike.autograd.function import Function
from torchlike.nn import functional as F
from torchlike.nn import init
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import Parameter
from torchlike.tensor.tensor import Tensor


class LocalResponseNorm(Module):
    """Normalisation over neighbouring channels (Krizhevsky et al., 2012)."""

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LayerNorm(Module):
    """Normalisation over the last dimensions (Ba et al., 2016)."""

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape, self.eps, self.elementwise_affine = tuple(normalized_shape), eps, elementwise_affine
        made = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(torch.empty(self.normalized_shape, **made)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(torch.empty(self.normalized_shape, **made)) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class GroupNorm(Module):
    """Normalisation over groups of channels (Wu and He, 2018)."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None, dtype: Any = None,
                 *, bias: bool = True) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        made = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(torch.empty(num_channels, **made)) if affine else None)
        self.register_parameter("bias", Parameter(torch.empty(num_channels, **made)) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Division by the root mean square over the last dimensions (Zhang and Sennrich, 2019)."""

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape, self.eps, self.elementwise_affine = tuple(normalized_shape), eps, elementwise_affine
        weight = Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def _channel_sums(counts: Tensor, x: Tensor) -> Tensor:
    """Sums over the channels of ``(N, C, H, W)`` that each row of ``counts`` names."""
    return torch.einsum("cj,njhw->nchw", counts.to(x.dtype), x)


class _CrossMapLRN(Function):
    """torch's own forward and backward, which are not quite each other's: channel 0 counts for all channels after it in the
    forward, and the backward's window lies to one side.
    """

    @staticmethod
    def forward(ctx: Any, input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
        i = torch.arange(input.size(1), device=input.device)
        near = ((i[:, None] - i).abs() < int((size - 1) / 2 + 1)) | (i == 0)
        scale = _channel_sums(near, input * input) * (alpha / size) + k
        output = input * scale**-beta
        ctx.save_for_backward(input, output, scale)
        ctx.size, ctx.factor, ctx.beta = size, 2 * alpha * beta / size, beta
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        input, output, scale = ctx.saved_tensors
        i = torch.arange(input.size(1), device=input.device)
        place = i - i[:, None] + int(ctx.size - (ctx.size - 1) / 2)
        ratio = _channel_sums((place >= 0) & (place < ctx.size), grad_output * output / scale)
        return grad_output * scale**-ctx.beta - ctx.factor * input * ratio, None, None, None, None


class CrossMapLRN2d(Module):
    """Normalisation over neighbouring channels of ``(N, C, H, W)``, as in Torch 7."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return _CrossMapLRN.apply(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
