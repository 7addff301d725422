"""Functions whose result's size depends on values (``nonzero, unique, masked_select, ...``), and those around them.

The positions are worked out on the host, which ends the trace; what is read at these positions is one gather, so gradients
flow where torch's do.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike.autograd.tape import apply
from torchlike.engine import local
from torchlike.ops import elementwise, indexing, indexing_ops, joining
from torchlike.ops.declare import canonical_dim
from torchlike.tensor import dtypes
from torchlike.tensor.dispatch import host_function, index, into, ints, make_function, write_out
from torchlike.tensor.facade import facade
from torchlike.tensor.indexing import check_bounds
from torchlike.tensor.shape import broadcast_shapes, expand, reshape
from torchlike.tensor.tensor import Tensor, jax_traced

_nonzero_positions = host_function(indexing_ops.nonzero_positions)
_unique_positions = host_function(indexing_ops.unique_positions)
_run_positions = host_function(indexing_ops.run_positions)
_repeat_each = make_function(joining.repeat_each)
_index_select = make_function(indexing_ops.index_select)
_where = make_function(elementwise.where)
_gradient_along = make_function(joining.gradient_along)


# -- positions of what is not zero ------------------------------------------------------------------------------------


@facade()
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The positions of the elements that are not zero: ``(count, ndim)``, or with ``as_tuple`` one tensor a dimension."""
    if as_tuple:
        if input.ndim == 0:
            input = reshape(input, (1,))
        host, device = input.detach()._host(), input._value.aval.device
        return tuple(Tensor._from_numpy(np.ascontiguousarray(p), device=device) for p in np.nonzero(host))
    positions = _nonzero_positions(input)
    return positions if out is None else write_out(out, positions)


@facade(method=False)
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """``input`` where ``condition`` is true, else ``other``; with the condition alone, ``nonzero(as_tuple=True)``."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return _where(condition, input, other, out=out)


@facade()
def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not zero: ``(count, ndim)``."""
    return _nonzero_positions(input)


@facade()
def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:
    """The elements of ``input`` where ``mask`` is true, in order, as a 1-d tensor; both broadcast."""
    if mask.dtype.name != "bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast_shapes(input.shape, mask.shape)
    x, m = (t if t.shape == shape else expand(t, shape) for t in (input, mask))
    selected = x[m] if shape else reshape(x, (1,))[reshape(m, (1,))]
    return selected if out is None else write_out(out, selected)


# -- distinct elements ------------------------------------------------------------------------------------------------


def _taken(input: Tensor, positions: np.ndarray, dim: int) -> Tensor:
    """Slices at positions that are on the host already: there, unless a gradient is wanted. No program for every count."""
    device = input._value.aval.device
    if jax_traced(input) or (local.grad and input.requires_grad):
        return _index_select(input, dim, Tensor._from_numpy(positions, device=device))
    return Tensor._from_numpy(np.take(input.detach()._host(), positions, axis=dim), device=device)


def _chosen(input: Tensor, first: Tensor, dim: int | None) -> Tensor:
    flat = input if dim is not None else reshape(input, (-1,))
    return _taken(flat.detach(), first._host(), dim or 0)


def _answer(values: Tensor, inverse: Tensor, counts: Tensor, return_inverse: bool, return_counts: bool) -> Any:
    if not (return_inverse or return_counts):
        return values
    return (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))


@facade()
def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:  # fmt: skip
    """The distinct elements (slices along ``dim``) in ascending order, with their places and how often each occurs."""
    if dim is not None:
        dim = canonical_dim(index(dim), input.ndim)
        if 0 in input.shape and input.shape[dim]:
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    first, inverse, counts = _unique_positions(input.detach(), dim)
    return _answer(_chosen(input, first, dim), inverse, counts, return_inverse, return_counts)


@facade()
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The input without repetitions of an element (slice along ``dim``) that follow one another directly."""
    if dim is not None:
        dim = canonical_dim(index(dim), input.ndim)
    first, inverse, counts = _run_positions(input.detach(), dim)
    return _answer(_chosen(input, first, dim), inverse, counts, return_inverse, return_counts)


# -- repeating by counts ----------------------------------------------------------------------------------------------


@facade()
def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each element (slice along ``dim``) repeated: by one count, or each by its own."""
    if repeats is None:  # repeat_interleave(counts): the positions 0, 1, ... repeated
        counts = input._host()
        if counts.ndim != 1 or counts.dtype.kind not in "iu":
            raise RuntimeError("repeat_interleave only accepts 1D vectors as repeat")
        if counts.size and counts.min() < 0:
            raise RuntimeError("repeats can not be negative")
        return Tensor._from_numpy(np.repeat(np.arange(counts.size), counts), device=input._value.aval.device)
    if not isinstance(repeats, Tensor):
        return _repeat_each(input, index(repeats), dim)
    counts = repeats._host()
    if counts.dtype not in (np.int64, np.int32):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if counts.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if dim is None:
        input, dim = reshape(input, (-1,)), 0
    d = canonical_dim(index(dim), input.ndim)
    size = input.shape[d] if input.ndim else 1
    if counts.size == 1:
        return _repeat_each(input, int(counts.reshape(())), d)
    if counts.size != size:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and input.size({d}) = {size}")
    total = int(counts.sum())
    if output_size is not None and output_size != total:
        raise RuntimeError("allocated size does not match required size")
    return _taken(input, np.repeat(np.arange(size), counts), d)


# -- writing at positions ---------------------------------------------------------------------------------------------


def _index_list(input: Tensor, indices: Sequence[Any]) -> list[Tensor | None]:
    """Index tensors for the leading dimensions: masks become positions."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}")
    found: list[Tensor | None] = []
    for t in indices:
        if t is None:
            found.append(None)
        elif t.dtype.name in ("bool", "uint8"):
            found.extend(Tensor._from_numpy(np.ascontiguousarray(p)) for p in np.nonzero(t._host()))
        else:
            found.append(t)
    if len(found) > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim} (got {len(found)})")
    for d, t in enumerate(found):
        if t is not None:
            check_bounds(t, input.shape[d], d)
    return found


@facade(inplace=True)
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with ``input[indices]`` replaced by ``values``, or increased by them (``accumulate``)."""
    if input.dtype is not values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {input.dtype} for the destination and {values.dtype} "
            "for the source."
        )
    if accumulate and input.dtype.name == "bool":  # the sum of bools is "or"
        return index_put(input.int(), indices, values.int(), True).bool()
    at = _index_list(input, indices)
    return apply(indexing.index_put, ((len(at),), (bool(accumulate),)), (input, *at, values))[0]


# -- tables -----------------------------------------------------------------------------------------------------------


@facade(namespace="nn.functional", method=False)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Rows of zeros with a one at each class number; without ``num_classes``, one more than the largest number."""
    classes = index(num_classes)
    if tensor.numel() == 0:
        if classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
    elif classes == -1:
        host = tensor._host()
        if host.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        classes = int(host.max()) + 1
    elif tensor._value.array is not None:
        _check_classes(tensor, classes)
    return apply(indexing_ops.one_hot, ((), (classes,)), (tensor,))[0]


def _check_classes(tensor: Tensor, classes: int) -> None:
    """The range of class numbers, when they are at hand."""
    if classes <= 0:
        raise RuntimeError("num_classes should be positive")
    try:
        check_bounds(tensor, classes, 0)
    except IndexError:
        raise RuntimeError("Class values must be smaller than num_classes.") from None


# -- histograms -------------------------------------------------------------------------------------------------------


def _edges(input: Tensor, bins: Any, span: Any) -> Tensor:
    if isinstance(bins, Tensor):
        return bins
    if index(bins) <= 0:
        raise RuntimeError("histogram(): bins must be > 0, but got " + str(bins))
    low, high = (None, None) if span is None else map(float, span)
    if low is not None and low > high:
        raise RuntimeError("histogramdd: max must be greater than or equal to min")
    return apply(indexing_ops.histogram_edges, ((), (index(bins),)), (input, low, high))[0]


@facade()
def histogram(input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False,
              out: Any = None) -> Any:  # fmt: skip
    """The count (or sum of weights) in each bin, and the edges: of ``bins`` equal bins, or those in the tensor ``bins``."""
    from torchlike.tensor.dispatch import return_type

    if isinstance(bins, Tensor) and bins.dtype is not input.dtype:
        raise RuntimeError("torch.histogram: input tensor and bins tensors should have the same dtype")
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor")
    edges = _edges(input, bins, range)
    counts = apply(indexing_ops.histogram_between, ((), (bool(density),)), (input.detach(), edges, weight))[0]
    results = (counts, edges)
    return into(out, results) if out is not None else return_type("histogram", ("hist", "bin_edges"))(*results)


@facade(method=False)
def histogramdd(input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False) -> Any:
    """The count in each cell of a grid over the points in the last dimension of ``input``, and the edges a dimension."""
    from torchlike.tensor.dispatch import return_type

    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    dims = input.shape[-1]
    each = [bins] * dims if not isinstance(bins, (tuple, list)) else list(bins)
    if len(each) != dims:
        raise RuntimeError(f"torch.histogramdd: expected {dims} sequences of bin edges for a {dims}-dimensional histogram but got {len(each)}")
    spans = [None] * dims if range is None else [tuple(range[2 * k: 2 * k + 2]) for k in builtins.range(dims)]
    points = reshape(input.detach(), (-1, dims))
    edges = [_edges(points[:, k], each[k], spans[k]) for k in builtins.range(dims)]
    cells = apply(indexing_ops.histogram_cells, ((dims,), (bool(density),)), (points, *edges, weight))[0]
    return return_type("histogramdd", ("hist", "bin_edges"))(cells, tuple(edges))




# -- grids of positions -----------------------------------------------------------------------------------------------


@facade(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """1-d tensors as coordinates of a grid: one tensor a dimension, each with the size of the grid (views)."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise ValueError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(t.shape)}")
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(tensors) >= 2
    order = (tensors[1], tensors[0], *tensors[2:]) if swap else tensors
    sizes = [t.numel() for t in order]
    grids = []
    for k, t in enumerate(order):
        lined = reshape(t, [sizes[k] if j == k else 1 for j in builtins.range(len(sizes))])
        grids.append(expand(lined, sizes))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _triangle_indices(row: int, col: int, offset: int, lower: bool, dtype: Any, device: Any) -> Tensor:
    if row < 0 or col < 0:
        raise RuntimeError(f"{'row' if row < 0 else 'col'} must be non-negative, got {row if row < 0 else col}")
    numpy = np.int64 if dtype is None else dtypes.numpy_of(dtype)
    rows, columns = np.indices((row, col))
    kept = columns - rows <= offset if lower else columns - rows >= offset
    made = Tensor._from_numpy(np.stack((rows[kept], columns[kept])).astype(numpy))
    return made if device is None else made.to(device)


@facade(method=False, override=False)
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """The positions of the lower triangle of a ``row x col`` matrix, row by row: ``(2, count)``."""
    return _triangle_indices(index(row), index(col), index(offset), True, dtype, device)


@facade(method=False, override=False)
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """The positions of the upper triangle of a ``row x col`` matrix, row by row: ``(2, count)``."""
    return _triangle_indices(index(row), index(col), index(offset), False, dtype, device)


@facade(method=False)
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Positions in a flat tensor as positions in one of ``shape``: one tensor a dimension."""
    sizes = ints(shape)
    sizes = (sizes,) if isinstance(sizes, int) else sizes
    if indices.dtype.numpy.kind not in "iu":
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if any(n < 0 for n in sizes):
        raise ValueError("expected 'shape' to have non-negative values")
    return tuple(apply(indexing_ops.unravel_index, ((), (sizes,)), (indices,)))


# -- joining any number of tensors ------------------------------------------------------------------------------------


@facade(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
    blocks = list(tensors)
    if not blocks:
        return Tensor._from_numpy(np.zeros((1, 0), dtypes.get_default_dtype().numpy))
    return apply(joining.block_diag, ((len(blocks),), ()), blocks)[0]


@facade(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All ways to take one element of each 1-d tensor, the last varying fastest."""
    columns = list(tensors)
    if not columns:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if len(columns) == 1 and columns[0].ndim == 1:
        return columns[0]
    return apply(joining.cartesian_prod, ((len(columns),), ()), columns)[0]


# -- differences ------------------------------------------------------------------------------------------------------


@facade(method=False)
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Central differences along each of ``dim``: samples ``spacing`` apart, or at the positions in tensors."""
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    spacing = 1 if spacing is None else spacing
    dims = ints(dim)
    dims = tuple(builtins.range(input.ndim)) if dims is None else (dims,) if isinstance(dims, int) else dims
    several = isinstance(spacing, (tuple, list))
    steps = list(spacing) if several else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {input.ndim}', "
            f"since dim argument was not given, but got a list of length {len(steps)}"
        )
    canonical = [canonical_dim(d, input.ndim) for d in dims]
    if len(set(canonical)) != len(canonical):
        raise RuntimeError("dim 0 appears multiple times in the list of dims")
    for d in canonical:
        if input.ndim and input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    results = []
    for s, d in zip(steps, canonical, strict=True):
        if isinstance(s, Tensor):
            if s.ndim != 1 or s.numel() != input.shape[d]:
                raise RuntimeError(
                    f"torch.gradient expected each element of coordinates to be a 1-d tensor of the size of dimension {d}, but got "
                    f"{list(s.shape)}"
                )
            results.append(_gradient_along(input, s, 1, d, edge_order))
        else:
            results.append(_gradient_along(input, None, s, d, edge_order))
    return tuple(results)
