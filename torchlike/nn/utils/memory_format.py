"""Convolution weights in another memory format."""

from __future__ import annotations

from typing import Any

from torchlike.autograd.modes import no_grad
from torchlike.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Any, kinds: tuple[type, ...], memory_format: Any) -> Any:
    with no_grad():
        for m in module.modules():
            if isinstance(m, kinds):
                m.weight.data = m.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Weights of all ``Conv2d`` and ``ConvTranspose2d`` in ``memory_format``."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Weights of all ``Conv3d`` and ``ConvTranspose3d`` in ``memory_format``."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
