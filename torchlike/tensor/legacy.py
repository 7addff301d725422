"""Legacy constructors and type names: ``torch.FloatTensor(2, 3)``, ``torch.Tensor([1., 2.])``, ``x.type("torch.LongTensor")``."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike.tensor import dtypes
from torchlike.tensor.size import Size
from torchlike.tensor.tensor import Tensor

_PREFIX = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
    "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip
_OF_DTYPE = {v: k for k, v in _PREFIX.items()}


def construct(dtype: Any, *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
    """``torch.Tensor(...)``: sizes give an uninitialised tensor, a sequence or array gives its data."""
    from torchlike.tensor.creation import empty, tensor

    dtype = dtype or dtypes.get_default_dtype()
    if kwargs:
        raise TypeError(f"new() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if not args:
        return empty(0, dtype=dtype, device=device)
    first = args[0]
    if len(args) == 1:
        if isinstance(first, Size):
            return empty(first, dtype=dtype, device=device)
        if isinstance(first, Tensor):
            if first.dtype is not dtype:
                raise TypeError(f"expected {type_name_of(dtype)} (got {first.type()})")
            return first._alias() if first._node is None else first.detach()
        if isinstance(first, np.ndarray):
            return tensor(first, dtype=dtype, device=device)
        if isinstance(first, (list, tuple, range)) or (hasattr(first, "__len__") and not isinstance(first, str)):
            return tensor(list(first) if not isinstance(first, (list, tuple)) else first, dtype=dtype, device=device)
    if all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in args):
        return empty(*args, dtype=dtype, device=device)
    raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")


class _TensorType(type):
    """Metaclass of ``FloatTensor`` and its like: instances are tensors of that dtype."""

    dtype: dtypes.dtype
    kind: str

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor) and x.dtype is cls.dtype and x.device.type == cls.kind

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        t = construct(cls.dtype, *args, **kwargs)
        return t if cls.kind == "cpu" else t.cuda()

    def __repr__(cls) -> str:
        return f"<class 'torch.{'cuda.' if cls.kind == 'cuda' else ''}{cls.__name__}'>"


def tensor_types(kind: str = "cpu") -> dict[str, type]:
    """The legacy classes of a device kind, by name."""
    made = {}
    for prefix, name in _PREFIX.items():
        cls = _TensorType(f"{prefix}Tensor", (), {"__module__": "torch" if kind == "cpu" else "torch.cuda"})
        cls.dtype, cls.kind = dtypes.NAMES[name], kind  # type: ignore[attr-defined]
        made[cls.__name__] = cls
    return made


def type_name_of(dtype: dtypes.dtype, kind: str = "cpu") -> str:
    """Torch's name of a tensor type: ``torch.FloatTensor``."""
    prefix = _OF_DTYPE.get(dtype.name, dtype.name.capitalize())
    return f"torch.{'cuda.' if kind == 'cuda' else ''}{prefix}Tensor"


def type_name(t: Tensor) -> str:
    """``t.type()``."""
    return type_name_of(t.dtype, t.device.type)


def parse_type(given: Any) -> tuple[str | None, np.dtype]:
    """Device and NumPy dtype that ``x.type(given)`` asks for."""
    if isinstance(given, _TensorType):
        return (None if given.kind == "cpu" else "cuda:0"), given.dtype.numpy
    if isinstance(given, str):
        parts = given.split(".")
        prefix = parts[-1].removesuffix("Tensor")
        if parts[0] == "torch" and parts[-1].endswith("Tensor") and prefix in _PREFIX:
            return ("cuda:0" if "cuda" in parts else None), dtypes.NAMES[_PREFIX[prefix]].numpy
        if given == "torch.Tensor":
            return None, dtypes.get_default_dtype().numpy
        raise ValueError(f"invalid type: '{given}'")
    if given is Tensor:
        return None, dtypes.get_default_dtype().numpy
    return None, dtypes.numpy_of(given)


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a legacy type (or its name)."""
    _, numpy = parse_type(t)
    dtypes.set_default_dtype(dtypes.of_numpy(numpy))


class _VariableType(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Tensor:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        out = data.detach()
        return out.requires_grad_() if requires_grad else out


class Variable(metaclass=_VariableType):
    """``torch.autograd.Variable``: what tensors with gradients were before torch 0.4."""
