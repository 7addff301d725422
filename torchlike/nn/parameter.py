"""``Parameter`` and ``Buffer``: tensors that a Module registers when they are assigned to it; and their lazy forms."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torchlike.autograd.tape import LEAF
from torchlike.tensor import overrides
from torchlike.tensor.creation import empty
from torchlike.tensor.dispatch import register_plain
from torchlike.tensor.tensor import Tensor


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Lets tensors that were marked as parameters count as instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        if cls is Parameter and isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False):
            return True
        return type.__instancecheck__(cls, instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a parameter of a module. It shares the data of ``data`` and is a leaf of the graph."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"cannot assign '{type(data).__name__}' object to a Parameter: it must be a Tensor")
        if type(data) is not Tensor and type(data) is not Parameter and not isinstance(data, Parameter):
            t = data.detach().requires_grad_(requires_grad)
            t.__class__ = type(data)
            t._is_param = True
            return t
        p = object.__new__(cls)
        p.__dict__.update(_shared(data))
        if requires_grad:
            p.requires_grad_()
        return p

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        from torchlike.tensor.copying import deepcopy

        grad, self._grad = self._grad, None
        try:
            copied = deepcopy(self, memo)
        finally:
            self._grad = grad
        return copied


def _shared(data: Tensor) -> dict[str, Any]:
    """What makes a tensor share the data of another one."""
    if data._storage is None and data._node is None:
        # the usual case, a fresh tensor: values are immutable, and the tensor itself is rarely kept
        data._share()
    alias = data.detach()
    return {k: v for k, v in alias.__dict__.items()}


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """Lets tensors that were marked as buffers count as instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        if cls is Buffer:
            return isinstance(instance, Tensor) and instance.__dict__.get("_is_buffer", False)
        return type.__instancecheck__(cls, instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """Marks a tensor as a buffer of a module: part of its state, not trained. ``persistent``: part of the state_dict.

    The result is a plain tensor that shares the data of ``data``.
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        data = empty(0) if data is None else data
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent, t._is_buffer = persistent, True
        return t


# Operations on tensors without a shape.
_ALLOWED = frozenset({
    "to", "cuda", "cpu", "type", "half", "float", "double", "bfloat16", "char", "short", "int", "long", "detach", "is_floating_point",
    "is_complex", "copy_", "get_device", "requires_grad_",
})  # fmt: skip


class UninitializedTensorMixin:
    """What parameters and buffers without a shape have in common."""

    cls_to_become: Any = None
    _message = (
        "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
        "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
        "accessing their attributes."
    )

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the tensor a shape; it becomes an ordinary parameter or buffer."""
        dtype, device = dtype or self.dtype, device or self.device  # type: ignore[attr-defined]
        self.data = empty(shape, dtype=dtype, device=device)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Not known yet."""
        raise RuntimeError(self._message)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Moves and conversions are possible; everything else is a ``ValueError``."""
        if getattr(func, "__name__", "") not in _ALLOWED:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a `LazyModule` or explicitly "
                f"manipulating `torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` with a dummy batch to "
                "initialize the parameters before calling torch functions"
            )
        with overrides.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def share_memory_(self) -> Any:
        """Not possible yet."""
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters first.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet (lazy modules)."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        p = object.__new__(cls)
        p.__dict__.update(_shared(empty(0, device=device, dtype=dtype)))
        if requires_grad:
            p._node = LEAF
        return p

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet (lazy modules)."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Any:
        t = object.__new__(cls)
        t.__dict__.update(_shared(empty(0, device=device, dtype=dtype)))
        t.persistent, t._is_buffer = persistent, True
        return t


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


def rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: OrderedDict[int, Any] | None = None) -> Parameter:
    """The parameter of a pickle."""
    return Parameter(data, requires_grad)


register_plain(Parameter)
overrides.PRESERVED.add(Parameter)
