"""Views: operators whose result shares the argument's storage.

Each says three things: what it reads (the body), what writing through it does to the base (``write``; by default a scatter to
the positions that the body reads), and the strides of its result (``LAYOUT``). A layout is ``(size, stride, offset)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike.ops.declare import Array, Dim, Dims, DType, Index, Ints, Op, op

Layout = tuple[tuple[int, ...], tuple[int, ...], int]
LAYOUT: dict[Op, Callable[..., Layout]] = {}


def layout(view: Op) -> Callable[[Callable[..., Layout]], Callable[..., Layout]]:
    """Decorator: the layout of a view's result from ``(size, stride, offset)`` of its argument and the view's arguments."""

    def declare(rule: Callable[..., Layout]) -> Callable[..., Layout]:
        LAYOUT[view] = rule
        return rule

    return declare


def contiguous_strides(size: Sequence[int]) -> tuple[int, ...]:
    """Strides of a row-major tensor, in elements."""
    strides = [1] * len(size)
    for i in range(len(size) - 2, -1, -1):
        strides[i] = strides[i + 1] * max(size[i + 1], 1)
    return tuple(strides)


def is_contiguous(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether strides are row-major; dimensions of size one may have any stride."""
    expected = 1
    for n, s in zip(reversed(size), reversed(stride), strict=True):
        if n == 0:
            return True
        if n != 1:
            if s != expected:
                return False
            expected *= n
    return True


def view_strides(old_size: Sequence[int], old_stride: Sequence[int], new_size: Sequence[int]) -> tuple[int, ...] | None:
    """Strides with which memory of the old layout can be seen as ``new_size``; None where a copy is needed.

    Neighbouring old dimensions that lie one behind the other in memory form a chunk; the new dimensions must divide the
    chunks one by one.
    """
    if math.prod(old_size) == 0:
        return tuple(old_stride) if tuple(old_size) == tuple(new_size) else contiguous_strides(new_size)
    new_stride = [0] * len(new_size)
    d = len(new_size) - 1
    chunk_stride = old_stride[-1] if old_size else 1
    old_numel = new_numel = 1
    for i in range(len(old_size) - 1, -1, -1):
        old_numel *= old_size[i]
        ends = i == 0 or (old_size[i - 1] != 1 and old_stride[i - 1] != old_numel * chunk_stride)
        if ends:
            while d >= 0 and (new_numel < old_numel or new_size[d] == 1):
                new_stride[d] = new_numel * chunk_stride
                new_numel *= new_size[d]
                d -= 1
            if new_numel != old_numel:
                return None
            if i > 0:
                chunk_stride = old_stride[i - 1]
                old_numel = new_numel = 1
    while d >= 0:  # a 0-d tensor seen with dimensions of one
        new_stride[d] = new_numel * chunk_stride
        d -= 1
    return tuple(new_stride)


def infer_size(size: Sequence[int], numel: int) -> tuple[int, ...]:
    """``size`` with a -1 replaced by what makes ``numel`` elements; ``RuntimeError`` when that is impossible."""
    size = tuple(int(n) for n in size)
    unknown = [i for i, n in enumerate(size) if n == -1]
    if any(n < -1 for n in size):
        raise RuntimeError(f"invalid shape dimension {next(n for n in size if n < -1)}")
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = math.prod(n for n in size if n != -1)
    if unknown:
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {numel} elements into shape {list(size)} because the unspecified dimension size "
                "-1 can be any value and is ambiguous" if numel == 0
                else f"shape '{list(size)}' is invalid for input of size {numel}"
            )  # fmt: skip
        if numel % known == 0:
            return tuple(numel // known if n == -1 else n for n in size)
    elif known == numel:
        return size
    raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")


# -- reshaping --------------------------------------------------------------------------------------------------------


@op(view=True, function=False, method=False)
def view(input: Array, size: Ints):
    """The same elements in row-major order with another shape."""
    return jnp.reshape(input, size)


@view.write
def _(base, new, size):
    return jnp.reshape(new, base.shape)


@layout(view)
def _(size, stride, offset, new_size):
    return new_size, view_strides(size, stride, new_size) or contiguous_strides(new_size), offset


@op(view=True, function=False, method=False, node="AliasBackward0")
def alias(input: Array):
    """The same tensor under another name."""
    return input


@alias.write
def _(base, new):
    return new


@layout(alias)
def _(size, stride, offset):
    return size, stride, offset


@op(view=True, function=False, method=False)
def permute(input: Array, dims: Dims):
    """Dimensions in another order; ``dims`` are canonical."""
    return jnp.transpose(input, dims)


@permute.write
def _(base, new, dims):
    return jnp.transpose(new, tuple(int(i) for i in np.argsort(dims)))


@layout(permute)
def _(size, stride, offset, dims):
    return tuple(size[d] for d in dims), tuple(stride[d] for d in dims), offset


@op(view=True, function=False, method=False)
def transpose(input: Array, dim0: Dim, dim1: Dim):
    """Two dimensions exchanged; dims are canonical."""
    return jnp.swapaxes(input, dim0, dim1) if input.ndim else input


@transpose.write
def _(base, new, dim0, dim1):
    return jnp.swapaxes(new, dim0, dim1) if base.ndim else new


@layout(transpose)
def _(size, stride, offset, dim0, dim1):
    order = list(range(len(size)))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return tuple(size[d] for d in order), tuple(stride[d] for d in order), offset


@op(view=True, function=False, method=False)
def t(input: Array):
    """The transpose of a matrix; tensors of fewer dimensions as they are."""
    return input.T


@t.write
def _(base, new):
    return new.T


@layout(t)
def _(size, stride, offset):
    return size[::-1], stride[::-1], offset


@op(view=True, function=False, method=False)
def unsqueeze(input: Array, dim: Dim):
    """A dimension of size one inserted at ``dim`` (canonical)."""
    return jnp.expand_dims(input, dim)


@unsqueeze.write
def _(base, new, dim):
    return new.reshape(base.shape)


@layout(unsqueeze)
def _(size, stride, offset, dim):
    inserted = size[dim] * stride[dim] if dim < len(size) else 1
    return (*size[:dim], 1, *size[dim:]), (*stride[:dim], inserted, *stride[dim:]), offset


@op(view=True, function=False, method=False, node="SqueezeBackward0")
def squeeze(input: Array, dims: Dims):
    """Dimensions ``dims`` (canonical, of size one) removed."""
    return jnp.squeeze(input, dims)


@squeeze.write
def _(base, new, dims):
    return new.reshape(base.shape)


@layout(squeeze)
def _(size, stride, offset, dims):
    kept = [d for d in range(len(size)) if d not in dims]
    return tuple(size[d] for d in kept), tuple(stride[d] for d in kept), offset


@op(view=True, function=False, method=False)
def expand(input: Array, size: Ints):
    """Dimensions of size one repeated, without a copy in torch: their stride is 0. ``size`` is complete."""
    return jnp.broadcast_to(input, size)


@layout(expand)
def _(size, stride, offset, new_size):
    lead = len(new_size) - len(size)
    new_stride = [0] * lead
    for i, (n, s) in enumerate(zip(size, stride, strict=True)):
        new_stride.append(0 if n == 1 and new_size[lead + i] != 1 else s)
    # Leading dimensions of size one that expand adds have the stride of the whole, as torch gives them.
    for i in range(lead - 1, -1, -1):
        if new_size[i] == 1:
            new_stride[i] = new_size[i + 1] * new_stride[i + 1] if i + 1 < len(new_size) else 1
    return tuple(new_size), tuple(new_stride), offset


# -- taking parts -----------------------------------------------------------------------------------------------------


@op(view=True, function=False, method=False)
def select(input: Array, dim: Dim, index: Index):
    """The slice at ``index`` (counted from the front) along ``dim``, without that dimension."""
    return jax.lax.dynamic_index_in_dim(input, index, dim, keepdims=False)


@select.write
def _(base, new, dim, index):
    return jax.lax.dynamic_update_index_in_dim(base, new, index, dim)


@layout(select)
def _(size, stride, offset, dim, index):
    return size[:dim] + size[dim + 1:], stride[:dim] + stride[dim + 1:], offset + index * stride[dim]


@op(view=True, function=False, method=False, name="slice")
def slice_(input: Array, dim: Dim, length: int, step: int, start: Index):
    """``length`` elements along ``dim`` from ``start`` in steps of ``step``."""
    n = input.shape[dim]
    if type(start) is int:
        return jax.lax.slice_in_dim(input, start, start + (length - 1) * step + 1 if length else start, step, dim)
    if step == 1:
        return jax.lax.dynamic_slice_in_dim(input, start, length, dim)
    return jnp.take(input, jnp.minimum(start + step * jnp.arange(length), n - 1), axis=dim)


@slice_.write
def _(base, new, dim, length, step, start):
    if step == 1:
        return jax.lax.dynamic_update_slice_in_dim(base, new, start, dim)
    index = [slice(None)] * base.ndim
    index[dim] = start + step * jnp.arange(length)
    return base.at[tuple(index)].set(new)


@layout(slice_)
def _(size, stride, offset, dim, length, step, start):
    return (*size[:dim], length, *size[dim + 1:]), (*stride[:dim], stride[dim] * step, *stride[dim + 1:]), \
        offset + start * stride[dim]  # fmt: skip


@op(view=True, function=False, method=False)
def diagonal(input: Array, offset: int, dim1: Dim, dim2: Dim):
    """The diagonal over two dimensions (canonical), as the last dimension."""
    return jnp.diagonal(input, offset, dim1, dim2)


@layout(diagonal)
def _(size, stride, storage_offset, offset, dim1, dim2):
    n = max(min(size[dim1], size[dim2] - offset) if offset >= 0 else min(size[dim1] + offset, size[dim2]), 0)
    if n:
        storage_offset += offset * stride[dim2] if offset >= 0 else -offset * stride[dim1]
    kept = [d for d in range(len(size)) if d not in (dim1, dim2)]
    return (*(size[d] for d in kept), n), (*(stride[d] for d in kept), stride[dim1] + stride[dim2]), storage_offset


@op(view=True, function=False, method=False)
def unfold(input: Array, dimension: Dim, size: int, step: int):
    """Windows of ``size`` every ``step`` along ``dimension`` (canonical); the window is the last dimension."""
    if input.ndim == 0:
        return input.reshape(1)[:size]
    count = (input.shape[dimension] - size) // step + 1
    index = (step * jnp.arange(count))[:, None] + jnp.arange(size)
    taken = jnp.take(input, index.reshape(-1), axis=dimension)
    shape = (*input.shape[:dimension], count, size, *input.shape[dimension + 1:])
    return jnp.moveaxis(taken.reshape(shape), dimension + 1, -1)


@layout(unfold)
def _(size, stride, offset, dimension, window, step):
    if not size:
        return (window,), (1,), offset
    count = (size[dimension] - window) // step + 1
    return (*size[:dimension], count, *size[dimension + 1:], window), \
        (*stride[:dimension], stride[dimension] * step, *stride[dimension + 1:], stride[dimension]), offset  # fmt: skip


@op(view=True, function=False, method=False)
def as_strided(input: Array, size: Ints, stride: Ints, storage_offset: int, root_stride: Ints):
    """Elements of the whole storage at ``storage_offset + sum(index * stride)``; ``input`` is the storage's root tensor."""
    flat = in_memory_order(input, root_stride)
    positions = np.full(size, storage_offset, np.int64)
    for d, (n, s) in enumerate(zip(size, stride, strict=True)):
        positions += (np.arange(n) * s).reshape([-1 if i == d else 1 for i in range(len(size))])
    return jnp.take(flat, positions.reshape(-1), mode="clip").reshape(size)


@layout(as_strided)
def _(size, stride, offset, new_size, new_stride, new_offset, root_stride):
    return new_size, new_stride, new_offset


def in_memory_order(x: Any, stride: Sequence[int]) -> Any:
    """The elements of a dense tensor, flat, in the order in which its strides lay them out."""
    order = sorted(range(x.ndim), key=lambda d: -stride[d])
    return jnp.transpose(x, order).reshape(-1) if order != list(range(x.ndim)) else x.reshape(-1)


# -- other readings of the same memory --------------------------------------------------------------------------------


@op(view=True, function=False, method=False, node="ViewAsRealBackward0")
def view_as_real(input: Array):
    """Complex numbers as pairs of reals, in a new last dimension."""
    return jnp.stack([input.real, input.imag], axis=-1)


@view_as_real.write
def _(base, new):
    return jax.lax.complex(new[..., 0], new[..., 1])


@view_as_real.vjp
def _(grad):
    return jax.lax.complex(grad[..., 0], grad[..., 1])


@layout(view_as_real)
def _(size, stride, offset):
    return (*size, 2), (*(2 * s for s in stride), 1), 2 * offset


@op(view=True, function=False, method=False, node="ViewAsComplexBackward0")
def view_as_complex(input: Array):
    """Pairs of reals in the last dimension as complex numbers."""
    return jax.lax.complex(input[..., 0], input[..., 1])


@view_as_complex.write
def _(base, new):
    return jnp.stack([new.real, new.imag], axis=-1)


@view_as_complex.vjp
def _(grad):
    return jnp.stack([grad.real, grad.imag], axis=-1)


@layout(view_as_complex)
def _(size, stride, offset):
    return size[:-1], tuple(s // 2 for s in stride[:-1]), offset // 2


@op(view=True, function=False, method=False, node="SelectBackward0")
def real(input: Array):
    """The real part."""
    return input.real


@real.write
def _(base, new):
    return jax.lax.complex(new, base.imag)


@real.vjp
def _(grad):
    return jax.lax.complex(grad, jnp.zeros_like(grad))


@layout(real)
def _(size, stride, offset):
    return size, tuple(2 * s for s in stride), 2 * offset


@op(view=True, function=False, method=False, node="SelectBackward0")
def imag(input: Array):
    """The imaginary part."""
    return input.imag


@imag.write
def _(base, new):
    return jax.lax.complex(base.real, new)


@imag.vjp
def _(grad):
    return jax.lax.complex(jnp.zeros_like(grad), grad)


@layout(imag)
def _(size, stride, offset):
    return size, tuple(2 * s for s in stride), 2 * offset + 1


@op(view=True, function=False, method=False, name="view_dtype", differentiable=False)
def view_dtype(input: Array, dtype: DType):
    """The same bytes read as another dtype; the last dimension changes with the item size."""
    old, new = np.dtype(input.dtype).itemsize, dtype.itemsize
    if np.dtype(input.dtype).kind == "b":
        input = input.astype(np.uint8)
    if dtype.kind == "b":
        return view_dtype.body(input, np.dtype(np.uint8)) != 0
    if input.dtype.kind == "c" or dtype.kind == "c":
        parts = view_as_real.body(input) if input.dtype.kind == "c" else input
        if dtype.kind != "c":
            flat = view_dtype.body(parts.reshape(*input.shape[:-1], -1) if input.ndim else parts, dtype)
            return flat
        real_dtype = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
        whole = view_dtype.body(parts.reshape(*parts.shape[:-2], -1) if input.dtype.kind == "c" else parts, real_dtype)
        return view_as_complex.body(whole.reshape(*whole.shape[:-1], -1, 2))
    if old == new:
        return jax.lax.bitcast_convert_type(input, dtype)
    if old > new:
        cast = jax.lax.bitcast_convert_type(input, dtype)
        return cast.reshape(*input.shape[:-1], -1)
    ratio = new // old
    return jax.lax.bitcast_convert_type(input.reshape(*input.shape[:-1], -1, ratio), dtype)


@view_dtype.write
def _(base, new, dtype):
    return view_dtype.body(new, np.dtype(base.dtype))


@layout(view_dtype)
def _(size, stride, offset, dtype, *, itemsize=None):
    if itemsize is None or itemsize == dtype.itemsize:
        return size, stride, offset
    if itemsize > dtype.itemsize:
        r = itemsize // dtype.itemsize
        return (*size[:-1], size[-1] * r), (*(s * r for s in stride[:-1]), 1), offset * r
    r = dtype.itemsize // itemsize
    return (*size[:-1], size[-1] // r), (*(s // r for s in stride[:-1]), 1), offset // r


# -- on the host -----------------------------------------------------------------------------------------------------------

# The views that a dataset takes of its tensors, on NumPy arrays, without a copy.
HOST: dict[Op, Callable[..., Any]] = {
    alias: lambda a: a,
    select: lambda a, dim, index: a[(slice(None),) * dim + (index,)],
    slice_: lambda a, dim, length, step, start: a[(slice(None),) * dim + (slice(start, start + length * step, step),)],
    unsqueeze: np.expand_dims,
    squeeze: lambda a, dims: a.squeeze(dims),
    transpose: lambda a, dim0, dim1: a.swapaxes(dim0, dim1) if a.ndim else a,
    permute: np.transpose,
    t: lambda a: a.T,
    view: np.reshape,
    expand: np.broadcast_to,
}


# -- writing through a chain of views ---------------------------------------------------------------------------------

Step = tuple[Op, tuple[Any, ...], tuple[Any, ...]]  # view operator, its static arguments, its numbers


def _write(base: Any, steps: Sequence[tuple[Op, dict[str, Any]]], new: Any) -> Any:
    (view_op, kwargs), rest = steps[0], steps[1:]
    if rest:
        new = _write(view_op.body(base, **kwargs), rest, new)
    if view_op.write_rule is not None:
        return view_op.write_rule(base, new, **kwargs)
    positions = jnp.arange(base.size).reshape(base.shape)
    where = view_op.body(positions, **kwargs)
    return base.reshape(-1).at[where.reshape(-1)].set(new.reshape(-1)).reshape(base.shape)




class WriteOp:
    """Replace the elements of ``base`` that a chain of views shows: operands base, new, then the chain's numbers.

    ``static`` is a tuple of ``(view operator, static arguments, how many numbers)``.
    """

    name = "copy_slices"
    node = "CopySlices"
    differentiable = True
    vjp_rule = None

    def lower(self, static: Any, args: Sequence[Any]) -> tuple[Any, ...]:
        """The base with the new elements."""
        base, new, *numbers = args
        steps, taken = [], 0
        for view_op, values, _ in static:
            kwargs = {p.name: v for p, v in zip(view_op.statics, values, strict=True)}
            for p in view_op.operands[1:]:
                kwargs[p.name] = numbers[taken].value
                taken += 1
            steps.append((view_op, kwargs))
        return (_write(base, steps, new),)


WRITE = WriteOp()
