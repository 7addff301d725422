"""``torch.dtype`` objects, and ``finfo``/``iinfo``."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from torchlike import engine
from torchlike.ops import promotion


class dtype:
    """A torch dtype. ``numpy`` is the NumPy dtype that holds its values."""

    __slots__ = ("_aliases", "name", "numpy")
    __module__ = "torch"

    def __init__(self, name: str, numpy: Any, aliases: tuple[str, ...] = ()) -> None:
        self.name, self.numpy, self._aliases = name, np.dtype(numpy), aliases

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return (_by_name, (self.name,))

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.numpy.itemsize

    @property
    def is_floating_point(self) -> bool:
        """Whether it is a real floating type."""
        return promotion.is_floating(self.numpy)

    @property
    def is_complex(self) -> bool:
        """Whether it is complex."""
        return promotion.is_complex(self.numpy)

    @property
    def is_signed(self) -> bool:
        """Whether it has negative values."""
        return self.numpy.kind not in "ub"

    def to_real(self) -> dtype:
        """The dtype of the real part."""
        return of_numpy(promotion.real_of(self.numpy))

    def to_complex(self) -> dtype:
        """The complex dtype with parts of this dtype."""
        return of_numpy(promotion.complex_of(self.numpy))


DTYPES = (
    dtype("uint8", np.uint8),
    dtype("int8", np.int8),
    dtype("int16", np.int16, ("short",)),
    dtype("int32", np.int32, ("int",)),
    dtype("int64", np.int64, ("long",)),
    dtype("uint16", np.uint16),
    dtype("uint32", np.uint32),
    dtype("uint64", np.uint64),
    dtype("float16", np.float16, ("half",)),
    dtype("float32", np.float32, ("float",)),
    dtype("float64", np.float64, ("double",)),
    dtype("bfloat16", ml_dtypes.bfloat16),
    dtype("complex64", np.complex64, ("cfloat",)),
    dtype("complex128", np.complex128, ("cdouble",)),
    dtype("bool", np.bool_),
    dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn),
    dtype("float8_e5m2", ml_dtypes.float8_e5m2),
    dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz),
    dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz),
    dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu),
)
_OF_NUMPY = {d.numpy: d for d in DTYPES}
NAMES = {n: d for d in DTYPES for n in (d.name, *d._aliases)}
_OF_PYTHON = {float: "float32", int: "int64", bool: "bool", complex: "complex64"}

float32, float64, int64, bool_ = NAMES["float32"], NAMES["float64"], NAMES["int64"], NAMES["bool"]


def _by_name(name: str) -> dtype:
    return NAMES[name]


def of_numpy(numpy: Any) -> dtype:
    """The torch dtype of a NumPy dtype; ``TypeError`` when torch has none."""
    found = _OF_NUMPY.get(numpy) or _OF_NUMPY.get(np.dtype(numpy))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {numpy}. The only supported types are: float64, float32, float16, complex64, "
            "complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found


def numpy_of(d: Any) -> np.dtype:
    """The NumPy dtype of a torch dtype (or of ``float``, ``int``, ``bool``, ``complex``)."""
    if isinstance(d, dtype):
        return d.numpy
    if d is float:
        return promotion.default_dtype()
    if d in _OF_PYTHON:
        return NAMES[_OF_PYTHON[d]].numpy
    raise TypeError(f"dtype must be a torch.dtype, not {type(d).__name__}")


def get_default_dtype() -> dtype:
    """The dtype of Python floats and of ``zeros``, ``rand``, ..."""
    return of_numpy(promotion.default_dtype())


def set_default_dtype(d: dtype) -> None:
    """Set the default floating dtype; ``TypeError`` for other dtypes."""
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: {d!r}")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d.numpy != promotion.default_dtype():
        engine.set_context(None if d is float32 else d.name)
        promotion.set_default_dtype(d.numpy)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype to which both can be converted."""
    return of_numpy(promotion.promote_types(type1.numpy, type2.numpy))


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place operator may convert ``from_`` to ``to``: never to a lower kind."""
    a, b = promotion.kind(from_.numpy), promotion.kind(to.numpy)
    if (a == 3 and b < 3) or (a == 2 and b < 2):
        return False
    return not (a == 1 and b == 0)


class finfo:
    """Limits of a floating dtype: ``bits, eps, max, min, tiny, smallest_normal, resolution, dtype``."""

    def __init__(self, type: dtype | None = None) -> None:
        d = get_default_dtype() if type is None else type
        if not isinstance(d, dtype):
            raise TypeError(f"finfo(): argument 'type' (position 1) must be torch.dtype, not {d!r}")
        if not (d.is_floating_point or d.is_complex):
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{d}'")
        info = ml_dtypes.finfo(promotion.real_of(d.numpy))
        self.dtype = d.to_real().name if d.is_complex else d.name
        self.bits = int(info.bits)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype: ``bits, max, min, dtype``."""

    def __init__(self, type: dtype) -> None:
        if not isinstance(type, dtype):
            raise TypeError(f"iinfo(): argument 'type' (position 1) must be torch.dtype, not {type!r}")
        if type.numpy.kind == "b":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.numpy.kind not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        info = np.iinfo(type.numpy)
        self.dtype = type.name
        self.bits, self.max, self.min = int(info.bits), int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
