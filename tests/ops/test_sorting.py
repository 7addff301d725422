"""Order, ranks and running totals, with ties and NaN."""

import numpy as np
import pytest

from tests.ops.against_torch import bools, check, floats, ints

x34 = floats(3, 4)
nans = np.array([3, 1, np.nan, 1, 2, np.nan, -0.0, 0.0, np.inf], np.float32)
distinct = np.random.default_rng(0).permutation(24).reshape(4, 6).astype(np.float32)

ROWS = [
    ("sort", lambda T, x: tuple(x.sort(0)), [distinct]),
    ("sort descending", lambda T, x: tuple(T.sort(x, descending=True, stable=True)), [nans]),
    ("sort of NaN", lambda T, x: tuple(T.sort(x)), [nans]),
    ("sort of int64", lambda T, x: tuple(x.sort(stable=True)), [np.array([2**40, -(2**62), 5, 2**40 + 1, -7, 5])]),
    ("sort of float64", lambda T, x: tuple(x.sort(dim=1)), [floats(3, 5, dtype=np.float64)]),
    ("sort of bools", lambda T, x: tuple(x.sort(stable=True)), [bools(9)]),
    ("sort of a number", lambda T, x: tuple(x.sort()), [np.float32(2)]),
    ("sort of uint8", lambda T, x: tuple(x.to(T.uint8).sort(descending=True, stable=True)), [ints(9, below=250)]),
    ("argsort", lambda T, x: x.argsort(dim=0, stable=True), [ints(5, 3)]),
    ("msort", lambda T, x: T.msort(x), [distinct]),
    ("topk", lambda T, x: tuple(x.topk(2)), [distinct]),
    ("topk smallest", lambda T, x: tuple(T.topk(x, 3, 0, largest=False)), [distinct]),
    ("topk of ints", lambda T, x: x.topk(3).values, [ints(9)]),
    ("topk of NaN", lambda T, x: x.detach().topk(4).values, [nans]),
    ("topk smallest of NaN", lambda T, x: x.detach().topk(4, largest=False).values, [nans]),
    ("topk too many", lambda T, x: x.topk(7), [x34]),
    ("kthvalue", lambda T, x: tuple(x.kthvalue(2, 1, True)), [distinct]),
    ("median", lambda T, x: x.median(), [x34]),
    ("median of NaN", lambda T, x: x.median(0), [nans]),
    ("median dim", lambda T, x: tuple(T.median(x, 1)), [distinct]),
    ("nanmedian", lambda T, x: x.nanmedian(), [nans]),
    ("nanmedian dim", lambda T, x: T.nanmedian(x, dim=0, keepdim=True).values, [nans[:, None]]),
    ("median of ties shares the gradient", lambda T, x: x.median(), [np.array([1, 2, 2, 4, 2], np.float32)]),
    ("mode", lambda T, x: tuple(x.mode(1)), [ints(4, 7, below=3)]),
    *(
        (f"quantile {how}", lambda T, x, q, how=how: T.quantile(x, q, dim=1, keepdim=True, interpolation=how),
         [distinct, np.array([0.1, 0.5, 0.77], np.float32)])
        for how in ("linear", "lower", "higher", "midpoint", "nearest")
    ),
    ("quantile of NaN", lambda T, x: T.quantile(x, 0.4), [nans]),
    ("nanquantile", lambda T, x: T.nanquantile(x, 0.4, dim=0), [nans[:8, None]]),
    ("quantile out of range", lambda T, x: T.quantile(x, 1.5), [x34]),
    ("cumsum", lambda T, x: x.cumsum(1), [x34]),
    ("cumsum of bools", lambda T, x: T.cumsum(x, 0), [bools(6)]),
    ("cumsum dtype", lambda T, x: x.cumsum(-1, dtype=T.float64), [x34]),
    ("cumsum_", lambda T, x: x.detach().clone().cumsum_(0), [x34]),
    ("cumprod", lambda T, x: x.cumprod(0), [x34]),
    ("cumprod of zeros", lambda T, x: x.cumprod(0), [np.array([1, 0, 2, 0, 3], np.float32)]),
    ("cummax", lambda T, x: tuple(x.cummax(0)), [nans]),
    ("cummin", lambda T, x: tuple(T.cummin(x, 1)), [ints(3, 6)]),
    ("logcumsumexp", lambda T, x: T.logcumsumexp(x, 1), [x34 * 50]),
    ("isin", lambda T, x: T.isin(x, T.tensor([1, 3])), [ints(3, 4)]),
    ("isin many", lambda T, x, t: T.isin(x, t, invert=True), [ints(30, below=100), ints(50, below=100, seed=1)]),
    ("isin a number", lambda T, x: T.isin(x, 2), [ints(3, 4)]),
    ("sort in the wrong dim", lambda T, x: x.sort(2), [x34]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "inputs"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_sorting(call, inputs):
    check(call, inputs)
