"""``repr`` of tensors against torch, character for character."""

import ml_dtypes
import numpy as np
import pytest

import torchlike
from tests.scenarios import Scenarios
from torchlike.tensor import printing

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


DTYPES = (
    "float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128",
)  # fmt: skip
ODD = (np.inf, -np.inf, np.nan, 0.0, -0.0)


def random_numbers(rng, shape):
    """Numbers of one or many magnitudes, whole or not, with some that are not finite."""
    a = rng.standard_normal(shape) * 10.0 ** rng.integers(-9, 13)
    kind = rng.integers(6)
    if kind == 0:
        a = a * 10.0 ** rng.integers(-4, 4, shape)
    elif kind == 1:
        a = np.round(a)
    elif kind == 2:
        a = np.round(rng.standard_normal(shape) * 5)
    if rng.random() < 0.25:
        a = np.where(rng.random(shape) < rng.random(), ODD[rng.integers(len(ODD))], a)
    return np.asarray(a)


def random_shape(rng):
    kind = rng.random()
    if kind < 0.1:
        return tuple(rng.integers(1, 60, rng.integers(1, 3)).tolist())
    if kind < 0.15:
        return tuple(rng.integers(1, 12, rng.integers(3, 5)).tolist())
    if kind < 0.18:
        return (int(rng.integers(990, 1200)),)
    return tuple(rng.integers(0, 5, rng.integers(0, 5)).tolist())


def random_options(rng):
    chosen = {}
    if rng.random() < 0.4:
        for name, values in (("precision", range(9)), ("threshold", range(60)), ("edgeitems", range(6)), ("linewidth", range(20, 130)), ("sci_mode", (True, False, None)), ("profile", ("default", "short", "full"))):
            if rng.random() < 0.4:
                chosen[name] = values[rng.integers(len(values))]
    return chosen


def host(theirs):
    """A torch tensor's elements as NumPy's, by their bytes where torch has no conversion."""
    name = str(theirs.dtype).removeprefix("torch.")
    if name == "bfloat16" or name.startswith("float8"):
        torch = pytest.importorskip("torch")
        bits = theirs.reshape(-1).view(torch.uint16 if name == "bfloat16" else torch.uint8).numpy()
        return bits.view(getattr(ml_dtypes, name)).reshape(tuple(theirs.shape))
    return theirs.numpy()


@pytest.mark.parametrize("seed", range(4))
def test_random_arrays(seed):
    torch = pytest.importorskip("torch", reason="compares with real torch, which is not installed")
    rng = np.random.default_rng(seed)
    try:
        for _ in range(600):
            shape, name = random_shape(rng), DTYPES[rng.integers(len(DTYPES))]
            a = random_numbers(rng, shape)
            if name.startswith("complex"):
                a = np.asarray(a + 0j)
                a.imag = random_numbers(rng, shape)
            elif "int" in name:
                limits = np.iinfo(name)
                a = np.asarray(np.clip(np.nan_to_num(a, posinf=1, neginf=1), limits.min / 2, limits.max / 2).astype(name))
            theirs = torch.from_numpy(a).to(getattr(torch, name))
            chosen, default = random_options(rng), ("float32", "float64", "bfloat16")[rng.choice(3, p=(0.8, 0.1, 0.1))]
            for library in (torch, printing):
                library.set_printoptions(profile="default")
                library.set_printoptions(**chosen)
            torch.set_default_dtype(getattr(torch, default))
            mine = printing.tensor_repr(host(theirs), shape=shape, dtype_name=name, default_dtype_name=default)
            assert mine == repr(theirs), chosen
    finally:
        torch.set_default_dtype(torch.float32)
        for library in (torch, printing):
            library.set_printoptions(profile="default")


def test_edge_items_are_enough():
    a = np.arange(20 * 3 * 100).reshape(20, 3, 100)
    edges = printing.edge_items(a, a.shape)
    assert edges.shape == (6, 3, 6)
    names = {"shape": a.shape, "dtype_name": "int64", "default_dtype_name": "float32"}
    assert printing.tensor_repr(edges, **names) == printing.tensor_repr(a, **names)


def test_only_the_edges_are_formatted(monkeypatch):
    asked = []
    call = printing.NumberFormat.__call__
    monkeypatch.setattr(printing.NumberFormat, "__call__", lambda self, value: asked.append(value) or call(self, value))
    repr(torchlike.zeros(1000, 1000))
    assert len(asked) == 36
