"""``torch.backends.cuda``: matrix products, attention and libraries on NVIDIA GPUs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torchlike.backends import precision
from torchlike.backends.switches import Switch, scoped

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp", "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp",
    "enable_mem_efficient_sdp", "flash_sdp_enabled", "fp16_bf16_reduction_math_sdp_allowed", "is_built", "is_flash_attention_available",
    "matmul", "math_sdp_enabled", "mem_efficient_sdp_enabled", "sdp_kernel",
]  # fmt: skip


def is_built() -> bool:
    """Whether JAX's CUDA plugin is installed; says nothing of a GPU being there."""
    return any(importlib.util.find_spec(f"jax_cuda{release}_plugin") for release in (12, 13))


class cuBLASModule:
    """The switches of matrix products. XLA accumulates half-precision products in float32 whatever the last three say."""

    fp32_precision = precision.Precision("cuda", "matmul")
    allow_fp16_reduced_precision_reduction = Switch(True)
    allow_bf16_reduced_precision_reduction = Switch(True)
    allow_fp16_accumulation = Switch(False)

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 products may be computed in TF32."""
        return precision.effective("cuda", "matmul") == "tf32"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        precision.allow_tf32_in_matmul(allowed)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"Unknown attribute {name}")
        object.__setattr__(self, name, value)


matmul = cuBLASModule()


class _Attention:
    """Which implementations of scaled_dot_product_attention may be chosen. They differ in speed, not in what they compute."""

    flash = Switch(True)
    math = Switch(True)
    mem_efficient = Switch(True)
    cudnn = Switch(True)
    reduced_math = Switch(False)


attention = _Attention()


def flash_sdp_enabled() -> bool:
    """Whether flash attention may be chosen."""
    return attention.flash


def enable_flash_sdp(enabled: bool) -> None:
    """Whether flash attention may be chosen."""
    attention.flash = enabled


def math_sdp_enabled() -> bool:
    """Whether the plain formula may be chosen."""
    return attention.math


def enable_math_sdp(enabled: bool) -> None:
    """Whether the plain formula may be chosen."""
    attention.math = enabled


def mem_efficient_sdp_enabled() -> bool:
    """Whether memory-efficient attention may be chosen."""
    return attention.mem_efficient


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Whether memory-efficient attention may be chosen."""
    attention.mem_efficient = enabled


def cudnn_sdp_enabled() -> bool:
    """Whether cuDNN's attention may be chosen."""
    return attention.cudnn


def enable_cudnn_sdp(enabled: bool) -> None:
    """Whether cuDNN's attention may be chosen."""
    attention.cudnn = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether the plain formula may accumulate in half precision; here it never does."""
    return attention.reduced_math


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allow half-precision accumulation in the plain formula; a permission that is not made use of."""
    attention.reduced_math = enabled


def is_flash_attention_available() -> bool:
    """Whether torch's own flash kernels are built in: no."""
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """The implementations of attention that may be chosen within the block."""
    with scoped(attention, flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn):
        yield
