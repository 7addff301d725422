"""Linear algebra that looks at values or takes any number of tensors: ``linalg.inv, cholesky, solve, einsum, tensordot``.

The operators return LAPACK's ``info``. Functions without ``_ex`` read it at once, which ends the trace, and raise
``LinAlgError`` as torch does; under a JAX transformation, where there are no values, they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike.autograd.tape import apply
from torchlike.ops import linalg as ops
from torchlike.ops import matmul as products
from torchlike.tensor.dispatch import index, into, ints, make_function, return_type
from torchlike.tensor.facade import facade
from torchlike.tensor.shape import diagonal as diagonal_view
from torchlike.tensor.tensor import Tensor, jax_traced


class LinAlgError(RuntimeError):
    """A matrix that a function of ``torch.linalg`` cannot work with: singular, not positive definite, no convergence."""

    __module__ = "torch._C"


LinAlgError.__name__ = "_LinAlgError"  # as torch prints it


def _check(info: Tensor, name: str, message: Callable[[int], str]) -> None:
    """Raise ``LinAlgError`` for the first matrix whose ``info`` is not 0."""
    if jax_traced(info):
        return
    host = info._host()
    if not host.any():
        return
    first = int(np.flatnonzero(host.reshape(-1))[0])
    batch = f"(Batch element {first}): " if host.ndim else ""
    raise LinAlgError(f"{name}: {batch}{message(int(host.reshape(-1)[first]))}")


def _given(out: Any, results: Sequence[Tensor], name: str = "", fields: Sequence[str] = ()) -> Any:
    """Results as torch returns them, or written to ``out``."""
    if out is not None:
        return into(out, results)
    return return_type(name, fields)(*results) if fields else results[0]


def _singular(action: str) -> Callable[[int], str]:
    return lambda k: (
        f"The diagonal element {k} is zero, the {action} could not be completed because the input matrix is singular."
    )


def _not_positive(k: int) -> str:
    return (
        "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
        f"{k} is not positive-definite)."
    )


# -- with a check of the values ---------------------------------------------------------------------------------------

_inv_ex = make_function(ops.inv_ex)
_solve_ex = make_function(ops.solve_ex)
_cholesky_ex = make_function(ops.cholesky_ex)
_lu_factor_ex = make_function(ops.lu_factor_ex)
_ldl_factor_ex = make_function(ops.ldl_factor_ex)


@facade(name="inverse", aliases=("linalg.inv",))
def inverse(A: Tensor, *, out: Any = None) -> Tensor:
    """Inverses of square matrices; ``LinAlgError`` when one is singular."""
    result, info = _inv_ex(A)
    _check(info, "linalg.inv", _singular("inversion"))
    return _given(out, [result])


@facade(namespace="linalg", method=False)
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """Inverses, and for each matrix which pivot was zero (0 when none was)."""
    results = _inv_ex(A)
    if check_errors:
        _check(results[1], "linalg.inv_ex", _singular("inversion"))
    return _given(out, results, "linalg_inv_ex", ("inverse", "info"))


def _no_solution(k: int) -> str:
    return "The solver failed because the input matrix is singular."


@facade(namespace="linalg", method=False)
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """``X`` with ``A X = B`` (``X A = B`` unless ``left``); ``LinAlgError`` when a matrix is singular."""
    result, info = _solve_ex(A, B, left=left)
    _check(info, "torch.linalg.solve", _no_solution)
    return _given(out, [result])


@facade(namespace="linalg", method=False)
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """``linalg.solve``, and for each matrix which pivot was zero (0 when none was)."""
    results = _solve_ex(A, B, left=left)
    if check_errors:
        _check(results[1], "torch.linalg.solve_ex", _no_solution)
    return _given(out, results, "linalg_solve_ex", ("result", "info"))


@facade(namespace="linalg", method=False)
def cholesky(input: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """``A = L L^H`` (``U^H U`` with ``upper``); ``LinAlgError`` when a matrix is not positive definite."""
    factor, info = _cholesky_ex(input, upper=upper)
    _check(info, "linalg.cholesky", _not_positive)
    return _given(out, [factor])


@facade(name="cholesky")
def old_cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """``linalg.cholesky``."""
    factor, info = _cholesky_ex(input, upper=upper)
    _check(info, "cholesky", _not_positive)
    return _given(out, [factor])


@facade(namespace="linalg", method=False)
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """Cholesky factors, and the order of the first leading minor that is not positive (0 when all are)."""
    results = _cholesky_ex(input, upper=upper)
    if check_errors:
        _check(results[1], "torch.linalg.cholesky_ex", _not_positive)
    return _given(out, results, "linalg_cholesky_ex", ("L", "info"))


def _zero_pivot(k: int) -> str:
    return f"U[{k},{k}] is zero and using it on lu_solve would result in a division by zero."


def _lu_check(info: Tensor, name: str) -> None:
    if jax_traced(info):
        return
    host = info._host()
    if host.any():
        first = int(np.flatnonzero(host.reshape(-1))[0])
        batch = f"(Batch element {first}): " if host.ndim else ""
        raise RuntimeError(
            f"{batch}{name}: {_zero_pivot(int(host.reshape(-1)[first]))} If you still want to perform the factorization, consider "
            "calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )


@facade(namespace="linalg", method=False)
def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """L and U packed into one matrix, and the pivots."""
    data, pivots, info = _lu_factor_ex(A, pivot=pivot)
    _lu_check(info, "torch.linalg.lu_factor")
    return _given(out, [data, pivots], "linalg_lu_factor", ("LU", "pivots"))


@facade(namespace="linalg", method=False)
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """L and U packed into one matrix, the pivots, and which pivot was zero."""
    results = _lu_factor_ex(A, pivot=pivot)
    if check_errors:
        _lu_check(results[2], "torch.linalg.lu_factor_ex")
    return _given(out, results, "linalg_lu_factor_ex", ("LU", "pivots", "info"))


@facade(name="lu")
def old_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """``linalg.lu_factor`` as a tuple; with ``get_infos`` the ``info`` as well."""
    data, pivots, info = _lu_factor_ex(A, pivot=pivot)
    if not get_infos:
        _lu_check(info, "torch.linalg.lu_factor")
    if get_infos:
        return _given(out, [data, pivots, info], "_lu_with_info", ("LU", "pivots", "info"))
    return into(out, (data, pivots)) if out is not None else (data, pivots)


@facade(namespace="linalg", method=False)
def ldl_factor(input: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """``A = L D L^T`` in LAPACK's packed form, and the pivots."""
    data, pivots, info = _ldl_factor_ex(input, hermitian=hermitian)
    _check(info, "torch.linalg.ldl_factor", lambda k: f"The diagonal block D[{k}] is singular.")
    return _given(out, [data, pivots], "linalg_ldl_factor", ("LD", "pivots"))


@facade(namespace="linalg", method=False)
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices (a view)."""
    return diagonal_view(A, offset, dim1, dim2)


# -- products of any number of tensors --------------------------------------------------------------------------------


def _equation(operands: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The equation and tensors of an ``einsum`` call: text first, or lists of ints after each tensor."""
    if operands and isinstance(operands[0], str):
        tensors = operands[1:]
        if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
            tensors = tuple(tensors[0])
        return operands[0], list(tensors)
    if len(operands) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and its "
                         "subscripts list")  # fmt: skip

    def letters(entries: Any) -> str:
        text = ""
        for e in entries:
            if e is Ellipsis:
                text += "..."
            elif 0 <= (k := index(e)) < 52:
                text += chr(ord("A") + k) if k < 26 else chr(ord("a") + k - 26)
            else:
                raise ValueError(f"einsum(): subscript in subscript list is not within the valid range [0, 52), but got {e}")
        return text

    result = "->" + letters(operands[-1]) if len(operands) % 2 else ""
    pairs = operands[: len(operands) - len(operands) % 2]
    return ",".join(letters(s) for s in pairs[1::2]) + result, list(pairs[::2])


@facade(method=False)
def einsum(*args: Any) -> Tensor:
    """Sums of products of elements, with subscripts: ``einsum("ij,jk->ik", a, b)``.

    Letters, spaces, ``...`` and repeated subscripts as in ``torch.einsum``; also with lists of ints after each tensor.
    """
    equation, tensors = _equation(args)
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"einsum(): argument 'operands' (position {i + 2}) must be Tensor, not {type(t).__name__}")
    shapes = [t._value.aval.shape if t._storage is None else tuple(t.shape) for t in tensors]
    plain, wanted = products.plain_equation(equation, shapes)
    tensors = [t if s == w else t.reshape(w) for t, s, w in zip(tensors, shapes, wanted, strict=True)]
    return apply(products.contract, ((len(tensors),), (plain,)), tensors)[0]


def _pairs(a: Tensor, b: Tensor, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        first, second = dims
        first, second = ints(first), ints(second)
        first = (first,) if isinstance(first, int) else first
        second = (second,) if isinstance(second, int) else second
    else:
        n = index(dims)
        if n < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if n > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = tuple(range(-n, 0)), tuple(range(n))
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    return first, second


@facade(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Products summed over the last ``dims`` dimensions of ``a`` and the first of ``b``, or over lists of both."""
    first, second = _pairs(a, b, dims)
    result = apply(products.contract_dims, ((), (first, second)), (a, b))
    return _given(out, result)


@facade(method=False)
def chain_matmul(*matrices: Any, out: Any = None) -> Tensor:
    """The product of matrices in the cheapest order."""
    if len(matrices) == 1:
        return matrices[0]
    return _given(out, apply(products.multi_dot, ((len(matrices),), ()), matrices))
