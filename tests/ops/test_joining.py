"""Joining, repeating and rearranging tensors."""

import numpy as np
import pytest

from tests.ops.against_torch import bools, check, floats, ints

x34, x24, x3 = floats(3, 4), floats(2, 4), floats(3)
cube = floats(2, 3, 4)

ROWS = [
    ("cat", lambda T, a, b: T.cat([a, b]), [x34, x24]),
    ("cat promotes", lambda T, a, b: T.cat([a, b], dim=-2), [x34, ints(2, 4)]),
    ("cat skips legacy empties", lambda T, a, b: T.cat((a, b), 0), [x34, floats(0)]),
    ("cat of unequal sizes", lambda T, a, b: T.cat((a, b), 1), [x34, x24]),
    ("cat of nothing", lambda T: T.cat([]), []),
    ("cat of numbers", lambda T, a: T.cat([a, a]), [np.float32(3)]),
    ("concat with axis", lambda T, a: T.concat([a, a], axis=1), [x34]),
    ("stack", lambda T, a: T.stack([a, 2 * a], -1), [x34]),
    ("stack of unequal shapes", lambda T, a, b: T.stack([a, b]), [x34, x24]),
    ("hstack", lambda T, a: T.hstack([a, a]), [x3]),
    ("vstack", lambda T, a: T.vstack((a, a)), [x3]),
    ("dstack", lambda T, a: T.dstack((a, a)), [x34]),
    ("column_stack", lambda T, a, b: T.column_stack((a, b)), [x3, x34]),
    ("block_diag", lambda T, a, b: T.block_diag(a, b), [x34, x3]),
    ("cartesian_prod", lambda T, a, b: T.cartesian_prod(a, b), [x3, floats(2)]),
    ("combinations", lambda T, a: T.combinations(a, 2, True), [x3]),
    ("repeat", lambda T, a: a.repeat(2, 1, 3), [x34]),
    ("repeat by a size", lambda T, a: a.repeat(T.Size([2, 2])), [x34]),
    ("repeat with too few", lambda T, a: a.repeat(2), [x34]),
    ("tile", lambda T, a: T.tile(a, (2,)), [x34]),
    ("repeat_interleave", lambda T, a: a.repeat_interleave(2, 1), [x34]),
    ("repeat_interleave flat", lambda T, a: T.repeat_interleave(a, 2), [x34]),
    ("repeat_interleave by counts", lambda T, a, n: T.repeat_interleave(a, n, dim=0), [x34, np.array([2, 0, 1])]),
    ("roll", lambda T, a: a.roll((1, -1), (0, 1)), [x34]),
    ("roll flat", lambda T, a: T.roll(a, 2), [x34]),
    ("flip", lambda T, a: a.flip(0, -1), [x34]),
    ("flip twice the same", lambda T, a: a.flip(0, 0), [x34]),
    ("fliplr", lambda T, a: T.fliplr(a), [x34]),
    ("rot90", lambda T, a: T.rot90(a, 3, [1, 2]), [cube]),
    ("tril", lambda T, a: a.tril(-1), [cube]),
    ("triu of ints", lambda T, a: T.triu(a, 1), [ints(3, 3)]),
    ("triu_", lambda T, a: a.clone().triu_(), [x34]),
    ("tril of a vector", lambda T, a: T.tril(a), [np.float32(1)]),
    ("diag", lambda T, a: T.diag(a, 1), [x3]),
    ("diag of a matrix", lambda T, a: a.diag(-1), [x34]),
    ("diag_embed", lambda T, a: T.diag_embed(a, -1, 0, 2), [x34]),
    ("diagflat", lambda T, a: T.diagflat(a), [x24]),
    ("tril_indices", lambda T: T.tril_indices(3, 4, 1), []),
    ("vander", lambda T, a: T.vander(a.detach(), 3, True), [x3]),
    ("meshgrid", lambda T, a, b: T.meshgrid(a, b, indexing="xy"), [x3, floats(2)]),
    ("trapezoid", lambda T, a, b: T.trapezoid(a, b), [x34, floats(4)]),
    ("cumulative_trapezoid", lambda T, a: T.cumulative_trapezoid(a, dx=0.5, dim=0), [x34]),
    ("diff", lambda T, a: T.diff(a, 2, 1), [x34]),
    ("diff of bools", lambda T, a: T.diff(a), [bools(6)]),
    ("gradient", lambda T, a: T.gradient(a, spacing=0.5, edge_order=2), [floats(4, 4)]),
    ("gradient at positions", lambda T, a, p: T.gradient(a, spacing=(p,), dim=0), [x34, np.array([0.0, 1, 4], np.float32)]),
    ("renorm", lambda T, a: T.renorm(a, 2, 0, 1.5), [x34]),
    ("unravel_index", lambda T, a: T.unravel_index(a, (3, 4)), [ints(5, below=12)]),
]


@pytest.mark.parametrize(("call", "inputs"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_joining(call, inputs):
    check(call, inputs)
