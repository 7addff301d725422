"""``repr`` of tensors against torch, character for character."""

import numpy as np
import pytest

import torchlike
from tests.scenarios import Scenarios

scenario = Scenarios("printing")


@scenario
def kinds(torch):
    x = torch.tensor([1.0, 2.5])
    w = torch.ones(2, 2, requires_grad=True)
    return [
        repr(x), repr(w), repr(w * 2), repr(torch.tensor(3)), repr(torch.tensor(True)), repr(torch.tensor([1, 20, 300])), repr(torch.zeros(0)),
        repr(torch.zeros(0, 3)), repr(torch.zeros(0, dtype=torch.int32)), repr(torch.tensor([1.0], dtype=torch.float64)), repr(x.half()),
        repr(torch.tensor([1e-8, 1.0])), repr(torch.tensor([1e10, 1.0])), repr(torch.tensor([float("inf"), float("nan"), 1.5])), repr(torch.tensor([float("nan")])),
        repr(torch.arange(2000)), repr(torch.arange(2000.0).reshape(40, 50)), repr(torch.zeros(2, 2, 2)), repr(torch.tensor([1 + 2j, -1.5j])),
        repr(torch.tensor([[True, False]])), repr(torch.tensor([0.1, 100000.0])), repr(torch.zeros(3, device="meta")), repr(torch.tensor([-0.0, 0.0])),
        repr(x.bfloat16()), repr(torch.tensor(1e-5)), repr(torch.rand(0, 2, 3).to(torch.complex64)), repr(torch.arange(12).to(torch.uint8)),
        str(torch.tensor([1.0])), repr(torch.full((1001,), 0.5)), repr(torch.ones(1, 1, 1, 1)), repr(torch.tensor([16777216.0, 1.0])),
    ]  # fmt: skip


@scenario
def print_options(torch):
    x = torch.tensor([1.23456789, 1000.0, 0.001])
    big = torch.arange(100.0)
    seen = []
    for chosen in ({"precision": 2}, {"sci_mode": True}, {"sci_mode": False}, {"threshold": 10, "edgeitems": 2}, {"linewidth": 40}, {"profile": "short"}, {"profile": "full"}):
        torch.set_printoptions(profile="default")
        torch.set_printoptions(**chosen)
        seen += [repr(x), repr(big)]
    torch.set_printoptions(profile="default")
    return seen


test_printing = scenario.test()


def test_random_arrays():
    torch = pytest.importorskip("torch", reason="compares with real torch, which is not installed")
    rng = np.random.default_rng(0)
    for _ in range(600):
        shape = tuple(rng.integers(0, 5, rng.integers(0, 5)))
        if rng.random() < 0.1:
            shape = tuple(rng.integers(1, 60, rng.integers(1, 3)))
        a = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 10)
        if rng.random() < 0.4:
            a = np.round(a)
        if rng.random() < 0.2 and a.size:
            a = np.where(rng.random(shape) < 0.3, [np.inf, -np.inf, np.nan, 0.0][rng.integers(4)], a)
        kind = rng.choice(["float32", "float64", "int64", "bool", "float16", "complex64", "uint8", "int16", "bfloat16"])
        with np.errstate(all="ignore"):
            if kind == "complex64":
                a = (a + 1j * np.roll(a, 1)).astype(np.complex64)
            elif kind == "bfloat16":
                a = a.astype(np.float32)
            else:
                a = np.nan_to_num(a, posinf=1, neginf=1).astype(kind) if np.dtype(kind).kind in "iub" else np.asarray(a).astype(kind)
        theirs, mine = torch.tensor(a), torchlike.tensor(a)
        if kind == "bfloat16":
            theirs, mine = theirs.bfloat16(), mine.bfloat16()
        assert repr(mine) == repr(theirs)
