"""torch functions over tensors that are queries or small compositions: ``is_tensor, equal, allclose, numel, ...``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike.autograd import tape
from torchlike.tensor import dtypes
from torchlike.tensor.facade import facade
from torchlike.tensor.tensor import Tensor


@facade(method=False, override=False)
def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, Tensor)


@facade(method=False, override=False)
def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage."""
    return type(obj).__name__.endswith("Storage")


@facade(method=False)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating type."""
    return input.dtype.is_floating_point


@facade(method=False)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.dtype.is_complex


@facade(method=False)
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative values."""
    return input.dtype.is_signed


@facade()
def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not zero."""
    return bool(input)


@facade(method=False)
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


@facade()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return input.shape == other.shape


@facade(function=False)
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether both refer to the same storage with the same layout."""
    return input._storage is not None and input._storage is tensor._storage and input._layout() == tensor._layout()


@facade()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether shape and elements are equal."""
    if input.shape != other.shape:
        return False
    if input._value.aval.device != other._value.aval.device:
        raise RuntimeError("Expected all tensors to be on the same device")
    return bool(np.array_equal(input._host(), other._host()))


@facade()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether ``|input - other| <= atol + rtol * |other|`` everywhere."""
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{_name(input)} did not match {_name(other)}")
    if rtol < 0 or atol < 0:
        which, value = ("rtol", rtol) if rtol < 0 else ("atol", atol)
        raise RuntimeError(f"{which} must be greater than or equal to zero, but got {value}")
    a, b = input._host(), other._host()
    if a.dtype.kind == "V":
        a, b = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, b, rtol, atol, equal_nan))


def _name(t: Tensor) -> str:
    from torchlike.tensor.tensor import _scalar_type

    return _scalar_type(t.dtype)


@facade(method=False, override=False)
def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype of arithmetic between the two (tensors or numbers)."""
    from torchlike.ops import promotion

    tensors = [tape.current(t).aval for t in (tensor1, tensor2) if isinstance(t, Tensor)]
    kinds = [type(t).__name__ for t in (tensor1, tensor2) if not isinstance(t, Tensor)]
    return dtypes.of_numpy(promotion.result_dtype(tensors, kinds))


@facade(method=False, override=False)
def typename(obj: Any) -> str:
    """The type of an object as text; of tensors, the tensor type."""
    if isinstance(obj, Tensor):
        return obj.type()
    cls = obj if isinstance(obj, type) else type(obj)
    module = cls.__module__
    return cls.__qualname__ if module in (None, "builtins") else f"{module}.{cls.__qualname__}"


def _stack(self: Tensor, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    from torchlike.tensor.namespace import registry

    return registry.functions["torch"]["stack"](list(tensors), dim)


Tensor._stack = _stack  # type: ignore[attr-defined]


@facade(method=True, function=False)
def map_(input: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Apply a Python function to pairs of elements, in place."""
    a, b = np.broadcast_arrays(input._host(), tensor._host())
    flat = [callable(x.item(), y.item()) for x, y in zip(a.ravel(), b.ravel(), strict=True)]
    input.copy_(Tensor._from_numpy(np.array(flat, a.dtype).reshape(a.shape)))
    return input


@facade(method=True, function=False)
def apply_(input: Tensor, callable: Any) -> Tensor:
    """Apply a Python function to each element, in place (slow)."""
    host = input._host()
    flat = [callable(x.item()) for x in host.ravel()]
    input.copy_(Tensor._from_numpy(np.array(flat, host.dtype).reshape(host.shape)))
    return input


@facade(method=False, override=False)
def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on: it does not exist here yet."""
    return False


@facade(method=False, override=False)
def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The dtype that autocast would use."""
    return dtypes.NAMES["bfloat16" if device_type == "cpu" else "float16"]


_threads = os.cpu_count() or 1


@facade(method=False, override=False)
def get_num_threads() -> int:
    """The number of threads last asked for (at first, the processors of the machine)."""
    return _threads


@facade(method=False, override=False)
def set_num_threads(num: int) -> None:
    """A wish: XLA's own thread pool keeps the size that it had at the start of the process."""
    global _threads
    if not isinstance(num, int) or num < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads = num
