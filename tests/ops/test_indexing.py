"""Reading and writing at positions; functions whose result's size depends on values."""

import numpy as np
import pytest

from tests.ops.against_torch import bools, check, floats, ints

x34, cube, x5 = floats(3, 4), floats(2, 3, 4), floats(5)
twice = np.array([2, 0, 2])
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")

ROWS = [
    ("gather", lambda T, x, i: x.gather(1, i), [x34, ints(3, 6, below=4)]),
    ("gather fewer rows", lambda T, x, i: T.gather(x, 1, i), [x34, ints(2, 3, below=4)]),
    ("gather by int32", lambda T, x, i: T.gather(x, 0, i.int()), [x34, ints(2, 4, below=3)]),
    ("gather by floats", lambda T, x: T.gather(x, 0, x), [x34]),
    ("scatter", lambda T, x, i, s: x.scatter(1, i, s), [x34, np.array([[0, 2], [1, 3], [2, 0]]), floats(3, 2, seed=1)]),
    ("scatter a number", lambda T, x, i: x.scatter(0, i, 1.5), [x34, ints(2, 4, below=3)]),
    ("scatter multiply", lambda T, x, i: x.detach().scatter(0, i, 2, reduce="multiply"), [x34, ints(2, 4, below=3)]),
    ("scatter_", lambda T, i: T.zeros(3, 5).scatter_(1, i, 1.0), [ints(3, 1)]),
    ("scatter another dtype", lambda T, x, i: x.scatter(0, i, i), [x34, ints(2, 4, below=3)]),
    ("scatter_add", lambda T, x, i, s: x.scatter_add(0, i, s), [x34, ints(5, 4, below=3), floats(5, 4)]),
    *(
        (f"scatter_reduce {how} {own}", lambda T, x, i, s, how=how, own=own: x.scatter_reduce(0, i, s, how, include_self=own),
         [x34, ints(5, 4, below=3), floats(5, 4)])
        for how in REDUCTIONS for own in (True, False)
    ),
    ("scatter_reduce prod of zeros", lambda T, x, i, s: x.scatter_reduce(0, i, s, "prod"),
     [x5, np.array([0, 0, 1, 1]), np.array([0.0, 2, 0, 0], np.float32)]),
    ("scatter_reduce ints", lambda T, x, i: x.scatter_reduce(0, i, i, "mean"), [ints(5), ints(5)]),
    ("index_select", lambda T, x, i: T.index_select(x, 1, i), [x34, twice]),
    ("index_add", lambda T, x, i, s: x.index_add(0, i, s, alpha=2), [x34, twice, floats(3, 4, seed=2)]),
    ("index_copy", lambda T, x, i, s: x.index_copy(1, i, s), [x34, np.array([3, 0]), floats(3, 2)]),
    ("index_fill", lambda T, x, i: x.index_fill(1, i, -1), [x34, twice]),
    ("index_fill by a tensor", lambda T, x, i, v: x.index_fill(0, i, v), [x34, twice, np.float32(3)]),
    *((f"index_reduce {how}", lambda T, x, i, s, how=how: x.index_reduce(0, i, s, how), [x34, twice, floats(3, 4, seed=2)])
      for how in REDUCTIONS[1:]),
    ("index_put", lambda T, x, i, v: x.index_put((i, i), v), [x34, np.array([0, 2]), floats(2)]),
    ("index_put accumulates", lambda T, x, i, v: x.index_put((i,), v, accumulate=True), [x34, twice, floats(3, 4)]),
    ("index_put by a mask", lambda T, x, m, v: x.index_put([m], v), [x34, bools(3, 4), np.float32(2)]),
    ("take", lambda T, x, i: T.take(x, i), [x34, np.array([[0, -1], [5, 5]])]),
    ("put", lambda T, x, i, s: x.put(i, s, accumulate=True), [x34, np.array([0, -1, 0]), floats(3)]),
    ("take_along_dim", lambda T, x, i: T.take_along_dim(x, i, 1), [x34, ints(1, 2, below=4)]),
    ("take_along_dim of argsort", lambda T, x: T.take_along_dim(x, x.argsort(0), dim=0), [x34]),
    ("masked_fill", lambda T, x, m: x.masked_fill(m, float("-inf")).exp(), [x34, bools(4)]),
    ("masked_fill by a tensor", lambda T, x, m, v: x.masked_fill(m, v), [x34, bools(3, 4), np.float64(2)]),
    ("masked_fill by a vector", lambda T, x, m: x.masked_fill(m, x), [x34, bools(3, 4)]),
    ("masked_fill by ints", lambda T, x, m: x.masked_fill(m.int(), 0.0), [x34, bools(3, 4)]),
    ("masked_scatter", lambda T, x, m, s: x.masked_scatter(m, s), [x34, bools(3, 4), floats(12, seed=3)]),
    ("masked_select", lambda T, x, m: T.masked_select(x, m), [x34, bools(3, 1)]),
    ("nonzero", lambda T, m: m.nonzero(), [bools(3, 4)]),
    ("nonzero as_tuple", lambda T, m: T.nonzero(m, as_tuple=True), [bools(3, 4)]),
    ("argwhere of a number", lambda T, m: T.argwhere(m), [np.float32(2)]),
    ("unique", lambda T, x: T.unique(x, return_inverse=True, return_counts=True), [ints(3, 4)]),
    ("unique of rows", lambda T, x: x.unique(dim=0, return_counts=True), [ints(6, 2, below=2)]),
    ("unique of NaN", lambda T, x: T.unique(x.detach()), [np.array([np.nan, 1, np.nan, 1], np.float32)]),
    ("unique_consecutive", lambda T, x: T.unique_consecutive(x, return_inverse=True, return_counts=True), [np.array([1, 1, 2, 1, 1])]),
    ("bincount", lambda T, x: T.bincount(x, minlength=7), [ints(9)]),
    ("bincount with weights", lambda T, x, w: x.bincount(w.detach()), [ints(5), x5]),
    ("histc", lambda T, x: T.histc(x.detach(), 4, -1, 1), [x34]),
    ("histc of the data's range", lambda T, x: x.detach().histc(bins=5), [x34]),
    ("histogram", lambda T, x: tuple(T.histogram(x.detach(), 4, density=True)), [x34]),
    ("searchsorted", lambda T, s, x: T.searchsorted(s, x.detach(), right=True), [np.arange(5), floats(3)]),
    ("searchsorted in rows", lambda T, s, x: T.searchsorted(s.detach().sort().values, x.detach()), [x34, floats(3, 2)]),
    ("searchsorted in many", lambda T, s, x: T.searchsorted(s, x, out_int32=True), [np.arange(100), ints(7, below=120)]),
    ("bucketize", lambda T, x, b: T.bucketize(x, b), [ints(3, 4, below=9), np.array([1, 3, 5])]),
    ("one_hot", lambda T, x: T.nn.functional.one_hot(x), [ints(3, 2)]),
    ("embedding", lambda T, i, w: T.nn.functional.embedding(i, w, padding_idx=-1), [ints(2, 3), floats(5, 3)]),
    ("embedding by frequency", lambda T, i, w: T.nn.functional.embedding(i, w, scale_grad_by_freq=True), [ints(2, 3), floats(5, 3)]),
    ("embedding out of range", lambda T, i, w: T.nn.functional.embedding(i, w), [np.array([0, 5]), floats(5, 3)]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "inputs"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_indexing(call, inputs):
    check(call, inputs)
