"""Printing a tensor: what of it to bring to the host, and ``printing.tensor_repr`` for the text."""

from __future__ import annotations

from typing import Any

from torchlike.ops import promotion
from torchlike.tensor import dtypes
from torchlike.tensor.tensor import Tensor


def render(t: Tensor) -> str:
    """``repr(t)`` as torch writes it."""
    from torchlike.tensor import printing

    node = t.grad_fn
    return printing.tensor_repr(
        _elements(t),
        shape=t.shape,
        dtype_name=t.dtype.name,
        default_dtype_name=dtypes.of_numpy(promotion.default_dtype()).name,
        device_suffix=None if t._value.aval.device == "cpu" else str(t.device),
        requires_grad=t.requires_grad,
        grad_fn_name=None if node is None else type(node).__name__,
        class_name="tensor" if type(t) is Tensor or type(t).__name__ == "Parameter" else type(t).__name__,
    )


def _elements(t: Tensor) -> Any:
    return None if t.is_meta else t._host()
