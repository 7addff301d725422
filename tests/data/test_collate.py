"""What becomes of samples in a batch."""

from collections import OrderedDict, UserDict, UserList, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

import torchlike as tl
from tests.data.test_datasets import error
from tests.scenarios import Scenarios
from torchlike.utils.data import default_collate

scenario = Scenarios("data_collate")
Point = namedtuple("Point", "x y")


def kind(x):
    """The structure with the names of its types."""
    name = type(x).__name__
    if hasattr(x, "items"):
        return [name, {k: kind(v) for k, v in x.items()}]
    if isinstance(x, (list, tuple, UserList)):
        return [name, [kind(v) for v in x]]
    return x if name == "Tensor" or not isinstance(x, (np.ndarray, np.generic)) else [name, x.tolist()]


@scenario
def numbers(torch):
    c = torch.utils.data.default_collate
    return [
        c(batch)
        for batch in (
            [1, 2],
            [1.5, 2.5],
            [True, False],
            [1, 2.0],
            ["a", "b"],
            [b"a", b"b"],
            [np.float32(1), np.float32(2)],
            [np.float64(1)],
            [np.int16(1), np.int16(2)],
            [np.bool_(True)],
            [np.uint8(3), np.uint8(4)],
        )
    ]


@scenario
def arrays(torch):
    c = torch.utils.data.default_collate
    ones = [np.ones((2, 2), dtype) for dtype in (np.float32, np.float64, np.int32, np.uint8, np.bool_, np.float16)]
    return (
        [c([a, a]) for a in ones],
        c([np.array(1), np.array(2)]),
        error(lambda: c([np.array(["a"])])),
        error(lambda: c([np.array([object()])])),
        error(lambda: c([np.ones(2), np.ones(3)]))[0],
        c([np.arange(6.0).reshape(2, 3).T, np.ones((3, 2))]),
    )


@scenario
def tensors(torch):
    c = torch.utils.data.default_collate
    x = torch.arange(6.0).reshape(2, 3)
    leaf = torch.ones(2, requires_grad=True)
    return (
        c([x, x + 1]),
        c([x.t(), x.t()]),
        c([torch.tensor(1), torch.tensor(2)]),
        c([x[0], x[1]]),
        c([leaf, leaf * 2]),
        error(lambda: c([x, x[0]]))[0],
        c([torch.ones(0), torch.ones(0)]),
        c([x.to(torch.bfloat16)]).dtype,
    )


@scenario
def containers(torch):
    c = torch.utils.data.default_collate
    samples = [
        [{"a": 1, "b": [2, 3]}, {"a": 4, "b": [5, 6]}],
        [OrderedDict(z=1, a=2), OrderedDict(z=3, a=4)],
        [UserDict(a=1), UserDict(a=2)],
        [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
        [(1, "x"), (2, "y")],
        [Point(1, 2.0), Point(3, 4.0)],
        [[1, 2], [3, 4]],
        [UserList([1]), UserList([2])],
        [range(2), range(2)],
        [((1, [2]), {"a": (3,)}), ((4, [5]), {"a": (6,)})],
        [[], []],
        [{}, {}],
    ]
    return (
        [kind(c(s)) for s in samples],
        error(lambda: c([[1], [1, 2]])),
        error(lambda: c([None])),
        error(lambda: c([object]))[0],
        error(lambda: c([{"a": 1}, {}]))[0],
        error(lambda: c([{1, 2}])),
    )


@scenario
def converting(torch):
    c = torch.utils.data.default_convert
    samples = [
        0,
        1.5,
        "a",
        None,
        np.array([0, 1]),
        np.float32(2),
        np.str_("a"),
        np.array(["a"]),
        [np.array(1), 2],
        (np.array(1), 2),
        {"a": np.array(1.5)},
        Point(np.array(1), 2),
        OrderedDict(a=np.array(1)),
        [[np.array(1)]],
        range(2),
        UserList([np.array(1)]),
        b"a",
    ]
    return [kind(c(s)) for s in samples]


@scenario
def a_map_of_ones_own(torch):
    collate = __import__(f"{torch.__name__}.utils.data._utils.collate", fromlist=["collate"]).collate
    functions = {
        int: lambda batch, *, collate_fn_map: sum(batch),
        (str, bytes): lambda batch, *, collate_fn_map: len(batch),
    }
    return collate([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], collate_fn_map=functions), error(
        lambda: collate([1.5], collate_fn_map=functions)
    )


test_collate = scenario.test()


def test_a_batch_is_a_copy():
    samples = [np.zeros(2), np.zeros(2)]
    batch = default_collate(samples)
    samples[0][:] = 5
    assert batch.tolist() == [[0, 0], [0, 0]]
    x = tl.zeros(2)
    batch = default_collate([x, x])
    x[...] = 5
    assert batch.tolist() == [[0, 0], [0, 0]]


def test_values_on_the_host_are_stacked_there(stats):
    samples = [tl.arange(3) for _ in range(4)]
    for s in samples:
        s.tolist()
    before = stats()
    assert default_collate(samples).tolist() == [[0, 1, 2]] * 4
    assert stats() == before


@pytest.mark.parametrize("write", [False, True])
def test_views_with_a_storage_that_moved_on(write):
    base = tl.zeros(4, 2)
    rows = [base[i] for i in range(4)]
    if write:
        base[1] = 7
    assert default_collate(rows).tolist() == [[0, 0], [7 * write] * 2, [0, 0], [0, 0]]
