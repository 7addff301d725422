"""Reductions against torch: a row a case."""

import pytest

from tests.ops.expressions import assert_same, assert_same_gradients

INPUTS = {
    "f32": "t([[1., 5., 2.], [5., -3., 0.5]])",
    "nan": "t([[1., nan, 2.], [inf, -3., -inf]])",
    "i64": "t([[1, 5, 2], [5, -3, 0]])",
    "i32": "t([[1, 5, 2], [5, -3, 0]], i32)",
    "u8": "t([[200, 100], [0, 1]], u8)",
    "b": "t([[True, False], [True, True]])",
    "f16": "t([[1000., 0.1, 0.2], [3., 4., 5.]], f16)",
    "bf16": "t([[1000., 0.1, 0.2], [3., 4., 5.]], bf16)",
    "c64": "t([[1 + 1j, 2j], [3 + 0j, -1j]])",
    "0-d": "t(2.5)",
    "empty": "t([])",
    "(2, 0)": "torch.zeros(2, 0)",
}
ARGUMENTS = {
    "sum": ["", "0", "-1, True", "(0, 1)", "()", "[]", "dim=None", "0, dtype=f64", "dtype=i32", "2", "(0, 0)", "axis=0"],
    "nansum": ["", "0", "dtype=f64"],
    "mean": ["", "0", "-1, True", "(0, 1)", "()", "dtype=f64", "5"],
    "nanmean": ["", "0"],
    "prod": ["", "0", "-1, True", "dtype=f64"],
    "amax": ["", "0", "-1, True", "(0, 1)", "()"],
    "amin": ["", "0", "-1, True", "(0, 1)"],
    "aminmax": ["", "dim=0", "dim=-1, keepdim=True"],
    "max": ["", "0", "-1, True", "dim=1"],
    "min": ["", "0", "-1, True", "dim=1"],
    "argmax": ["", "0", "-1, True", "keepdim=True", "3"],
    "argmin": ["", "0", "-1, True"],
    "all": ["", "0", "-1, True", "(0, 1)", "()"],
    "any": ["", "0", "-1, True", "(0, 1)", "()"],
    "count_nonzero": ["", "0", "(0, 1)"],
    "logsumexp": ["0", "-1, True", "(0, 1)"],
    "var": ["", "False", "0", "0, False", "0, correction=0", "correction=2", "(0, 1), True, True", "unbiased=False", "dim=0, unbiased=False"],
    "std": ["", "0", "correction=0", "(0, 1), False, True"],
    "var_mean": ["", "0", "0, correction=0, keepdim=True"],
    "std_mean": ["", "0"],
    "norm": ["", "1", "2, 0", "inf", "-inf", "0", "3.5, 1, True", "'fro'", "'fro', (0, 1)", "'nuc'", "dtype=f64", "'other'", "-1"],
}  # fmt: skip


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_reductions(name, kind):
    for arguments in ARGUMENTS[name]:
        if "i32" in arguments and kind == "nan":
            continue  # what C makes of NaN as an integer
        if name == "norm" and kind in ("0-d", "empty", "(2, 0)", "nan") and arguments.startswith("'"):
            continue  # matrix norms of what is no matrix: the errors are linalg's
        assert_same(f"torch.{name}({', '.join(filter(None, (INPUTS[kind], arguments)))})")


ROWS = """
t([3., 1.]).max().item()
t([[1., 2.], [4., 3.]]).max(1).indices
t([[1., 2.], [4., 3.]]).max(1)[0]
t([[2., 2.], [nan, nan]]).max(1)
t([[2., 2.], [nan, nan]]).min(1)
torch.max(t([1., 5.]), t([3., 2.]))
torch.max(t([1, 5]), t([3., 2.]))
torch.min(t([1., 5.]), t([[3.], [2.]]))
torch.max(t([1j]))
torch.argmax(t([True, False]))
torch.dist(t([1., 2.]), t([3., 5.]))
torch.dist(t([1., 2.]), t([3., 5.]), 1)
torch.dist(t([1., 2.]), t([3., 5.]), inf)
t([1., 2.]).norm(p=1)
t([3, 4]).norm()
t([3, 4]).norm(dtype=f32)
torch.norm(t([[3 + 4j, 1j]]))
torch.logsumexp(t([1, 2]), 0)
torch.logsumexp(t([-inf, -inf]), 0)
torch.logsumexp(t([inf, 1.]), 0)
torch.logsumexp(torch.zeros(0, 3), 0)
t([1., 2.]).std()
t([1.]).std()
t([1.]).var(correction=0)
torch.std(t([1, 2]))
torch.zeros(0, 3).amax(0)
torch.zeros(0, 3).amax(1)
torch.zeros(0, 3).max(1)
torch.zeros(0).max()
torch.zeros(0).argmax()
torch.zeros(0, 3).argmax(0)
torch.zeros(0).sum()
torch.zeros(0).prod()
torch.zeros(0, 3).mean(0)
torch.all(torch.zeros(0))
torch.any(torch.zeros(0, 2), 0)
torch.sum(t([2**62, 2**62]))
torch.prod(t([2**40, 2**40]))
torch.sum(t([100, 100], i8))
torch.sum(t([60000., 60000.], f16))
torch.mean(t([60000., 60000.], f16))
torch.sum(torch.full((4096,), 0.1, dtype=bf16))
t([[1, 2], [3, 4]]).sum(dim=1, keepdim=True)
t([1, 2]).sum(dtype=b)
""".strip().splitlines()


@pytest.mark.parametrize("expression", ROWS)
def test_rows(expression):
    assert_same(expression)


_X = {"x": [[1.0, 3.0, 2.0], [3.0, -1.0, 0.5]]}
_ZEROS = {"x": [[0.0, 3.0, 2.0], [0.0, 0.0, 0.5]]}
_FLAT = {"x": [0.0, 0.0]}

GRADIENTS = [
    *[(f"x.{e}", _X, True) for e in (
        "sum()", "sum(0)", "sum((0, 1), True)", "mean()", "mean(1)", "mean(1, True)", "var()", "var(1)", "var(0, correction=0)",
        "var(0, False)", "std()", "std(1, True, True)", "prod()", "prod(1)", "prod(1, True)", "amax(1)", "amin(0)", "amax()", "max()",
        "min()", "max(1)[0]", "min(0, True)[0]", "logsumexp(1)", "logsumexp((0, 1), True)", "norm()", "norm(1)", "norm(3)", "norm(2, 1)",
        "norm(math.inf)", "norm(1.5, 0)", "nansum()")],
    *[(f"x.{e}", _ZEROS, False) for e in ("prod()", "prod(1)", "prod(0)", "norm()", "norm(1)", "norm(1.5)", "norm(math.inf, 1)")],
    *[(f"x.{e}", _FLAT, False) for e in (
        "std()", "norm()", "norm(1)", "norm(3)", "norm(math.inf)", "amax()", "max()", "max(0)[0]", "prod()", "norm(0.5)", "norm(-1)")],
    ("torch.stack(torch.var_mean(x, 1)).sum(0)", _X, True),
    ("torch.stack(torch.std_mean(x, 1)).sum(0)", _X, True),
    ("torch.stack(tuple(torch.aminmax(x, dim=1))).sum(0)", _X, True),
    ("torch.dist(x, y)", {"x": [1.0, 2.0], "y": [3.0, 5.0]}, True),
    ("torch.dist(x, y, 3)", {"x": [1.0, 2.0], "y": [3.0, 5.0]}, True),
    ("torch.dist(x, y)", {"x": [1.0, 2.0], "y": [1.0, 2.0]}, False),
    ("torch.max(x, y)", {"x": [1.0, 2.0], "y": [1.0, 5.0]}, False),
    ("torch.min(x, y)", {"x": [1.0, 2.0], "y": [1.0, 5.0]}, False),
    ("x.prod()", {"x": [2.0, 0.0, 3.0, 4.0]}, True),
    ("x.prod(1)", {"x": [[2.0, 0.0, 3.0], [0.0, 4.0, 0.0]]}, True),
    ("torch.logsumexp(x, 0)", {"x": [float("-inf"), 1.0]}, False),
    ("torch.nansum(x)", {"x": [float("nan"), 1.0]}, False),
    ("torch.nanmean(x)", {"x": [float("nan"), 1.0, 3.0]}, False),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "leaves", "second"), GRADIENTS, ids=[f"{e} {i}" for i, (e, _, _) in enumerate(GRADIENTS)])
def test_gradients(expression, leaves, second):
    assert_same_gradients(expression, leaves, second)
