"""The functions that torch's files call to make tensors, parameters and layouts again (``torch._utils._rebuild_*``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torchlike
from torchlike.nn.parameter import Parameter
from torchlike.serialization import bridge, torch_names
from torchlike.serialization.locations import current_map_location, restorer
from torchlike.serialization.storages import TypedStorage, UntypedStorage
from torchlike.tensor import dtypes
from torchlike.tensor.tensor import Tensor

__all__ = ["CALLABLE", "new_parameter"]

CALLABLE: dict[str, Callable[..., Any]] = {}
"""torch's full name of each function here to the function."""


def _called(module: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: files know the function as ``module.<its name>``."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        torch_names.register(module, function.__name__, function)
        CALLABLE[f"{module}.{function.__name__}"] = function
        return function

    return register


def _typed(storage: Any) -> TypedStorage:
    if not isinstance(storage, TypedStorage):
        raise TypeError(f"a tensor in the file has a {type(storage).__name__} where its storage should be")
    return storage


@_called("torch._utils")
def _rebuild_tensor(storage: TypedStorage, storage_offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    storage = _typed(storage)
    return bridge.rebuild(storage.untyped(), storage.dtype, storage_offset, tuple(size), tuple(stride))


@_called("torch._utils")
def _rebuild_tensor_v2(
    storage: TypedStorage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: dict[str, bool] | None = None,
) -> Tensor:
    storage = _typed(storage)
    tensor = bridge.rebuild(
        storage.untyped(), storage.dtype, storage_offset, tuple(size), tuple(stride), bool(requires_grad)
    )
    return _resolve(tensor, metadata)


@_called("torch._utils")
def _rebuild_tensor_v3(
    storage: TypedStorage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    dtype: dtypes.dtype,
    metadata: dict[str, bool] | None = None,
) -> Tensor:
    storage = _typed(storage)
    tensor = bridge.rebuild(
        storage.untyped(), dtype.name, storage_offset, tuple(size), tuple(stride), bool(requires_grad)
    )
    return _resolve(tensor, metadata)


def _resolve(tensor: Tensor, metadata: dict[str, bool] | None) -> Tensor:
    """Apply torch's lazy bits: in the file the memory of ``x.conj()`` is that of ``x``."""
    if not metadata:
        return tensor
    requires_grad, tensor = tensor.requires_grad, tensor.detach()
    if metadata.get("conj"):
        tensor = tensor.conj()
    if metadata.get("neg"):
        tensor = tensor.neg()
    return tensor.detach().requires_grad_(requires_grad)


def new_parameter(data: Tensor, requires_grad: bool = True) -> Tensor:
    """A parameter of a loaded tensor; a file must not bring anything else to make it of (a size, for one)."""
    if not isinstance(data, Tensor):
        raise TypeError(f"a parameter in the file has a {type(data).__name__} where its tensor should be")
    return Parameter(data, bool(requires_grad))


@_called("torch._utils")
def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Tensor:
    return new_parameter(data, requires_grad)


@_called("torch._utils")
def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Tensor:
    return _set_attributes(_rebuild_parameter(data, requires_grad, backward_hooks), state)


@_called("torch._tensor")
def _rebuild_from_type_v2(func: Callable[..., Any], new_type: type, args: Sequence[Any], state: Any) -> Tensor:
    if func not in CALLABLE.values() and func is not getattr(new_type, "__new__", None):
        raise TypeError(f"a tensor in the file is made by {func!r}, which makes no tensors")
    if not (isinstance(new_type, type) and issubclass(new_type, Tensor)):
        raise TypeError(f"a tensor in the file is said to be a {new_type!r}")
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = tensor.as_subclass(new_type)
    setstate = getattr(new_type, "__setstate__", None)
    if setstate is not None and setstate is not getattr(Tensor, "__setstate__", None):
        tensor.__setstate__(state)
        return tensor
    return _set_attributes(tensor, state)


def _set_attributes(tensor: Tensor, state: Any) -> Tensor:
    """Python attributes of a tensor; what the class itself defines (values, graph nodes) is not taken from a file."""
    parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
    for part in parts:
        for name, value in (part or {}).items():
            if type(name) is not str or bridge.is_internal(tensor, name):
                raise TypeError(f"a tensor in the file has a state that would overwrite the attribute {name!r}")
            setattr(tensor, name, value)
    return tensor


@_called("torch._utils")
def _rebuild_meta_tensor_no_storage(
    dtype: dtypes.dtype, size: Sequence[int], stride: Sequence[int], requires_grad: bool
) -> Tensor:
    return bridge.rebuild_meta(dtype.name, size, stride, bool(requires_grad))


@_called("torch._utils")
def _rebuild_device_tensor_from_cpu_tensor(
    data: Tensor, dtype: dtypes.dtype, device: str, requires_grad: bool
) -> Tensor:
    target = restorer(current_map_location.get())(UntypedStorage(None, "cpu", 0), str(device)).location
    return data.detach().to(dtype=dtype, device=target).requires_grad_(bool(requires_grad))


@_called("torch._utils")
def _rebuild_sparse_tensor(layout: Any, data: Sequence[Any]) -> Tensor:
    if layout is torchlike.sparse_coo:
        indices, values, size, *coalesced = data
        known = {"is_coalesced": coalesced[0]} if coalesced else {}
        return torchlike.sparse_coo_tensor(indices, values, size, **known)
    compressed, plain, values, size = data
    return torchlike.sparse_compressed_tensor(compressed, plain, values, size, layout=layout)


@_called("torch.serialization")
def _get_layout(name: str) -> Any:
    layout = getattr(torchlike, name.removeprefix("torch."), None) if isinstance(name, str) else None
    if type(layout).__name__ != "layout":
        raise TypeError(f"the file refers to an unknown tensor layout {name!r}")
    return layout
