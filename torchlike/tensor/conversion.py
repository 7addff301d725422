"""Copies and conversions: ``to, type, float, clone, copy_, cpu, cuda, resize_``."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from torchlike.autograd import tape
from torchlike.autograd.tape import Node, apply, edge_of, node_type
from torchlike.engine import Value, array_of, aval_of, local, resolve_device
from torchlike.ops import creation as ops
from torchlike.ops import views
from torchlike.tensor import dtypes
from torchlike.tensor.device import device as Device
from torchlike.tensor.device import engine_device
from torchlike.tensor.dispatch import ints
from torchlike.tensor.facade import facade
from torchlike.tensor.formats import memory_format, preserve_format
from torchlike.tensor.layouts import restride
from torchlike.tensor.shape import with_format
from torchlike.tensor.tensor import Tensor

_MEMORY_FORMAT = memory_format


@facade()
def clone(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """A copy, through which gradients flow."""
    result = apply(ops.clone, ((), ()), (input,))[0]
    return with_format(result, memory_format, input)


class _TransferNode(Node):
    """The gradient of a transfer between devices: a transfer back."""

    __slots__ = ("target",)

    def outputs(self) -> int:
        return 1

    def run(self, grads: Any, create: bool, retain: bool) -> Any:
        g = grads[0]
        if g is None:
            return [None]
        if create:
            return [transfer(g, self.target)]
        return [_moved(g, self.target)]


def _moved(value: Value, device: str) -> Value:
    """The value on another device."""
    if device == "meta":
        return Value(aval_of(value.aval.shape, value.aval.dtype, "meta"), None)
    if value.aval.device == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    with jax.enable_x64(True):
        array = jax.device_put(np.asarray(array_of(value)) if device == "cpu" else array_of(value), resolve_device(device))
    return Value(aval_of(value.aval.shape, value.aval.dtype, device), array, shared=True)


def transfer(t: Tensor, device: str) -> Tensor:
    """The tensor on another device, with a gradient."""
    value = tape.current(t)
    out = Tensor._wrap(_moved(value, device))
    edge = edge_of(t) if local.grad else None
    if edge is not None:
        node = node_type("ToCopyBackward0", _TransferNode)()
        node.rule = None
        node.target, node.edges = value.aval.device, (edge,)
        out._node = node
    return out


def convert(t: Tensor, device: str | None, dtype: np.dtype | None, copy: bool = False, format: Any = None) -> Tensor:
    """``t`` on ``device`` as ``dtype``; ``t`` itself when nothing changes and no copy is asked for."""
    aval = t._value.aval
    out = t
    if device is not None and device != aval.device:
        resolve(device)
        out = transfer(out, device)
    if dtype is not None and dtype != aval.dtype:
        source = out
        out = apply(ops.cast, ((), (dtype,)), (source,))[0]
        if not source._dense:
            restride(out, (source,))
    if format is not None and format is not preserve_format and not out.is_contiguous(format):
        return clone(out, memory_format=format)
    if copy and out is t:
        return clone(t, memory_format=format or preserve_format)
    return out


def resolve(device: str) -> None:
    """Check that a device exists; torch's error for CUDA when there is none."""
    if device == "meta":
        return
    if device.startswith("cuda"):
        from torchlike.engine.device import devices_of

        if not devices_of("cuda"):
            raise RuntimeError(
                "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver; "
                "torchlike reaches GPUs through JAX: pip install 'torchlike[cuda12]' (or cuda13). This JAX has only the CPU."
            )
    resolve_device(device)


@facade(function=False)
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``to(dtype)``, ``to(device, dtype)`` or ``to(other)``; ``non_blocking`` is accepted: transfers never block."""
    device = kwargs.pop("device", None)
    dtype = kwargs.pop("dtype", None)
    other = kwargs.pop("other", None)
    non_blocking, copy = kwargs.pop("non_blocking", False), kwargs.pop("copy", False)
    format = kwargs.pop("memory_format", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    rest = list(args)
    if rest:
        first = rest.pop(0)
        if isinstance(first, Tensor):
            other = first
        elif isinstance(first, dtypes.dtype) or first in (float, int, bool, complex):
            dtype = first
        elif first is None or isinstance(first, (str, int, Device)):
            device = first
            if rest and (rest[0] is None or isinstance(rest[0], dtypes.dtype) or rest[0] in (float, int, complex)):
                dtype = rest.pop(0)
        else:
            raise TypeError(
                f"to() received an invalid combination of arguments - got ({type(first).__name__}), but expected a dtype, a device "
                "or a tensor"
            )
        for name in ("non_blocking", "copy"):
            if rest:
                given = rest.pop(0)
                if name == "copy":
                    copy = given
                else:
                    non_blocking = given
    del non_blocking
    if other is not None:
        device, dtype = other.device, other.dtype
    return convert(input, None if device is None else engine_device(device),
                   None if dtype is None else dtypes.numpy_of(dtype), bool(copy), format)  # fmt: skip


def _caster(name: str, target: str) -> Any:
    numpy = dtypes.NAMES[target].numpy

    def method(self: Tensor, memory_format: Any = preserve_format) -> Tensor:
        if self._value.aval.dtype == numpy and memory_format is preserve_format:
            return self
        return convert(self, None, numpy, format=memory_format)

    method.__name__ = name
    method.__doc__ = f"The tensor as ``torch.{target}``."
    return method


for _name, _target in {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64",
                       "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
                       "cfloat": "complex64", "cdouble": "complex128"}.items():  # fmt: skip
    setattr(Tensor, _name, _caster(_name, _target))


@facade(function=False)
def cpu(input: Tensor, memory_format: Any = preserve_format) -> Tensor:
    """The tensor on the host."""
    return convert(input, "cpu", None, format=memory_format)


@facade(function=False)
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = preserve_format) -> Tensor:
    """The tensor on a GPU."""
    target = Device("cuda") if device is None else Device(device)
    return convert(input, target.engine, None, format=memory_format)


@facade(function=False, name="type")
def type_(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The tensor's type as text, or the tensor converted to a dtype or a type ("torch.FloatTensor")."""
    from torchlike.tensor.legacy import parse_type, type_name

    if dtype is None:
        return type_name(input)
    device, numpy = parse_type(dtype)
    return convert(input, device, numpy)


@facade(function=False)
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor with the dtype and on the device of ``other``."""
    return convert(input, other._value.aval.device, other._value.aval.dtype)


@facade(function=False)
def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Replace the elements by those of ``src``, broadcast and converted."""
    if not isinstance(src, Tensor):
        from torchlike.tensor.creation import as_tensor

        src = as_tensor(src)
    input._check_inplace()
    if src is input:
        return input
    mine = input._value.aval
    if src._value.aval.device != mine.device:
        src = transfer(src, mine.device)
    shape = src._value.aval.shape
    lead = len(mine.shape) - len(shape)
    if lead < 0 or any(n not in (1, mine.shape[lead + i]) for i, n in enumerate(shape)):
        raise RuntimeError(
            f"The size of tensor a ({mine.shape[-1] if mine.shape else 1}) must match the size of tensor b "
            f"({shape[-1] if shape else 1}) at non-singleton dimension {max(len(mine.shape), len(shape)) - 1}"
            if lead >= 0 else
            f"output with shape {list(mine.shape)} doesn't match the broadcast shape {list(shape)}"
        )  # fmt: skip
    input._write(apply(ops.copy, ((), ()), (input, src))[0])
    return input


@facade(function=False)
def set_(input: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make this tensor refer to the storage of ``source``."""
    if source is None:
        source = Tensor._from_numpy(np.zeros(0, input.dtype.numpy))
    if size is not None:
        from torchlike.ops.views import contiguous_strides
        from torchlike.tensor.shape import as_strided

        shape = ints(size)
        source = as_strided(source, shape, stride if stride is not None else contiguous_strides(shape), storage_offset)
    input.data = source
    return input


@facade(function=False)
def resize_(input: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Change the shape in place; the first elements are kept, new ones are zero."""
    shape = ints(sizes[0]) if len(sizes) == 1 else ints(tuple(sizes))
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if input.requires_grad and local.grad:
        raise RuntimeError("cannot resize variables that require grad")
    if shape == input._value.aval.shape:
        return input
    storage = input._share()
    storage.sync()
    if int(np.prod(shape)) + input._layout()[2] <= storage.value.aval.size:
        # it fits into the storage: the tensor becomes another view of it, and what it does not show is kept
        from torchlike.tensor.shape import as_strided

        input.data = as_strided(input.detach(), shape, views.contiguous_strides(shape))
        return input
    flat = input._host().reshape(-1)
    new = np.zeros(int(np.prod(shape)), flat.dtype)
    n = min(flat.size, new.size)
    new[:n] = flat[:n]
    fresh = Tensor._from_numpy(new.reshape(shape), device=input._value.aval.device)
    input.data = fresh
    return input


@facade(function=False)
def resize(input: Tensor, *sizes: Any) -> Tensor:
    """The elements with another shape (of as many elements)."""
    return input.reshape(*sizes)


@facade(function=False)
def resize_as_(input: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """``input.resize_(other.size())``."""
    return resize_(input, other.shape)


def filled_with(input: Tensor, value: Any) -> Tensor:
    """A result for ``fill_``: one number or 0-d tensor everywhere."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return apply(ops.fill_tensor, ((), ()), (input, value))[0]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, complex) and not input.is_complex():
        raise RuntimeError(f"value cannot be converted to type {input.dtype} without overflow")
    return apply(ops.fill, ((), ()), (input, value))[0]


@facade(function=False)
def fill_(input: Tensor, value: Any) -> Tensor:
    """Set every element to ``value``."""
    input._check_inplace()
    input._write(filled_with(input, value))
    return input


@facade(function=True, method=False)
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input`` with every element ``value``."""
    return filled_with(input, value)


@facade()
def zero_(input: Tensor) -> Tensor:
    """Set every element to zero."""
    input._check_inplace()
    input._write(apply(ops.zero, ((), ()), (input,))[0])
    return input


@facade(function=False)
def fill_diagonal_(input: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the main diagonal to a number; tall matrices start it again when ``wrap``."""
    if input.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if input.ndim > 2 and len(set(input.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(input._layout()[1]) if input._dense else sum(views.contiguous_strides(input.shape))
    n = input.shape[-1]
    mask = np.zeros(input.numel(), bool)
    if input.ndim == 2 and not wrap:
        mask[: min(input.shape) * step : step] = True
    elif input.ndim == 2 and wrap:
        mask[::step] = True
    else:
        mask[: n * step : step] = True
    input[Tensor._from_numpy(mask.reshape(input.shape))] = fill_value
    return input
