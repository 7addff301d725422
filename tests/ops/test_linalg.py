"""Products, einsum, norms, distances, solvers and decompositions."""

import numpy as np
import pytest

import torchlike
from tests.ops.against_torch import bools, check, floats, ints, positive
from torchlike.ops.matmul import plain_equation

a34, a43, a33, v3, v4 = floats(3, 4), floats(4, 3), floats(3, 3), floats(3), floats(4)
batch, complex33 = floats(2, 3, 4), floats(2, 3, 3, dtype=np.complex64)
spd, tall = positive(3, 2), floats(5, 3)
near = np.random.default_rng(1).standard_normal((2, 4, 4)).astype(np.float32) + 3 * np.eye(4, dtype=np.float32)
zero = np.zeros((2, 3), np.float32)


def parts(A):
    """What of an SVD does not depend on signs."""
    u, s, vh = A
    return u.abs(), s, vh.abs()


PRODUCTS = [
    ("matmul", lambda T, a, b: a @ b, [a34, a43]),
    ("matmul of vectors", lambda T, a, b: T.matmul(a, b), [v3, v3]),
    ("matmul broadcasts", lambda T, a, b: T.matmul(a, b), [floats(2, 1, 3, 4), floats(5, 4, 2)]),
    ("matmul of a batch with a vector", lambda T, a, b: a @ b, [batch, v4]),
    ("matmul of ints", lambda T, a: a @ a, [ints(3, 3)]),
    ("matmul in bfloat16", lambda T, a, b: T.matmul(a.detach().bfloat16(), b.detach().bfloat16()), [a34, a43]),
    ("matmul of different dtypes", lambda T, a, b: a @ b.double(), [a34, a43]),
    ("matmul of wrong sizes", lambda T, a: a @ a, [a34]),
    ("mm of bools", lambda T, a: T.mm(a, a), [bools(3, 3)]),
    ("mm", lambda T, a, b: T.mm(a, b), [a34, a43]),
    ("bmm", lambda T, a: T.bmm(a, a.mT), [batch]),
    ("mv", lambda T, a, b: a.mv(b), [a34, v4]),
    ("dot of complex", lambda T, a: T.dot(a, a), [floats(3, dtype=np.complex64)]),
    ("vdot", lambda T, a, b: T.vdot(a, b), [floats(3, dtype=np.complex64), floats(3, seed=1, dtype=np.complex64)]),
    ("inner", lambda T, a, b: T.inner(a, b), [a34, floats(2, 4)]),
    ("outer", lambda T, a, b: T.outer(a, b), [v3, v4]),
    ("addmm", lambda T, c, a, b: T.addmm(c, a, b, beta=0.5, alpha=2), [v3, a34, a43]),
    ("addmm without the first", lambda T, c, a, b: T.addmm(c, a, b, beta=0), [np.full(3, np.nan, np.float32), a34, a43]),
    ("addmv", lambda T, c, a, b: c.addmv(a, b), [v3, a34, v4]),
    ("addr", lambda T, c, a, b: T.addr(c, a, b, alpha=2), [a34, v3, v4]),
    ("baddbmm", lambda T, c, a: T.baddbmm(c, a, a.mT, beta=2), [floats(2, 3, 3), batch]),
    ("addbmm", lambda T, c, a: T.addbmm(c, a, a.mT), [a33, batch]),
    ("linear", lambda T, x, w, b: T.nn.functional.linear(x, w, b), [batch, floats(5, 4), floats(5)]),
    ("linear of a vector", lambda T, x, w: T.nn.functional.linear(x, w), [v4, floats(5, 4)]),
    ("bilinear", lambda T, x, y, w: T.nn.functional.bilinear(x, y, w), [a34, a33, floats(2, 4, 3)]),
    ("multi_dot", lambda T, a, b, c: T.linalg.multi_dot([a, b, c]), [v3, a34, v4]),
    ("tensordot", lambda T, a, b: T.tensordot(a, b, dims=([1, 2], [1, 0])), [batch, floats(4, 3, 2)]),
    ("tensordot of a count", lambda T, a, b: T.tensordot(a, b, 1), [a34, a43]),
    ("kron", lambda T, a, b: T.kron(a, b), [a34, v3]),
    ("cross", lambda T, a, b: T.cross(a, b), [a33, floats(3, 3, seed=1)]),
    ("linalg.cross broadcasts", lambda T, a, b: T.linalg.cross(a, b), [floats(2, 1, 3), floats(1, 2, 3)]),
    ("vecdot", lambda T, a, b: T.linalg.vecdot(a, b, dim=0), [a34, floats(3, 4, seed=1)]),
    ("matrix_power", lambda T, a: T.matrix_power(a, 3), [near]),
    ("matrix_power of the inverse", lambda T, a: T.linalg.matrix_power(a, -2), [near]),
]

EINSUM = [
    ("ik,kj->ij", [a34, a43]), ("ij,jk", [a34, a43]), ("ii->i", [a33]), ("ii", [a33]), ("ij->", [a34]), ("ba", [a34]),
    ("...ij,...jk->...ik", [batch, floats(5, 1, 4, 2)]), ("b...,b->...", [batch, floats(2)]), (" i j , j -> i ", [a34, v4]),
    ("i,j->ij", [v3, v4]), ("bij,bjk,bk->bi", [batch, floats(2, 4, 5), floats(2, 5)]), ("ij,ij->j", [a34, floats(1, 4)]),
    ("iij->ij", [floats(3, 3, 2)]), ("Ab,bA", [a34, a43]), ("ij,kj->i", [a34, a34]), ("i->ii", [v3]), ("ij->k", [a34]), ("ij", [v3]),
    ("i,i", [v3, v4]), ("i,,j", [v3]), ("i@", [v3]),
]  # fmt: skip

NORMS = [
    *((f"vector_norm {p}", lambda T, x, p=p: T.linalg.vector_norm(x, p, dim=1), [a34]) for p in (0, 0.5, 1, 2, 3, float("inf"), -float("inf"))),
    *((f"matrix_norm {p}", lambda T, x, p=p: T.linalg.matrix_norm(x, p), [batch]) for p in ("fro", "nuc", 1, -1, 2, float("inf"))),
    *((f"norm {p} at zero", lambda T, x, p=p: T.norm(x, p), [zero]) for p in (1, 2, 3, float("inf"))),
    ("norm", lambda T, x: x.norm(), [a34]),
    ("norm dim", lambda T, x: x.norm(p=2, dim=-1, keepdim=True), [a34]),
    ("norm nuc", lambda T, x: T.norm(x, "nuc"), [a34]),
    ("linalg.norm of complex", lambda T, x: T.linalg.norm(x), [complex33]),
    ("linalg.norm dtype", lambda T, x: T.linalg.norm(x, dtype=T.float64), [a34]),
    ("norm of ints", lambda T, x: T.norm(x), [ints(3)]),
    ("cond", lambda T, a: T.linalg.cond(a), [near]),
    ("cond 1", lambda T, a: T.linalg.cond(a.detach(), 1), [near]),
    ("cdist", lambda T, a, b: T.cdist(a, b), [a34, floats(5, 4)]),
    ("cdist p=1", lambda T, a, b: T.cdist(a, b, p=1), [batch, floats(2, 5, 4)]),
    ("cdist of equal rows", lambda T, a: T.cdist(a, a), [a34]),
    ("cdist of many rows", lambda T, a, b: T.cdist(a, b), [floats(30, 4), floats(5, 4)]),
    ("pdist", lambda T, a: T.nn.functional.pdist(a), [a34]),
    ("cosine_similarity", lambda T, a, b: T.cosine_similarity(a, b), [a34, floats(3, 4, seed=1)]),
    ("cosine_similarity of zero", lambda T, a: T.nn.functional.cosine_similarity(a, a + 1), [zero]),
    ("pairwise_distance", lambda T, a, b: T.nn.functional.pairwise_distance(a, b, keepdim=True), [a34, floats(3, 4, seed=1)]),
]

DECOMPOSITIONS = [
    ("det", lambda T, a: T.det(a), [near]),
    ("det of a singular matrix", lambda T, a: a.detach().det(), [np.ones((2, 2), np.float32)]),
    ("slogdet", lambda T, a: tuple(T.linalg.slogdet(a)), [near]),
    ("logdet", lambda T, a: a.logdet(), [spd]),
    ("inv", lambda T, a: T.linalg.inv(a), [near]),
    ("inverse of complex", lambda T, a: a.inverse(), [complex33]),
    ("solve", lambda T, a, b: T.linalg.solve(a, b), [near, floats(2, 4, 2)]),
    ("solve for a vector", lambda T, a, b: T.linalg.solve(a, b), [near, floats(2, 4)]),
    ("solve from the right", lambda T, a, b: T.linalg.solve(a, b, left=False), [near, floats(3, 4)]),
    ("lstsq", lambda T, a, b: T.linalg.lstsq(a, b).solution, [tall, floats(5, 2)]),
    ("cholesky", lambda T, a: T.linalg.cholesky(a), [spd]),
    ("cholesky upper", lambda T, a: a.cholesky(upper=True), [positive(3, dtype=np.complex64)]),
    ("cholesky_solve", lambda T, b, a: T.cholesky_solve(b, T.linalg.cholesky(a)), [floats(2, 3, 1), spd]),
    ("cholesky_inverse", lambda T, a: T.cholesky_inverse(T.linalg.cholesky(a)), [spd]),
    ("qr", lambda T, a: tuple(T.linalg.qr(a)), [tall]),
    ("qr of wide complex", lambda T, a: tuple(T.linalg.qr(a)), [floats(2, 3, dtype=np.complex64)]),
    ("svd", lambda T, a: parts(T.linalg.svd(a, full_matrices=False)), [batch]),
    ("svd full", lambda T, a: T.linalg.svd(a.detach()).S, [batch]),
    ("svdvals of equal values", lambda T, a: T.linalg.svdvals(a).sum(), [np.eye(3, dtype=np.float32)]),
    ("eigh", lambda T, a: T.linalg.eigh(a)[0], [spd]),
    ("eigh vectors", lambda T, a: T.linalg.eigh(a)[1].abs(), [spd]),
    ("eigvalsh upper", lambda T, a: T.linalg.eigvalsh(a, "U"), [spd]),
    ("eig", lambda T, a: T.linalg.eig(a)[1].abs(), [near]),
    ("eigvals", lambda T, a: T.linalg.eigvals(a), [near]),
    ("lu", lambda T, a: tuple(T.linalg.lu(a))[1:], [near]),
    ("lu_solve", lambda T, a, b: T.linalg.lu_solve(*T.linalg.lu_factor(a), b), [near, floats(2, 4, 2)]),
    ("ldl", lambda T, a, b: T.linalg.ldl_solve(*T.linalg.ldl_factor(a.detach()), b.detach()), [spd, floats(2, 3, 1)]),
    ("householder_product", lambda T, a: T.linalg.householder_product(*T.geqrf(a.detach())), [tall]),
    ("ormqr", lambda T, a, c: T.ormqr(*T.geqrf(a.detach()), c, transpose=True), [tall, floats(5, 2)]),
    ("solve_triangular", lambda T, a, b: T.linalg.solve_triangular(a, b, upper=True), [near, floats(2, 4, 2)]),
    ("pinv", lambda T, a: T.linalg.pinv(a), [tall]),
    ("matrix_rank", lambda T, a: T.linalg.matrix_rank(a.detach()), [np.ones((3, 3), np.float32)]),
    ("matrix_exp", lambda T, a: T.matrix_exp(a), [a33]),
    ("tensorinv", lambda T, a: T.linalg.tensorinv(a, 1), [floats(6, 2, 3)]),
    ("tensorsolve", lambda T, a, b: T.linalg.tensorsolve(a, b), [floats(2, 3, 6), floats(2, 3)]),
    ("inv of a wide matrix", lambda T, a: T.linalg.inv(a), [a34]),
    ("inv of ints", lambda T, a: T.linalg.inv(a), [ints(3, 3)]),
    ("solve of wrong sizes", lambda T, a, b: T.linalg.solve(a, b), [near, floats(2, 3, 1)]),
]

ROWS = [*PRODUCTS, *((f"einsum {e}", lambda T, *t, e=e: T.einsum(e, *t), i) for e, i in EINSUM), *NORMS, *DECOMPOSITIONS]


@pytest.mark.parametrize(("call", "inputs"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_linalg(call, inputs):
    check(call, inputs, rtol=2e-3 if call in [r[1] for r in DECOMPOSITIONS] else None)


def test_einsum_by_lists_of_ints():
    check(lambda T, a, b: T.einsum(a, [0, 1], b, [1, 2], [2, 0]), [a34, a43])
    check(lambda T, a, b: T.einsum(a, [..., 1], b, [1, 2]), [batch, a43])


@pytest.mark.parametrize(
    ("equation", "shapes", "plain", "reshaped"),
    [
        ("ij,jk", [(2, 3), (3, 4)], "ij,jk->ik", [(2, 3), (3, 4)]),
        ("...i", [(2, 3, 4)], "abi->abi", [(2, 3, 4)]),
        ("...i,...i->...", [(2, 3), (5, 1, 3)], "bi,ai->ab", [(2, 3), (5, 3)]),  # a size of one that broadcasts is dropped
        ("ba", [(2, 3)], "ba->ab", [(2, 3)]),
    ],
)
def test_plain_equation(equation, shapes, plain, reshaped):
    assert plain_equation(equation, shapes) == (plain, reshaped)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda T: T.linalg.inv(T.tensor([[1.0, 2], [2, 4]])), "diagonal element 2 is zero"),
        (lambda T: T.linalg.inv(T.stack([T.eye(2), T.zeros(2, 2)])), "(Batch element 1)"),
        (lambda T: T.linalg.solve(T.zeros(2, 2), T.ones(2)), "singular"),
        (lambda T: T.linalg.cholesky(T.tensor([[1.0, 0], [0, -1]])), "the leading minor of order 2 is not positive-definite"),
        (lambda T: T.linalg.cholesky(T.stack([T.eye(2), -T.eye(2)])), "(Batch element 1)"),
    ],
)
def test_values_that_cannot_be_solved(call, message):
    with pytest.raises(RuntimeError) as caught:
        call(torchlike)
    assert type(caught.value).__name__ == "_LinAlgError" and message in str(caught.value)


def test_info_instead_of_an_error():
    check(lambda T, a: T.linalg.cholesky_ex(a.detach()).info, [np.stack([np.eye(3), np.diag([1.0, -1, 1]), np.diag([-1.0, 1, 1])])])
    check(lambda T, a: T.linalg.inv_ex(a.detach()).info, [np.stack([np.eye(2), np.zeros((2, 2))])])
