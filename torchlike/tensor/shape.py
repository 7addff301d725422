"""Views as users call them: ``view, reshape, transpose, permute, squeeze, expand, split, unbind, ...``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from torchlike.ops import views
from torchlike.ops.declare import canonical_dim, canonical_dims
from torchlike.ops.views import infer_size, view_strides
from torchlike.tensor import dtypes
from torchlike.tensor.dispatch import index, ints
from torchlike.tensor.facade import facade
from torchlike.tensor.formats import memory_format, preserve_format, strides_of
from torchlike.tensor.size import Size
from torchlike.tensor.tensor import Tensor, jax_traced


def _sizes(args: Sequence[Any]) -> tuple[int, ...]:
    """Sizes given as one sequence or as several ints."""
    if len(args) == 1:
        got = ints(args[0])
        return (got,) if isinstance(got, int) else got
    return tuple(map(index, args))


@facade(function=False)
def view(input: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same storage with another shape; an error when the strides do not allow it. Or with another dtype."""
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtypes.dtype)):
        return view_as_dtype(input, dtype or shape[0])
    aval = input._value.aval
    new = infer_size(_sizes(shape) if size is None else _sizes((size,)), aval.size)
    if not input._dense:
        old, strides, _ = input._layout()
        if view_strides(old, strides, new) is None:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                "contiguous subspaces). Use .reshape(...) instead."
            )
    return input._view(views.view, (new,), dense=True)


def view_as_dtype(input: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The same bytes as another dtype."""
    old, new = input.dtype.itemsize, dtype.itemsize
    if dtype is input.dtype:
        return input._view(views.alias, (), dense=True)
    if old != new:
        if input.ndim == 0:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {input.dtype} as {dtype} (different element sizes)"
            )
        if input.stride()[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 to view {input.dtype} as {dtype} (different element sizes)")
        if new > old and input.shape[-1] * old % new:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {new // old} to view {input.dtype} as {dtype} (different element sizes), "
                f"but got {input.shape[-1]}"
            )
    return input._view(views.view_dtype, (dtype.numpy,), dense=True)


@facade(function=False)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.view(other.size())``."""
    return view(input, other.shape)


@facade()
def reshape(input: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    """The elements in row-major order with another shape: a view where the strides allow it, else a copy."""
    if kwargs:
        shape = (kwargs.pop("shape"),)
    new = infer_size(_sizes(shape), input._value.aval.size)
    if input._dense:
        return input._view(views.view, (new,), dense=True)
    old, strides, _ = input._layout()
    if view_strides(old, strides, new) is None:
        input = contiguous(input)
        return input._view(views.view, (new,), dense=True)
    return input._view(views.view, (new,))


@facade(function=False)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.reshape(other.size())``."""
    return reshape(input, other.shape)


@facade()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions from ``start_dim`` to ``end_dim`` made one."""
    shape = input._value.aval.shape
    start, end = canonical_dim(start_dim, len(shape)), canonical_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, (1,))
    if start == end:
        return input
    return reshape(input, (*shape[:start], math.prod(shape[start:end + 1]), *shape[end + 1:]))


@facade()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension made several."""
    shape = input._value.aval.shape
    d = canonical_dim(dim, len(shape))
    sizes = _sizes((sizes,))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        parts = infer_size(sizes, shape[d])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the input tensor"
        ) from None
    return view(input, (*shape[:d], *parts, *shape[d + 1:]))


@facade()
def ravel(input: Tensor) -> Tensor:
    """All elements as one dimension."""
    return reshape(input, (-1,))


@facade()
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    n = input._value.aval.ndim
    return input._view(views.transpose, (canonical_dim(index(dim0), n), canonical_dim(index(dim1), n)))


@facade(aliases=("swapdims",))
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """``transpose`` under NumPy's name."""
    return transpose(input, axis0, axis1)


@facade()
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a tensor of fewer dimensions as it is."""
    if input._value.aval.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input._value.aval.ndim}D")
    return input._view(views.t, ())


@facade()
def permute(input: Tensor, *dims: Any, **kwargs: Any) -> Tensor:
    """The dimensions in the order ``dims``."""
    dims = _sizes((kwargs["dims"],) if kwargs else dims)
    n = input._value.aval.ndim
    if len(dims) != n:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(dims)}"
        )
    order = tuple(canonical_dim(d, n) for d in dims)
    if len(set(order)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return input._view(views.permute, (order,))


@facade(aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions ``source`` moved to ``destination``; the others keep their order."""
    n = input._value.aval.ndim
    source, destination = _sizes((source,)), _sizes((destination,))
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims "
            f"as destination ({list(destination)} dims)"
        )
    src, dst = [canonical_dim(d, n) for d in source], [canonical_dim(d, n) for d in destination]
    if len(set(src)) != len(src):
        raise RuntimeError(f"movedim: repeated dim in `source` ({list(source)})")
    if len(set(dst)) != len(dst):
        raise RuntimeError(f"movedim: repeated dim in `destination` ({list(destination)})")
    order = [d for d in range(n) if d not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return permute(input, order)


@facade(inplace=False)
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Dimensions of size one removed: all of them, or those of ``dim`` that have size one."""
    shape = input._value.aval.shape
    chosen = canonical_dims(ints(dim), len(shape), empty_is_all=False) if dim is not None else range(len(shape))
    drop = tuple(d for d in chosen if d < len(shape) and shape[d] == 1)
    return input._view(views.squeeze, (drop,), dense=True)


@facade()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A dimension of size one inserted at ``dim``."""
    n = input._value.aval.ndim
    return input._view(views.unsqueeze, (canonical_dim(index(dim), n + 1),), dense=True)


@facade(function=False)
def expand(input: Tensor, *sizes: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """Dimensions of size one seen as larger, without a copy; -1 keeps a size."""
    new = _sizes(sizes if size is None else (size,))
    shape = input._value.aval.shape
    lead = len(new) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand({input.type()}{list(shape)}, size={list(new)}): the number of sizes provided ({len(new)}) must be greater "
            f"or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    full = []
    for i, n in enumerate(new):
        have = shape[i - lead] if i >= lead else None
        if n == -1:
            if have is None:
                raise RuntimeError(
                    f"expand({input.type()}{list(shape)}, size={list(new)}): the expanded size of the tensor ({n}) isn't allowed "
                    "in a leading, non-existing dimension 0"
                )
            full.append(have)
        elif have is not None and have != n and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton dimension {i}.  "
                f"Target sizes: {list(new)}.  Tensor sizes: {list(shape)}"
            )
        else:
            full.append(n)
    return input._view(views.expand, (tuple(full),))


@facade(function=False)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.expand(other.size())``."""
    return expand(input, other.shape)


@facade(method=True)
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """``input.expand(size)``."""
    return expand(input, size)


@facade()
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at ``index`` along ``dim``, without that dimension."""
    shape = input._value.aval.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = canonical_dim(dim, len(shape))
    i = int(index)
    if not -shape[d] <= i < shape[d]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(shape)} at dimension {d}")
    return input._view(views.select, (d,), (i + shape[d] if i < 0 else i,), dense=d == 0)


def slice_view(input: Tensor, dim: int, start: int | None, stop: int | None, step: int = 1) -> Tensor:
    """A Python slice of one (canonical) dimension; ``input`` itself where the slice takes everything."""
    n = input._value.aval.shape[dim]
    if step <= 0:
        raise ValueError("step must be greater than zero")
    first, last, _ = slice(start, stop, step).indices(n)
    length = max(0, -(-(last - first) // step))
    if length == 0:
        first = min(first, n)
    return input._view(views.slice_, (dim, length, step), (first,), dense=dim == 0 and step == 1)


@facade()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` elements along ``dim`` from ``start``."""
    shape = input._value.aval.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    d = canonical_dim(dim, len(shape))
    start, length = int(start), index(length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[d] <= start <= shape[d]:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-shape[d]}, {shape[d]}], but got {start})"
        )
    if start < 0:
        start += shape[d]
    if start + length > shape[d]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({shape[d]}).")
    return slice_view(input, d, start, start + length)


@facade()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along ``dim``."""
    shape = input._value.aval.shape
    if not shape:
        raise RuntimeError("Dimension specified as 0 but tensor has no dimensions")
    d = canonical_dim(dim, len(shape))
    return tuple(
        _one_of_many(input._view(views.select, (d,), (i,), dense=d == 0), "UnbindBackward0") for i in range(shape[d])
    )


@facade()
def split(tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None) -> tuple[Tensor, ...]:
    """Pieces along ``dim``: of one size (the last may be smaller) or of the given sizes."""
    size = split_size_or_sections if split_size_or_sections is not None else split_size
    shape = tensor._value.aval.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = canonical_dim(dim, len(shape))
    n = shape[d]
    if not isinstance(size, (tuple, list)):
        size = index(size)
        if size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        if size == 0 and n != 0:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
        count = max(-(-n // size), 1) if size else 1
        sections = [size] * (count - 1) + [n - size * (count - 1)]
    else:
        sections = [index(s) for s in size]
        if any(s < 0 for s in sections):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sections}"
            )
        if sum(sections) != n:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {d}), but got "
                f"split_sizes={sections}"
            )
    pieces, start = [], 0
    for s in sections:
        pieces.append(_one_of_many(slice_view(tensor, d, start, start + s), "SplitBackward0"))
        start += s
    return tuple(pieces)


def _one_of_many(piece: Tensor, function: str) -> Tensor:
    """Mark a view that came with others: torch forbids modifying those in place while they are in a graph."""
    piece._one_of = function
    return piece


@facade()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along ``dim``."""
    return split(input, list(split_sizes), dim)


@facade()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` pieces of equal size along ``dim``."""
    shape = input._value.aval.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = canonical_dim(dim, len(shape))
    size = -(-shape[d] // chunks)
    if size == 0:
        return split(input, [0] * chunks, d)
    return split(input, size, d)


@facade()
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces along ``dim``: nearly equal ones, or between the given indices."""
    shape = input._value.aval.shape
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = canonical_dim(dim, len(shape))
    n = shape[d]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.ndim > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor")
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, (tuple, list)):
        bounds = [index(i) for i in indices_or_sections]
    else:
        count = index(indices_or_sections)
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        small, extra = divmod(n, count)
        bounds, at = [], 0
        for i in range(count - 1):
            at += small + (1 if i < extra else 0)
            bounds.append(at)
    edges = [0, *bounds, n]
    return tuple(slice_view(input, d, a, max(b, 0) if i == len(bounds) else b) for i, (a, b) in enumerate(itertools.pairwise(edges)))


def _part_split(name: str, input: Tensor, how: Any, dim: int) -> tuple[Tensor, ...]:
    if not isinstance(how, (tuple, list, Tensor)) and input.shape[dim] % how:
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {input.shape[dim]} is not "
            f"divisible by the split_size {how}!"
        )
    return tensor_split(input, how, dim)


@facade()
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along the second dimension (the first of a 1-d tensor)."""
    if input.ndim < 1:
        raise RuntimeError(f"torch.hsplit requires a tensor with at least 1 dimension, but got a tensor with {input.ndim} dimensions!")
    return _part_split("hsplit", input, indices_or_sections, 0 if input.ndim == 1 else 1)


@facade()
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along the first dimension."""
    if input.ndim < 2:
        raise RuntimeError(f"torch.vsplit requires a tensor with at least 2 dimension, but got a tensor with {input.ndim} dimensions!")
    return _part_split("vsplit", input, indices_or_sections, 0)


@facade()
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along the third dimension."""
    if input.ndim < 3:
        raise RuntimeError(f"torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with {input.ndim} dimensions!")
    return _part_split("dsplit", input, indices_or_sections, 2)


@facade()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal over two dimensions, as the last dimension (a view)."""
    n = input._value.aval.ndim
    d1, d2 = canonical_dim(dim1, n), canonical_dim(dim2, n)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return input._view(views.diagonal, (index(offset), d1, d2))


@facade(function=False)
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of ``size`` every ``step`` along ``dimension``, as a new last dimension (a view)."""
    shape = input._value.aval.shape
    d = canonical_dim(dimension, len(shape))
    n = shape[d] if shape else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return input._view(views.unfold, (d, index(size), index(step)))


@facade()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The storage seen with any sizes, strides and offset (in elements)."""
    size, stride = _sizes((size,)), _sizes((stride,))
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    offset = input._layout()[2] if storage_offset is None else index(storage_offset)
    # Of the whole storage: the root, wherever this tensor lies in it.
    root = input
    if input._chain:
        root = input._base if input._base is not None and not input._base._chain else None
        if root is None:
            root = object.__new__(Tensor)
            root._storage = input._storage
            root._seen = -1
            root._refresh()
            root._strides = input._storage.strides
    total = root._value.aval.size
    reach = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 if all(size) else 0
    if reach > total:
        item = input.element_size()
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} requiring a "
            f"storage size of {reach * item} are out of bounds for storage of size {total * item}"
        )
    root_stride = root._strides or views.contiguous_strides(root._value.aval.shape)
    return root._view(views.as_strided, (size, stride, offset, root_stride))


@facade()
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of reals (a view)."""
    if not input.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return input._view(views.view_as_real, (), dense=True)


@facade()
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of reals in the last dimension as complex numbers (a view)."""
    if input.dtype.name not in ("float32", "float64", "float16"):
        raise RuntimeError(f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {input.dtype}")
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.stride(-1) != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    return input._view(views.view_as_complex, (), dense=True)


@facade(method=False)
def real(input: Tensor) -> Tensor:
    """The real part (a view of complex tensors, the tensor itself otherwise)."""
    return input._view(views.real, ()) if input.is_complex() else input


@facade(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary part (a view)."""
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return input._view(views.imag, ())


@facade(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(expand(t, shape) for t in tensors)


@facade(method=False, override=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which all shapes broadcast."""
    shapes = tuple((s,) if isinstance(s, int) else tuple(s) for s in shapes)
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for s in shapes:
        for i in range(-1, -1 - len(s), -1):
            if s[i] < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({s[i]}): ({s[i]})")
            if s[i] == 1 or s[i] == result[i]:
                continue
            if result[i] != 1:
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape. Mismatch is between arg 0 with shape "
                    f"{list(shapes[0])} and arg with shape {list(s)}."
                )
            result[i] = s[i]
    return Size(result)


def _at_least(n: int, tensors: Sequence[Any]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
        single = False
    else:
        single = len(tensors) == 1
    grown = []
    for t in tensors:
        while t.ndim < min(n, 1):
            t = unsqueeze(t, 0)
        if n >= 2 and t.ndim == 1:
            t = unsqueeze(t, 0)
        if n >= 3 and t.ndim == 2:
            t = unsqueeze(t, -1)
        grown.append(t)
    return grown[0] if single else tuple(grown)


@facade(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension."""
    return _at_least(1, tensors)


@facade(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions."""
    return _at_least(2, tensors)


@facade(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions."""
    return _at_least(3, tensors)


@facade(function=False)
def contiguous(input: Tensor, memory_format: memory_format = None) -> Tensor:
    """The tensor itself if it is laid out as asked, else a copy that is."""
    if input.is_contiguous(memory_format) if memory_format is not None else (input._dense or input.is_contiguous()):
        return input
    from torchlike.tensor.conversion import clone

    return clone(input, memory_format=memory_format or _contiguous())


def _contiguous() -> memory_format:
    from torchlike.tensor.formats import contiguous_format

    return contiguous_format


def with_format(result: Tensor, format: memory_format | None, source: Tensor) -> Tensor:
    """Give a fresh tensor the strides of a memory format (``preserve_format``: those of ``source`` where it is dense)."""
    shape = result._value.aval.shape
    if format is None or format is preserve_format:
        if source._dense:
            return result
        from torchlike.tensor.layouts import restride

        restride(result, (source,))
        return result
    strides = strides_of(format, shape)
    if strides is not None and not views.is_contiguous(shape, strides):
        result._strides, result._dense = strides, False
    return result


def _transposed_T(input: Tensor) -> Tensor:
    if input.ndim != 2 and input.ndim != 0:
        import warnings

        if input.ndim > 2 or input.ndim == 1:
            warnings.warn(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
                "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim "
                "- 1, -1, -1))` to reverse the dimensions of a tensor.",
                UserWarning,
                stacklevel=3,
            )
    if input.ndim == 2:
        return input._view(views.transpose, (0, 1))
    return input._view(views.permute, (tuple(range(input.ndim - 1, -1, -1)),))


def _matrix_transposed(input: Tensor) -> Tensor:
    if input.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor.")
    return transpose(input, -2, -1)


Tensor.T = property(_transposed_T, doc="The dimensions in reverse order.")  # type: ignore[attr-defined]
Tensor.mT = property(_matrix_transposed, doc="The last two dimensions exchanged.")  # type: ignore[attr-defined]
Tensor.H = property(lambda self: adjoint_2d(self), doc="The conjugate transpose of a matrix.")  # type: ignore[attr-defined]
Tensor.mH = property(lambda self: adjoint(self), doc="The conjugate transpose of the last two dimensions.")  # type: ignore[attr-defined]


def adjoint_2d(input: Tensor) -> Tensor:
    """The conjugate transpose of a matrix (``Tensor.H``)."""
    if input.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {input.ndim}-D tensor.")
    out = input if input.ndim == 0 else transpose(input, 0, 1)
    return out.conj() if input.is_complex() else out


@facade()
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    out = _matrix_transposed(input)
    return out.conj() if input.is_complex() else out


def _set_real(self: Tensor, value: Any) -> None:
    (self._view(views.real, ()) if self.is_complex() else self).copy_(value)


def _set_imag(self: Tensor, value: Any) -> None:
    imag(self).copy_(value)


Tensor.real = property(lambda self: real(self), _set_real, doc="The real part.")  # type: ignore[attr-defined]
Tensor.imag = property(lambda self: imag(self), _set_imag, doc="The imaginary part.")  # type: ignore[attr-defined]


def _in_place_view(name: str, function: Any) -> Any:
    """``transpose_`` and its like: the tensor itself becomes the view."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        viewed = function(self, *args, **kwargs)
        if jax_traced(viewed):
            self._value = viewed._value
            return self
        # The tensor and the view exchange places: the storage keeps the data, this object shows the view.
        node, nr = viewed._node, viewed._nr
        self._value, self._node, self._nr = viewed._value, node if node is not None else self._node, nr
        self._chain, self._seen, self._dense = viewed._chain, viewed._seen, viewed._dense
        if self._base is None:
            self._base_steps = ()
        else:
            self._base_steps = viewed._base_steps
        return self

    method.__name__ = name
    method.__doc__ = f"``{name[:-1]}``, applied to the tensor itself."
    return method


for _name, _function in (("transpose_", transpose), ("t_", t), ("squeeze_", squeeze), ("unsqueeze_", unsqueeze),
                         ("swapaxes_", swapaxes), ("swapdims_", swapaxes), ("as_strided_", as_strided)):  # fmt: skip
    setattr(Tensor, _name, _in_place_view(_name, _function))


