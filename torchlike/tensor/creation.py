"""Making tensors: ``tensor, as_tensor, from_numpy, zeros, ones, full, arange, linspace, eye``, ``*_like``, ``new_*``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from torchlike.autograd.tape import apply
from torchlike.engine import from_array
from torchlike.engine.values import is_tracer
from torchlike.ops import creation as ops
from torchlike.ops import promotion
from torchlike.tensor import dtypes
from torchlike.tensor.conversion import convert, resolve
from torchlike.tensor.device import engine_device, from_engine
from torchlike.tensor.dispatch import index, ints, write_out
from torchlike.tensor.facade import facade
from torchlike.tensor.formats import preserve_format, strided
from torchlike.tensor.shape import with_format
from torchlike.tensor.storage import MIRROR_LIMIT, Mirror
from torchlike.tensor.tensor import Tensor


def _place(device: Any) -> str:
    name = engine_device(device)
    if name != "cpu":
        resolve(name)
    return name


def _check(layout: Any, pin_memory: bool = False) -> None:
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"layout {layout}: only torch.strided tensors exist")


def _finish(t: Tensor, requires_grad: bool, out: Any = None) -> Tensor:
    if out is not None:
        return write_out(out, t)
    if requires_grad:
        t.requires_grad_()
    return t


# -- from data --------------------------------------------------------------------------------------------------------


def infer(data: Any, wide: bool = False) -> np.ndarray:
    """Python data as an array with the dtype that torch infers; ``wide`` keeps Python floats in float64, to be cast later."""
    if isinstance(data, np.ndarray):
        if data.dtype.kind == "O" or data.dtype.kind in "SU":
            raise TypeError(
                f"can't convert np.ndarray of type numpy.{data.dtype.name if data.dtype.kind == 'O' else data.dtype.type.__name__}. The "
                "only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
                "uint32, uint16, uint8, and bool."
            )
        return data.astype(data.dtype.newbyteorder("=")) if not data.dtype.isnative else data
    if isinstance(data, np.generic):
        return np.asarray(data)
    if isinstance(data, (bool, int, float, complex)):
        return _numbers(data, wide)
    if isinstance(data, Tensor):
        return data.detach()._host()
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return infer(np.asarray(data))
    if isinstance(data, (list, tuple, range)) or (hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict, set))):
        return _sequence(data if isinstance(data, (list, tuple)) else list(data), wide)
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _numbers(data: Any, wide: bool) -> np.ndarray:
    """Numbers, or nested lists of numbers, as an array of torch's dtype for them."""
    try:
        array = np.array(data)
    except ValueError as error:
        raise _ragged(data) from error
    if array.dtype.kind in "fc" and wide:
        return array
    if array.dtype.kind == "f":
        return array.astype(promotion.default_dtype())
    if array.dtype.kind == "c":
        return array.astype(promotion.complex_of(promotion.default_dtype()))
    if array.dtype.kind in "uO":
        raise ValueError("Overflow when unpacking long long")
    return array


def _sequence(data: Sequence[Any], wide: bool) -> np.ndarray:
    kinds = _leaf_kinds(data)
    if not kinds:
        try:
            return np.zeros(np.array(data, dtype=object).shape if data else (0,), promotion.default_dtype())
        except ValueError as error:
            raise _ragged(data) from error
    if kinds <= {bool, int, float, complex}:
        return _numbers(data, wide)
    if str in kinds or bytes in kinds:
        raise TypeError("new(): invalid data type 'str'")
    if type(None) in kinds:
        raise RuntimeError("Could not infer dtype of NoneType")
    items = [infer(x, wide) for x in data]
    shapes = {i.shape for i in items}
    if len(shapes) > 1:
        raise _ragged(data)
    common = items[0].dtype
    for i in items[1:]:
        common = promotion.promote_types(np.dtype(common), np.dtype(i.dtype))
    return np.stack([i.astype(common) for i in items])


def _leaf_kinds(data: Any) -> set[type]:
    kinds: set[type] = set()
    stack = [data]
    while stack:
        x = stack.pop()
        if type(x) in (list, tuple):
            if x and type(x[0]) in (float, int):
                kinds.update(map(type, x))
                if not kinds <= {float, int, bool, complex}:
                    stack.extend(i for i in x if type(i) in (list, tuple))
                    kinds -= {list, tuple}
            else:
                stack.extend(x)
        else:
            kinds.add(type(x))
    return kinds


def _ragged(data: Any) -> ValueError:
    """Torch's error for lists of unequal length: which dimension, which lengths."""

    def find(x: Any, dim: int) -> tuple[int, int, int] | None:
        lengths = [len(i) if hasattr(i, "__len__") and not isinstance(i, Tensor) else None for i in x]
        for n in lengths[1:]:
            if n != lengths[0]:
                return (lengths[0] or 0, n or 0, dim + 1)
        for i in x:
            if isinstance(i, (list, tuple)):
                got = find(i, dim + 1)
                if got:
                    return got
        return None

    got = find(data, 0) if isinstance(data, (list, tuple)) else None
    if got is None:
        return ValueError("expected sequence of equal length")
    return ValueError(f"expected sequence of length {got[0]} at dim {got[2]} (got {got[1]})")


@facade(method=False, override=False)
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor with a copy of ``data`` (numbers, nested sequences, arrays, tensors)."""
    numpy = None if dtype is None else dtypes.numpy_of(dtype)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=3,
        )
        place = data._value.aval.device if device is None else _place(device)
        return _finish(convert(data.detach().clone(), place, numpy), requires_grad)
    if is_tracer(data) or isinstance(data, jax.Array):
        out = Tensor._wrap(from_array(data))
        return _finish(convert(out, None, numpy), requires_grad)
    array = infer(data, wide=numpy is not None)
    if numpy is not None and array.dtype != numpy:
        array = _cast(array, numpy, data)
    else:
        dtypes.of_numpy(array.dtype)
        array = array.copy() if array is data or isinstance(data, np.ndarray) else array
    return _finish(Tensor._from_numpy(np.ascontiguousarray(array).reshape(array.shape), device=_place(device)), requires_grad)


def _cast(array: np.ndarray, numpy: np.dtype, data: Any) -> np.ndarray:
    """Convert as torch's constructor does: numbers out of an integer's range are an error when they come from Python."""
    if numpy.kind in "iu" and array.dtype.kind in "iu" and not isinstance(data, np.ndarray) and array.size:
        info = np.iinfo(numpy)
        lowest, highest = int(array.min()), int(array.max())
        if (lowest < info.min and numpy.kind == "i") or highest > info.max:
            raise RuntimeError(f"value cannot be converted to type {dtypes.of_numpy(numpy).name} without overflow")
    with np.errstate(all="ignore"):
        if array.dtype.kind in "fV" and numpy.kind in "iu":
            return array.astype(np.int64).astype(numpy)
        if array.dtype.kind == "c" and numpy.kind != "c":
            raise RuntimeError("value cannot be converted to type float without overflow") if not isinstance(data, np.ndarray) else None
        return array.astype(numpy)


@facade(method=False, override=False, aliases=("asarray",))
def as_tensor(data: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> Tensor:
    """``data`` as a tensor; a tensor with the right dtype and device is returned as it is, a NumPy array may share memory."""
    copy, requires_grad = kwargs.pop("copy", None), kwargs.pop("requires_grad", False)
    if kwargs:
        raise TypeError(f"as_tensor() got an unexpected keyword argument '{next(iter(kwargs))}'")
    numpy = None if dtype is None else dtypes.numpy_of(dtype)
    if isinstance(data, Tensor):
        out = convert(data, None if device is None else _place(device), numpy, bool(copy))
    elif isinstance(data, np.ndarray) and not copy:
        out = convert(from_numpy(data), _place(device), numpy)
    else:
        out = tensor(data, dtype=dtype, device=device)
    return out.requires_grad_() if requires_grad else out


@facade(method=False, override=False)
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor of a NumPy array.

    Up to 65 536 elements memory is shared as in torch: a change of the array is seen in the tensor and the reverse. Larger
    arrays are copied, since values are immutable underneath.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.of_numpy(ndarray.dtype)
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().)"
        )
    out = Tensor._from_numpy(np.array(ndarray, order="C"))
    if ndarray.ndim > 1 and not ndarray.flags.c_contiguous and ndarray.size:
        stride = tuple(s // ndarray.itemsize for s in ndarray.strides)
        from torchlike.tensor.layouts import is_dense

        if is_dense(ndarray.shape, stride):
            out._strides, out._dense = stride, False
    if ndarray.size <= MIRROR_LIMIT and ndarray.flags.writeable:
        storage = out._share()
        storage.mirror = Mirror(ndarray)
        storage.version = float("nan")
    return out


@facade(method=False, override=False)
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor from an object with the buffer protocol."""
    numpy = dtypes.numpy_of(dtype)
    if len(memoryview(buffer)) == 0 and memoryview(buffer).nbytes == 0:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    array = np.frombuffer(buffer, numpy, count, offset)
    out = from_numpy(array) if array.flags.writeable else Tensor._from_numpy(array.copy())
    return out.requires_grad_() if requires_grad else out


def from_jax(array: Any, requires_grad: bool = False) -> Tensor:
    """A tensor of a jax array (or tracer), without a copy."""
    out = Tensor._wrap(from_array(array, shared=True))
    return out.requires_grad_() if requires_grad else out


@facade(method=False, override=False, aliases=("utils.dlpack.from_dlpack",))
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor of any object with ``__dlpack__``."""
    if isinstance(ext_tensor, Tensor):
        return ext_tensor.detach()
    with jax.enable_x64(True):
        return from_jax(jax.numpy.from_dlpack(ext_tensor))


# -- filled -----------------------------------------------------------------------------------------------------------


def _size(args: Sequence[Any], size: Any = None) -> tuple[int, ...]:
    if size is not None:
        args = (size,)
    if (len(args) == 1 and not isinstance(args[0], (int, np.integer))) or (len(args) == 1 and isinstance(args[0], Tensor)):
        got = ints(args[0])
        shape = (got,) if isinstance(got, int) else tuple(got)
    else:
        shape = tuple(map(index, args))
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def filled(shape: tuple[int, ...], value: Any, numpy: np.dtype, device: str) -> Tensor:
    """A tensor of one number."""
    return apply(ops.full, ((), (shape, numpy)), (value,), device)[0]


def _dtype_or_default(dtype: Any) -> np.dtype:
    return promotion.default_dtype() if dtype is None else dtypes.numpy_of(dtype)


def _maker(name: str, value: float, doc: str) -> Any:
    def make(*size_: Any, size: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None, names: Any = None) -> Tensor:  # fmt: skip
        _check(layout)
        if names is not None:
            raise NotImplementedError(f"{name}(): named tensors are not supported")
        shape = _size(size_, size)
        if out is not None and dtype is None:
            dtype = out.dtype
        t = filled(shape, value, _dtype_or_default(dtype), _place(device))
        return _finish(with_format(t, memory_format, t) if memory_format is not None else t, requires_grad, out)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    return facade(method=False, override=False)(make)


zeros = _maker("zeros", 0, "A tensor of zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``.")
ones = _maker("ones", 1, "A tensor of ones.")
empty = _maker("empty", 0, "A tensor whose content is up to the implementation: zeros here.")
for _f in (zeros, ones, empty):
    _f.__module__ = __name__


@facade(method=False, override=False)
def full(size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
         pin_memory: bool = False, requires_grad: bool = False, names: Any = None) -> Tensor:  # fmt: skip
    """A tensor filled with ``fill_value``; its dtype is that of the number unless given."""
    _check(layout)
    shape = _size((size,))
    if isinstance(fill_value, Tensor):
        dtype = dtype or fill_value.dtype
        fill_value = fill_value.item()
    fill_value = fill_value.item() if isinstance(fill_value, np.generic) else fill_value
    numpy = dtypes.numpy_of(dtype) if dtype is not None else promotion.number_dtype(type(fill_value).__name__)
    return _finish(filled(shape, fill_value, numpy, _place(device)), requires_grad, out)


@facade(method=False, override=False)
def empty_strided(size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor with the given strides, whose content is up to the implementation: zeros here."""
    from torchlike.ops.views import is_contiguous
    from torchlike.tensor.layouts import is_dense

    shape, stride = _size((size,)), _size((stride,))
    t = filled(shape, 0, _dtype_or_default(dtype), _place(device))
    if not is_contiguous(shape, stride):
        if is_dense(shape, stride):
            t._strides, t._dense = stride, False
        else:
            reach = 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) if all(shape) else 0
            t = filled((reach,), 0, _dtype_or_default(dtype), _place(device)).as_strided(shape, stride)
    return _finish(t, requires_grad)


@facade(method=False, override=False)
def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                   requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor whose dimensions lie in memory in the order ``physical_layout``."""
    shape, order = _size((size,)), tuple(physical_layout)
    stride, step = [0] * len(shape), 1
    for d in reversed(order):
        stride[d] = step
        step *= max(shape[d], 1)
    return empty_strided(shape, stride, dtype=dtype, device=device, requires_grad=requires_grad)


def _like(name: str, value: float) -> Any:
    def make(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
             memory_format: Any = preserve_format, pin_memory: bool = False) -> Tensor:  # fmt: skip
        _check(layout)
        aval = input._value.aval
        numpy = aval.dtype if dtype is None else dtypes.numpy_of(dtype)
        t = filled(aval.shape, value, numpy, aval.device if device is None else _place(device))
        return _finish(with_format(t, memory_format, input), requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"``torch.{name[:-5]}`` with the shape, dtype and device of ``input``."
    return facade(method=False)(make)


zeros_like = _like("zeros_like", 0)
ones_like = _like("ones_like", 1)
empty_like = _like("empty_like", 0)
for _f in (zeros_like, ones_like, empty_like):
    _f.__module__ = __name__


@facade(method=False)
def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = preserve_format, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``torch.full`` with the shape, dtype and device of ``input``."""
    _check(layout)
    aval = input._value.aval
    fill_value = fill_value.item() if isinstance(fill_value, (Tensor, np.generic)) else fill_value
    t = filled(aval.shape, fill_value, aval.dtype if dtype is None else dtypes.numpy_of(dtype),
               aval.device if device is None else _place(device))  # fmt: skip
    return _finish(with_format(t, memory_format, input), requires_grad)


def _new(name: str, value: float) -> Any:
    def make(self: Tensor, *size_: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False,
             layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
        _check(layout)
        aval = self._value.aval
        numpy = aval.dtype if dtype is None else dtypes.numpy_of(dtype)
        return _finish(filled(_size(size_, size), value, numpy, aval.device if device is None else _place(device)), requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"``torch.{name[4:]}`` with the dtype and device of this tensor."
    return facade(function=False)(make)


new_zeros, new_ones, new_empty = _new("new_zeros", 0), _new("new_ones", 1), _new("new_empty", 0)
for _f in (new_zeros, new_ones, new_empty):
    _f.__module__ = __name__


@facade(function=False)
def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
             layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``torch.full`` with the dtype and device of this tensor."""
    aval = self._value.aval
    return full(size, fill_value, dtype=self.dtype if dtype is None else dtype,
                device=from_engine(aval.device) if device is None else device, requires_grad=requires_grad)  # fmt: skip


@facade(function=False)
def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
               layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``torch.tensor`` with the dtype and device of this tensor."""
    if isinstance(data, Tensor):
        out = convert(data.detach().clone(), None if device is None else _place(device), (dtype or self.dtype).numpy)
        return _finish(out, requires_grad)
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@facade(function=False)
def new_empty_strided(self: Tensor, size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None,
                      pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``torch.empty_strided`` with the dtype and device of this tensor."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@facade(function=False)
def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The legacy constructor with the dtype of this tensor."""
    from torchlike.tensor.legacy import construct

    return construct(self.dtype, *args, **kwargs)


# -- ranges -----------------------------------------------------------------------------------------------------------


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, (Tensor, np.generic)) else x


@facade(method=False, override=False)
def arange(*args: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
           device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``start, start + step, ...`` up to and without ``end``."""
    _check(layout)
    given = list(args)
    if len(given) == 1 and end is None:
        end = given.pop(0)
    elif given:
        start = given.pop(0)
        if given:
            end = given.pop(0)
        if given:
            step = given.pop(0)
    start, end, step = (_number(x) for x in (0 if start is None else start, end, 1 if step is None else step))
    if end is None or given:
        raise TypeError("arange() received an invalid combination of arguments: expected (end), (start, end) or (start, end, step)")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if any(isinstance(x, float) and not math.isfinite(x) for x in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is not None:
        numpy = dtypes.numpy_of(dtype)
    elif out is not None:
        numpy = out._value.aval.dtype
    elif all(isinstance(x, int) for x in (start, end, step)):
        numpy = np.dtype(np.int64)
    else:
        numpy = promotion.default_dtype()
    if promotion.kind(numpy) == 1 and all(isinstance(x, int) for x in (start, end, step)):
        length = -((start - end) // step)
    else:
        length = math.ceil((end - start) / step)
    if promotion.kind(numpy) < 2:
        start, step = int(start), int(step)
    return _finish(apply(ops.arange, ((), (int(length), numpy)), (start, step), _place(device))[0], requires_grad, out)


@facade(method=False, override=False, name="range")
def range_(start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Like ``arange``, but ``end`` is part of it (deprecated in torch)."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=3,
    )
    start, end, step = _number(start), _number(end), _number(step)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    length = math.floor((end - start) / step) + 1
    return _finish(apply(ops.arange, ((), (length, _dtype_or_default(dtype))), (start, step), _place(device))[0], requires_grad, out)


@facade(method=False, override=False)
def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``steps`` evenly spaced values from ``start`` to ``end``, both included."""
    _check(layout)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = _number(start), _number(end)
    if dtype is None and out is not None:
        dtype = out.dtype
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = dtypes.get_default_dtype().to_complex()
    return _finish(apply(ops.linspace, ((), (index(steps), _dtype_or_default(dtype))), (start, end), _place(device))[0], requires_grad, out)


@facade(method=False, override=False)
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``base ** linspace(start, end, steps)``."""
    numpy = _dtype_or_default(dtype if dtype is not None or out is None else out.dtype)
    exact = dtypes.of_numpy(numpy if promotion.is_inexact(numpy) else np.dtype(np.float64))
    t = base ** linspace(start, end, steps, dtype=exact, device=device)
    return _finish(convert(t, None, numpy), requires_grad, out)


@facade(method=False, override=False)
def eye(n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Ones on the diagonal, zeros elsewhere."""
    _check(layout)
    n, m = index(n), index(n if m is None else m)
    if n < 0 or m < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(n, m)}")
    return _finish(apply(ops.eye, ((), (n, m, _dtype_or_default(dtype))), (), _place(device))[0], requires_grad, out)


@facade(method=False, name="complex")
def complex_(real: Tensor, imag: Tensor, *, out: Any = None) -> Tensor:
    """Complex numbers from their parts."""
    if real.dtype is not imag.dtype:
        raise RuntimeError(f"Expected object of scalar type {real.dtype} but got scalar type {imag.dtype} for second argument")
    if real.dtype.name not in ("float32", "float64", "float16"):
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {real.dtype} and {imag.dtype}")
    from torchlike.tensor.shape import broadcast_tensors, view_as_complex

    real, imag = broadcast_tensors(real, imag)
    t = view_as_complex(real._stack((real, imag), -1))
    return write_out(out, t) if out is not None else t


@facade(method=False, override=False)
def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, layout: Any = None, pin_memory: bool = False,
                  requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A 0-d tensor of a number."""
    return tensor(s, dtype=dtype or dtypes.get_default_dtype(), device=device, requires_grad=requires_grad)


