"""Products of vectors and matrices: ``matmul, mm, bmm, addmm, einsum, linear, outer, kron, cross, ...``; distances.

float16 and bfloat16 products are summed in float32 and rounded once: XLA widens them on the CPU, GPUs do so in hardware.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import ARITH, FLOAT, Array, Dim, Ints, Scalar, canonical_dim, op, scalar_kind
from torchlike.ops.dtype_errors import BOOL, reject, type_name

_SCALAR_NAMES = {
    "float64": "double", "float32": "float", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long long",
    "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def _same_dtypes(kernel: str, first, *others) -> None:
    """Products do not promote: torch wants equal dtypes, and no bools."""
    for o in others:
        if o.dtype != first.dtype:
            have, got = (_SCALAR_NAMES.get(np.dtype(x.dtype).name, str(x.dtype)) for x in (first, o))
            raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {have} != {got}")
    reject(kernel, first, BOOL)


def _shape(x) -> str:
    return "x".join(map(str, x.shape))


def _mm(a, b):
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_shape(a)} and {_shape(b)})")
    return lax.dot_general(a, b, (((1,), (0,)), ((), ())))


def _bmm(a, b, name: str = "bmm"):
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
    return lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))))


# -- products ---------------------------------------------------------------------------------------------------------


@op(autocast="lower", aliases=("linalg.matmul",), node="MmBackward0")
def matmul(input: Array, other: Array):
    """The matrix product, over broadcast leading dimensions; 1-d operands are a row on the left, a column on the right."""
    if input.ndim == 0 or other.ndim == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and {other.ndim}D")
    _same_dtypes("addmm_impl_cpu_", input, other)
    if input.ndim == other.ndim == 1:
        return _dot(input, other)
    inner = other.shape[0] if other.ndim == 1 else other.shape[-2]
    if input.shape[-1] != inner:
        _mismatch(input, other)
    if input.ndim > 2 and other.ndim > 2:
        try:
            jnp.broadcast_shapes(input.shape[:-2], other.shape[:-2])
        except ValueError:
            _batch_mismatch(input.shape[:-2], other.shape[:-2])
    return jnp.matmul(input, other)


def _mismatch(a, b) -> None:
    if a.ndim <= 2 and b.ndim == 1:
        raise RuntimeError(f"size mismatch, got input ({a.shape[0]}), mat ({_shape(a)}), vec ({b.shape[0]})")
    rows = f"{'1x' if a.ndim == 1 else ''}{_shape(a)}"
    if b.ndim <= 2:
        rows = f"{int(np.prod(a.shape[:-1]))}x{a.shape[-1]}"
        columns = _shape(b) if b.ndim == 2 else f"{b.shape[0]}x1"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows} and {columns})")
    batch = int(np.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2])))
    raise RuntimeError(
        f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {a.shape[-1]}] but got: [{batch}, {b.shape[-2]}]."
    )


def _batch_mismatch(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    for k in range(1, min(len(a), len(b)) + 1):
        if a[-k] != b[-k] and 1 not in (a[-k], b[-k]):
            raise RuntimeError(
                f"The size of tensor a ({a[-k]}) must match the size of tensor b ({b[-k]}) at non-singleton dimension "
                f"{max(len(a), len(b)) - k}"
            )


@op(autocast="lower")
def mm(input: Array, mat2: Array):
    """The product of two matrices."""
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _same_dtypes("addmm_impl_cpu_", input, mat2)
    return _mm(input, mat2)


@op(autocast="lower")
def bmm(input: Array, mat2: Array):
    """The products of two batches of matrices: ``(B, n, m)`` with ``(B, m, p)``."""
    if input.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if mat2.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    _same_dtypes("bmm", input, mat2)
    return _bmm(input, mat2)


@op(autocast="lower")
def mv(input: Array, vec: Array):
    """The product of a matrix and a vector."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    _same_dtypes("addmv_impl_cpu", input, vec)
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({_shape(input)}), vec ({vec.shape[0]})")
    return lax.dot_general(input, vec, (((1,), (0,)), ((), ())))


def _dot(a, b):
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {type_name(a.dtype)} and {type_name(b.dtype)}")
    reject("dot", a, BOOL)
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] to have the same number of elements, "
            f"but got {a.shape[0]} and {b.shape[0]} elements respectively"
        )
    return lax.dot_general(a, b, (((0,), (0,)), ((), ())))


@op()
def dot(input: Array, tensor: Array):
    """The sum of products of two 1-d tensors (complex numbers are not conjugated)."""
    return _dot(input, tensor)


@op()
def vdot(input: Array, other: Array):
    """The sum of products of two 1-d tensors, the first conjugated."""
    return _dot(jnp.conj(input), other)


@op(namespace="linalg", promote=ARITH, opmath=False, strides="contiguous")
def vecdot(x: Array, y: Array, *, dim: Dim = -1):
    """The sum over ``dim`` of ``conj(x) * y``; the other dimensions broadcast."""
    if x.dtype == bool:
        raise RuntimeError("linalg.vecdot: Expected a floating point, complex or integral tensor, but got Bool")
    ndim = max(x.ndim, y.ndim)
    d = canonical_dim(dim, ndim)
    x, y = jnp.broadcast_arrays(x, y)
    return jnp.sum(jnp.conj(x) * y, axis=d, dtype=x.dtype) if ndim else jnp.conj(x) * y


@op(autocast="lower")
def inner(input: Array, other: Array):
    """Products summed over the last dimensions of both."""
    if input.ndim == 0 or other.ndim == 0:  # a product with a number: types promote
        dtype = promotion.result_dtype((input, other), ())
        return input.astype(dtype) * other.astype(dtype)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}"
        )
    _same_dtypes("dot", input, other)
    return lax.dot_general(input, other, (((input.ndim - 1,), (other.ndim - 1,)), ((), ())))


@op(promote=ARITH, opmath=False, aliases=("ger",), strides="contiguous")
def outer(input: Array, vec2: Array):
    """All products of an element of the first vector with one of the second: ``(n, m)``."""
    if input.ndim != 1 or vec2.ndim != 1:
        which, x = ("self", input) if input.ndim != 1 else ("vec2", vec2)
        raise RuntimeError(f"outer: Expected 1-D argument {which}, but got {x.ndim}-D")
    return input[:, None] * vec2[None, :] if input.dtype != bool else input[:, None] & vec2[None, :]


# -- products added to something --------------------------------------------------------------------------------------


def _scaled(x, factor, ignores_zero: bool = True):
    """``factor * x``, where a factor of 0 ignores what is there, NaN included; ints take the factor's integer part."""
    if type(factor) in (bool, int, float, complex):
        if factor == 1:
            return x
        return jnp.zeros_like(x) if factor == 0 and ignores_zero else x * np.asarray(factor).astype(x.dtype)
    scaled = x * factor.astype(x.dtype)
    return jnp.where(factor == 0, jnp.zeros((), x.dtype), scaled) if ignores_zero else scaled


def _plus(input, product, beta, alpha, name: str, ignores_zero: bool = True):
    """``beta * input + alpha * product``, in float32 for low precision."""
    dtype = np.dtype(product.dtype)
    try:
        if jnp.broadcast_shapes(input.shape, product.shape) != product.shape:
            raise ValueError
    except ValueError:
        raise RuntimeError(
            f"expand({list(input.shape)}, size={list(product.shape)}): the expanded size of the tensor must match the existing size at "
            f"non-singleton dimensions ({name})"
        ) from None
    if promotion.is_low_precision(dtype):
        input, product = input.astype(np.float32), product.astype(np.float32)
    return (_scaled(input, beta) + _scaled(product, alpha, ignores_zero)).astype(dtype)


@op(autocast="lower", inplace=True)
def addmm(input: Array, mat1: Array, mat2: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """``beta * input + alpha * (mat1 @ mat2)``."""
    if mat1.ndim != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {mat1.ndim}-D tensor")
    if mat2.ndim != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {mat2.ndim}-D tensor")
    _same_dtypes("addmm_impl_cpu_", mat1, mat2)
    if input.dtype != mat1.dtype:
        raise RuntimeError("self and mat2 must have the same dtype, but got " + f"{input.dtype} and {mat2.dtype}")
    return _plus(input, _mm(mat1, mat2), beta, alpha, "addmm")


@op(autocast="lower", inplace=True)
def addmv(input: Array, mat: Array, vec: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """``beta * input + alpha * (mat @ vec)``."""
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({input.size}), mat ({_shape(mat)}), vec ({vec.shape[0]})")
    _same_dtypes("addmv_impl_cpu", mat, vec)
    return _plus(input, lax.dot_general(mat, vec, (((1,), (0,)), ((), ()))), beta, alpha, "addmv")


@op(inplace=True)
def addr(input: Array, vec1: Array, vec2: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """``beta * input + alpha * outer(vec1, vec2)``."""
    for label, v in (("vec1", vec1), ("vec2", vec2)):
        if v.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {label}, but got {v.ndim}-D")
    dtype = promotion.result_dtype((input, vec1, vec2), ())
    input, vec1, vec2 = (x.astype(dtype) for x in (input, vec1, vec2))
    if promotion.kind(dtype) == 0:
        b, a = (np.asarray(bool(x)) if type(x) in (bool, int, float) else x.astype(bool) for x in (beta, alpha))
        return (input & b) | (vec1[:, None] & vec2[None, :] & a)
    if promotion.kind(dtype) < 2:
        for label, factor in (("beta", beta), ("alpha", alpha)):
            if scalar_kind(factor) == "float":
                raise RuntimeError(f"For integral input tensors, argument {label} must not be a floating point number.")
    return _plus(input, vec1[:, None] * vec2[None, :], beta, alpha, "addr", ignores_zero=False)


def _need_batches(batch1, batch2) -> None:
    if batch1.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if batch2.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    _same_dtypes("baddbmm_impl", batch1, batch2)


@op(autocast="lower", inplace=True)
def baddbmm(input: Array, batch1: Array, batch2: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """``beta * input + alpha * bmm(batch1, batch2)``."""
    _need_batches(batch1, batch2)
    if input.dtype != batch1.dtype:
        raise RuntimeError(f"Input dtypes must be the same, got: input: {input.dtype}, batch1: {batch1.dtype}, batch2: {batch2.dtype}")
    return _plus(input, _bmm(batch1, batch2), beta, alpha, "baddbmm", ignores_zero=False)


@op(autocast="lower", inplace=True)
def addbmm(input: Array, batch1: Array, batch2: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``."""
    _need_batches(batch1, batch2)
    if batch1.shape[0] != batch2.shape[0] or batch1.shape[2] != batch2.shape[1]:
        _bmm(batch1, batch2)
    total = lax.dot_general(batch1, batch2, (((0, 2), (0, 1)), ((), ())))
    return _plus(input, total, beta, alpha, "addbmm")


@op(namespace="nn.functional", autocast="lower", node="AddmmBackward0")
def linear(input: Array, weight: Array, bias: Array | None = None):
    """``input @ weight.T + bias``: ``(*, in)`` with ``(out, in)`` to ``(*, out)``.

    One contraction over both last dimensions: for a single row 24 times faster on XLA:CPU than with a transposed weight.
    """
    if weight.ndim not in (1, 2):
        raise RuntimeError(f"linear(): weight must be 1-D or 2-D, but got {weight.ndim}-D")
    _same_dtypes("addmm_impl_cpu_", input, weight, *(() if bias is None else (bias,)))
    if input.ndim == 0:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are 0D and {weight.ndim}D")
    if input.shape[-1] != weight.shape[-1]:
        rows = f"{int(np.prod(input.shape[:-1]))}x{input.shape[-1]}"
        columns = "x".join(map(str, weight.shape[::-1])) if weight.ndim == 2 else f"{weight.shape[0]}x1"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows} and {columns})")
    product = lax.dot_general(input, weight, (((input.ndim - 1,), (weight.ndim - 1,)), ((), ())))
    return product if bias is None else product + bias


@op(namespace="nn.functional", aliases=("torch.bilinear",), autocast="lower", out=False)
def bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each k: ``(*, n)``, ``(*, m)``, ``(out, n, m)`` to ``(*, out)``."""
    if input1.ndim != input2.ndim or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match at dim 0: got {list(input1.shape)} and {list(input2.shape)}"
        )
    for k, x in ((1, input1), (2, input2)):
        if x.shape[-1] != weight.shape[k]:
            raise RuntimeError(f"bilinear(): input{k} size does not match weight size: got {x.shape[-1]} but expected {weight.shape[k]}")
    result = jnp.einsum("...i,oij,...j->...o", input1, weight, input2)
    return result if bias is None else result + bias


# -- products of several ----------------------------------------------------------------------------------------------


@op(namespace="linalg", autocast="lower", method=False)
def multi_dot(tensors: Sequence[Array]):
    """The product of matrices in the cheapest order; the first and last may be vectors."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    _same_dtypes("addmm_impl_cpu_", *tensors)
    for i, t in enumerate(tensors):
        ends = i in (0, len(tensors) - 1)
        if t.ndim not in ((1, 2) if ends else (2,)):
            wanted = "1D or 2D" if ends else "2D"
            raise RuntimeError(f"multi_dot(): tensor {i} must be {wanted} but got {t.ndim}D")
    for i, (a, b) in enumerate(itertools.pairwise(tensors)):
        if a.shape[-1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be multiplied"
            )
    if len(tensors) == 2:
        return jnp.matmul(*tensors)
    return jnp.linalg.multi_dot(tensors)


@op(method=False, function=False, autocast="lower", node="EinsumBackward0")
def contract(operands: Sequence[Array], equation: str):
    """``einsum`` of an equation in its plain form: one letter a dimension, no ellipsis, with a result part."""
    dtype = promotion.result_dtype(operands, ())
    return jnp.einsum(equation, *(x.astype(dtype) for x in operands), optimize="auto" if len(operands) > 2 else False)


def plain_equation(equation: str, shapes: Sequence[tuple[int, ...]]) -> tuple[str, list[tuple[int, ...]]]:
    """An einsum equation with its ellipses spelled out, its result part added, and sizes of one that broadcast dropped.

    Returns the equation and, for each operand, the shape to give it first. Raises what ``torch.einsum`` raises.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        more = "fewer" if len(terms) < len(shapes) else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation" if more == "more"
                           else "einsum(): more operands were provided than specified in the equation")  # fmt: skip
    for character in left.replace(",", "").replace("...", "") + right.replace("...", ""):
        if character not in string.ascii_letters:
            raise RuntimeError(f"einsum(): invalid subscript given at index {equation.find(character)} in the equation string, "
                               "subscripts must be in [a-zA-Z]")  # fmt: skip
    spread = 0
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        named = len(term.replace("...", ""))
        if "..." in term:
            if len(shape) < named:
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
                    f"({len(shape)}) for operand {i}"
                )
            spread = max(spread, len(shape) - named)
        elif len(shape) != named:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
                f"({len(shape)}) for operand {i} and no ellipsis was given"
            )
    used = set(left + right)
    free = [c for c in string.ascii_letters if c not in used]
    if spread > len(free):
        raise RuntimeError("einsum(): too many subscripts")
    dots = "".join(free[:spread])
    letters = []
    for term, shape in zip(terms, shapes, strict=True):
        count = len(shape) - len(term.replace("...", ""))
        letters.append(term.replace("...", dots[spread - count:] if count else ""))
    if arrow:
        result = right.replace("...", dots)
    else:
        once = sorted(c for c in set(left) - set(",.") if left.count(c) == 1)
        result = dots + "".join(once)
    if len(set(result)) != len(result):
        repeated = next(c for c in result if result.count(c) > 1)
        raise RuntimeError(f"einsum(): output subscript {repeated} appears more than once in the output")
    sizes: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(letters, shapes, strict=True)):
        for c, n in zip(term, shape, strict=True):
            if sizes.get(c, 1) == 1:
                sizes[c] = n
            elif n not in (1, sizes[c]):
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {n} for operand {i} which does not broadcast with previously seen size {sizes[c]}"
                )
    for c in result:
        if c not in sizes:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
    plain, reshaped = [], []
    for term, shape in zip(letters, shapes, strict=True):
        kept = [(c, n) for c, n in zip(term, shape, strict=True) if not (n == 1 and sizes[c] != 1)]
        plain.append("".join(c for c, _ in kept))
        reshaped.append(tuple(n for _, n in kept))
    return f"{','.join(plain)}->{result}", reshaped


@op(method=False, function=False, autocast="lower", node="ViewBackward0")
def contract_dims(input: Array, other: Array, dims_self: Ints, dims_other: Ints):
    """``tensordot``: products summed over pairs of dimensions."""
    if input.dtype != other.dtype:
        raise RuntimeError("tensordot expects both tensors to have the same dtype: " + f"{input.dtype} and {other.dtype}")
    a = tuple(canonical_dim(d, input.ndim, scalar_ok=False) for d in dims_self)
    b = tuple(canonical_dim(d, other.ndim, scalar_ok=False) for d in dims_other)
    for k, (i, j) in enumerate(zip(a, b, strict=True)):
        n, m = input.shape[i], other.shape[j]
        if n == m:
            continue
        # a size of one broadcasts: sum the other side
        if n == 1:
            other = other.sum(j, keepdims=True, dtype=other.dtype)
        elif m == 1:
            input = input.sum(i, keepdims=True, dtype=input.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {dims_self[k]} and second has size {m} in dim "
                f"{dims_other[k]}"
            )
    return lax.dot_general(input, other, ((a, b), ((), ())))


@op(promote=ARITH, opmath=False, strides="contiguous", autocast=None)
def kron(input: Array, other: Array):
    """The Kronecker product: each element of ``input`` times the whole of ``other``."""
    ndim = max(input.ndim, other.ndim)
    a = input.reshape((1,) * (ndim - input.ndim) + input.shape)
    b = other.reshape((1,) * (ndim - other.ndim) + other.shape)
    wide_a = a.reshape([x for n in a.shape for x in (n, 1)])
    wide_b = b.reshape([x for n in b.shape for x in (1, n)])
    product = wide_a & wide_b if a.dtype == bool else wide_a * wide_b
    return product.reshape([n * m for n, m in zip(a.shape, b.shape, strict=True)])


def _cross(a, b, d: int):
    """The cross product over a dimension of size 3."""
    a0, a1, a2 = (lax.index_in_dim(a, k, d, keepdims=True) for k in range(3))
    b0, b1, b2 = (lax.index_in_dim(b, k, d, keepdims=True) for k in range(3))
    return lax.concatenate([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], d)


@op(promote=ARITH, opmath=False, strides="contiguous", node="LinalgCrossBackward0")
def cross(input: Array, other: Array, dim: int | None = None):
    """The cross product along ``dim``, of size 3 (by default the first of that size)."""
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {input.ndim} and {other.ndim}"
        )
    shape = _broadcast("linalg.cross", input.shape, other.shape)
    if dim is None:
        found = [k for k, n in enumerate(shape) if n == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    return _cross_checked(input, other, dim, shape)


def _broadcast(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return jnp.broadcast_shapes(a, b)
    except ValueError:
        _batch_mismatch(a, b)
        raise RuntimeError(f"{name}: shapes {list(a)} and {list(b)} do not broadcast") from None


def _cross_checked(input, other, dim: int, shape: tuple[int, ...]):
    d = canonical_dim(dim, len(shape))
    if input.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[d]} and {other.shape[d]}")
    return _cross(jnp.broadcast_to(input, shape), jnp.broadcast_to(other, shape), d)


@op(name="cross", namespace="linalg", promote=ARITH, opmath=False, strides="contiguous", node="LinalgCrossBackward0")
def linalg_cross(input: Array, other: Array, *, dim: Dim = -1):
    """The cross product along ``dim``, of size 3; the other dimensions broadcast."""
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    return _cross_checked(input, other, dim, _broadcast("linalg.cross", input.shape, other.shape))


# -- distances --------------------------------------------------------------------------------------------------------


def magnitude(x):
    """Absolute values with gradient zero at zero, where JAX has one."""
    zero = x == 0
    return jnp.where(zero, 0, jnp.abs(jnp.where(zero, 1, x)))


def length(difference, p: float, axis=-1, keepdims: bool = False):
    """The p-norm along ``axis``, with gradient zero where the norm is zero (torch's convention).

    The masked elements are replaced before the power, so that no infinite slope enters; second derivatives stay finite.
    """
    size = magnitude(difference)
    if p == 0:
        return (size != 0).astype(size.dtype).sum(axis, keepdims=keepdims)
    if p == 1:
        return size.sum(axis, keepdims=keepdims)
    if p in (np.inf, -np.inf):
        reduce = jnp.max if p > 0 else jnp.min
        return reduce(size, axis=axis, keepdims=keepdims)
    if p == 2:
        real = jnp.square(difference.real) + jnp.square(difference.imag) if difference.dtype.kind == "c" else jnp.square(difference)
        total = real.sum(axis, keepdims=keepdims)
        nonzero = total != 0
        return jnp.where(nonzero, jnp.sqrt(jnp.where(nonzero, total, 1)), 0)
    zero = size == 0
    powers = jnp.where(zero, np.inf if p < 0 else 0.0, jnp.where(zero, 1, size) ** np.asarray(p, size.dtype)).astype(size.dtype)
    total = powers.sum(axis, keepdims=keepdims)
    usual = (total != 0) & (total != np.inf)
    root = jnp.where(usual, total, 1) ** np.asarray(1 / p, size.dtype)
    return jnp.where(usual, root, total ** np.asarray(1 / p, size.dtype) if p < 0 else lax.stop_gradient(total))


@op(method=False, promote=FLOAT, aliases=("nn.functional.pairwise_distance",), strides="contiguous", autocast="fp32", out=False,
    node="LinalgVectorNormBackward0")  # fmt: skip
def pairwise_distance(x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
    """The p-norm of ``x1 - x2 + eps`` over the last dimension."""
    return length(x1 - x2 + np.asarray(eps, x1.dtype), p, -1, keepdim)


@op(method=False, promote=FLOAT, aliases=("nn.functional.cosine_similarity",), strides="contiguous", autocast="fp32", out=False,
    node="SumBackward1")  # fmt: skip
def cosine_similarity(x1: Array, x2: Array, dim: Dim = 1, eps: float = 1e-8):
    """``x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`` along ``dim``, after broadcasting."""
    shape = _broadcast("cosine_similarity", x1.shape, x2.shape)
    x1, x2 = jnp.broadcast_to(x1, shape), jnp.broadcast_to(x2, shape)
    d = canonical_dim(dim, len(shape))
    if not shape:
        x1, x2 = x1.reshape(1), x2.reshape(1)
    eps = np.asarray(eps, x1.dtype)
    # torch divides before it multiplies and treats a norm below eps as a constant
    units = [x / jnp.maximum(length(x, 2, d, True), eps) for x in (x1, x2)]
    return (units[0] * units[1]).sum(d)


@op(method=False, autocast="fp32", out=False)
def cdist(x1: Array, x2: Array, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"):
    """All p-norm distances between rows: ``(*, P, M)`` and ``(*, R, M)`` to ``(*, P, R)``.

    Euclidean distances of more than 25 rows come from one matrix product, as torch's default mode does.
    """
    for label, x in (("X1", x1), ("X2", x2)):
        if not promotion.is_inexact(np.dtype(x.dtype)):
            raise RuntimeError(f"cdist only supports floating-point dtypes, {label} got: {x.dtype.name}")
        if x.ndim < 2:
            raise RuntimeError("cdist only supports at least 2D tensors, " + f"{label} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode is not None and compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    batch = _broadcast("cdist", x1.shape[:-2], x2.shape[:-2])
    rows, columns = x1.shape[-2], x2.shape[-2]
    if 0 in (*batch, rows, columns, x1.shape[-1]):
        return (x1.sum() + x2.sum()) * jnp.zeros((*batch, rows, columns), x1.dtype)
    large = compute_mode != modes[2] and (compute_mode == modes[1] or rows > 25 or columns > 25)
    if p == 2 and large:
        return _euclid_by_product(x1, x2)
    return length(x1[..., :, None, :] - x2[..., None, :, :], p)


def _euclid_by_product(x1, x2):
    """``sqrt(|a|^2 - 2 a.b + |b|^2)``, not below zero."""
    left = (x1 * x1).sum(-1, keepdims=True)
    right = (x2 * x2).sum(-1, keepdims=True)
    squares = left - 2 * jnp.matmul(x1, jnp.swapaxes(x2, -1, -2)) + jnp.swapaxes(right, -1, -2)
    positive = squares > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, squares, 1)), 0)


@op(method=False, aliases=("nn.functional.pdist",), out=False)
def pdist(input: Array, p: float = 2.0):
    """The p-norm distances between all pairs of rows of an ``(N, M)`` matrix: ``(N * (N - 1) / 2,)``."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not promotion.is_floating(np.dtype(input.dtype)):
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(input.shape[0], 1)
    if input.shape[1] == 0:
        return jnp.zeros(first.size, input.dtype)
    return length(input[first] - input[second], p)


@op(aliases=("linalg.matrix_power",))
def matrix_power(input: Array, n: int):
    """Square matrices multiplied ``n`` times with themselves; negative ``n`` takes the inverse first."""
    if input.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {input.shape[-2]} by {input.shape[-1]} matrices"
        )
    if n < 0:
        if not promotion.is_inexact(np.dtype(input.dtype)):
            raise RuntimeError(f"linalg.inv: Low precision or integral dtypes are not supported, got {input.dtype.name}")
        input, n = jnp.linalg.inv(input), -n
    if n == 0:
        return jnp.broadcast_to(jnp.eye(input.shape[-1], dtype=input.dtype), input.shape)
    result = None
    while n:
        n, bit = divmod(n, 2)
        if bit:
            result = input if result is None else jnp.matmul(result, input)
        if n:
            input = jnp.matmul(input, input)
    return result
