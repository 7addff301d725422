"""``DataLoader``: every argument, streams, workers, errors."""

import gc
import threading
import time
import warnings

import pytest

import torchlike as tl
from tests.data.test_datasets import error, squares, stream
from tests.scenarios import Scenarios
from torchlike.utils import data

scenario = Scenarios("data_loader")


def warned(f):
    """Result of ``f`` and the first words of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = f()
    return result, [[w.category.__name__, str(w.message)[:60]] for w in caught]


@scenario
def batches(torch):
    L = torch.utils.data.DataLoader
    d = squares(torch, 10)
    return (
        list(L(d, batch_size=3)),
        list(L(d, batch_size=3, drop_last=True)),
        list(L(d, batch_size=None)),
        len(L(d, batch_size=3)),
        list(L(d, sampler=[3, 1], batch_size=2)),
        list(L(d, batch_sampler=[[1, 2], [3]])),
        len(L(d, batch_sampler=[[1, 2], [3]])),
        list(L(d, batch_size=4, collate_fn=sum)),
        L(d).batch_size,
        list(L({"a": 1, "b": 2}, sampler=["b", "a"])),
    )


@scenario
def tensor_datasets(torch):
    d = torch.utils.data
    x, y = torch.arange(12.0).reshape(6, 2), torch.arange(6)
    whole = d.TensorDataset(x, y)
    part = d.Subset(d.Subset(whole, [5, 3, 1, 0]), range(1, 4))
    return (
        list(d.DataLoader(whole, batch_size=4)),
        list(d.DataLoader(part, batch_size=2)),
        list(d.DataLoader(whole, batch_size=4, sampler=[-1, 2])),
        error(lambda: list(d.DataLoader(whole, sampler=[6])))[0],
        list(d.DataLoader(whole, batch_size=None))[1],
        list(d.DataLoader(d.TensorDataset(x.t(), x.t()), batch_size=2)),
    )


@scenario
def datasets_that_give_batches(torch):
    class Many(torch.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitems__(self, indices):
            return [10 * i for i in indices]

    return list(torch.utils.data.DataLoader(Many(), batch_size=2))


@scenario
def streams(torch):
    L = torch.utils.data.DataLoader
    return (
        list(L(stream(torch, 5), batch_size=2)),
        list(L(stream(torch, 5), batch_size=2, drop_last=True)),
        list(L(stream(torch, 3), batch_size=None)),
        len(L(stream(torch, 5, 5), batch_size=2)),
        len(L(stream(torch, 5, 5), batch_size=2, drop_last=True)),
        error(lambda: len(L(stream(torch, 3))))[0],
        list(L(stream(torch, 4), batch_size=2, shuffle=False)),
    )


@scenario
def a_stream_longer_than_it_said(torch):
    loader = torch.utils.data.DataLoader(stream(torch, 4, 2), batch_size=1)
    return len(loader), warned(lambda: list(loader))[1][:1]


@scenario
def wrong_arguments(torch):
    def attempt(dataset, **kwargs):
        return error(lambda: torch.utils.data.DataLoader(dataset, **kwargs))

    d, s = squares(torch, 3), stream(torch, 3)
    given = [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"num_workers": 1, "prefetch_factor": -1},
        {"persistent_workers": True},
        {"sampler": [1], "shuffle": True},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_sampler": [[1]], "drop_last": True},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"multiprocessing_context": "fork"},
        {"multiprocessing_context": "bad", "num_workers": 1},
        {"multiprocessing_context": 3, "num_workers": 1},
        {"multiprocessing_context": "spawn", "num_workers": 1},
    ]
    return [attempt(d, **k) for k in given] + [
        attempt(s, shuffle=True),
        attempt(s, sampler=[1]),
        attempt(s, batch_sampler=[[1]]),
    ]


@scenario
def fixed_attributes(torch):
    loader = torch.utils.data.DataLoader(squares(torch, 3))
    names = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
    loader.timeout = 0
    return [error(lambda n=n: setattr(loader, n, None)) for n in names]


@scenario
def pinning_without_an_accelerator(torch):
    return warned(lambda: list(torch.utils.data.DataLoader(squares(torch, 2), pin_memory=True)))


@scenario
def an_iterator_is_its_own_iterator(torch):
    it = iter(torch.utils.data.DataLoader(squares(torch, 3)))
    return iter(it) is it, next(it), list(it), error(lambda: next(it))[0], len(it)


@scenario
def errors_of_a_dataset_pass_through(torch):
    class Bad(torch.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            raise ValueError("bad sample")

    return error(lambda: list(torch.utils.data.DataLoader(Bad()))), torch.utils.data.get_worker_info()


@scenario
def more_workers_than_processors(torch):
    return warned(lambda: torch.utils.data.DataLoader(squares(torch, 2), num_workers=5000).num_workers)


test_loader = scenario.test()


# -- workers: torch's are processes, so these say what is documented here -------------------------------------------


class Slow(data.Dataset):
    """Even samples take longer."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        time.sleep(0.01 * (i % 2 == 0))
        return i, data.get_worker_info().id


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_workers_keep_the_order():
    got = list(data.DataLoader(Slow(), batch_size=1, num_workers=3))
    assert [i.item() for i, _ in got] == list(range(12))
    assert [w.item() for _, w in got] == [0, 1, 2] * 4


def test_out_of_order():
    got = list(data.DataLoader(Slow(), batch_size=1, num_workers=2, in_order=False))
    assert sorted(i.item() for i, _ in got) == list(range(12))


class Fails(data.Dataset):
    def __init__(self, kind):
        self.kind = kind

    def __len__(self):
        return 4

    def __getitem__(self, i):
        if i == 1:
            raise self.kind("deep inside")
        return i


@pytest.mark.parametrize("kind", [ValueError, KeyError, KeyboardInterrupt])
def test_errors_bring_the_workers_traceback(kind):
    it = iter(data.DataLoader(Fails(kind), num_workers=2))
    assert next(it).item() == 0
    with pytest.raises(kind) as caught:
        next(it)
    text = str(caught.value)
    assert text.startswith(f"Caught {kind.__name__} in DataLoader worker process 1.\nOriginal Traceback")
    assert "deep inside" in text and "__getitem__" in text
    assert [x.item() for x in it] == [2, 3]


def test_errors_that_cannot_be_made_of_a_text():
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(a, b)

    class Bad(Fails):
        def __getitem__(self, i):
            raise Odd(1, 2)

    with pytest.raises(RuntimeError, match="Caught Odd in DataLoader worker process 0"):
        next(iter(data.DataLoader(Bad(Odd), num_workers=1)))


def test_worker_info_and_seeds():
    tl.manual_seed(0)
    seen = {}

    def start(worker_id):
        info = data.get_worker_info()
        assert info.id == worker_id and info.num_workers == 2 and info.dataset is not dataset
        seen[worker_id] = info.seed

    dataset = Slow()
    list(data.DataLoader(dataset, batch_size=6, num_workers=2, worker_init_fn=start))
    tl.manual_seed(0)
    base = tl.empty((), dtype=tl.int64).random_().item()
    assert seen == {0: base, 1: base + 1}
    assert data.get_worker_info() is None


class Range(data.IterableDataset):
    """The example of torch's documentation: worker_init_fn gives each worker's copy its part."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def __iter__(self):
        return iter(range(self.start, self.end))


def shard(worker_id):
    info = data.get_worker_info()
    d = info.dataset
    size = -(-(d.end - d.start) // info.num_workers)
    d.start = d.start + worker_id * size
    d.end = min(d.start + size, d.end)


def numbers(loader):
    return [x for b in loader for x in b.tolist()]


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_streams_in_workers():
    d = Range(3, 7)
    assert numbers(data.DataLoader(d, num_workers=2)) == [3, 3, 4, 4, 5, 5, 6, 6]
    assert numbers(data.DataLoader(d, num_workers=2, worker_init_fn=shard)) == [3, 5, 4, 6]
    assert numbers(data.DataLoader(d, num_workers=12, worker_init_fn=shard)) == [3, 4, 5, 6]
    assert (d.start, d.end) == (3, 7)


def test_persistent_workers_keep_their_copies():
    loader = data.DataLoader(Range(0, 4), num_workers=2, worker_init_fn=shard, persistent_workers=True)
    first = iter(loader)
    assert [numbers(first), numbers(loader)] == [[0, 2, 1, 3]] * 2
    assert iter(loader) is first
    it = iter(loader)
    next(it)  # broken off
    assert numbers(loader) == [0, 2, 1, 3]


def alive():
    return [t for t in threading.enumerate() if t.name.startswith("torchlike_data")]


def test_workers_end_with_their_loader():
    it = iter(data.DataLoader(Slow(), num_workers=2))
    next(it)
    assert len(alive()) >= 2
    del it
    gc.collect()
    deadline = time.monotonic() + 5
    while alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive()


def test_timeout():
    class Stuck(Slow):
        def __getitem__(self, i):
            time.sleep(1)
            return i

    with pytest.raises(RuntimeError, match=r"timed out after 0\.05 seconds"):
        next(iter(data.DataLoader(Stuck(), num_workers=1, timeout=0.05)))
    with pytest.raises(AssertionError, match="timeout == 0"):
        next(iter(data.DataLoader(Stuck(), timeout=1)))


def test_errors_at_the_start_of_a_worker():
    def bad(worker_id):
        raise ValueError("no licence")

    with pytest.raises(ValueError, match="no licence"):
        next(iter(data.DataLoader(Slow(), num_workers=1, worker_init_fn=bad)))


def test_workers_compute_what_they_record():
    """A pending value belongs to the thread that recorded it: batches must come computed."""

    class Computes(Slow):
        def __getitem__(self, i):
            return tl.arange(3) * i

    got = list(data.DataLoader(Computes(), batch_size=6, num_workers=2))
    assert got[1].tolist() == [[0, i, 2 * i] for i in range(6, 12)]


def test_a_trace_ends_at_each_batch(stats):
    x = tl.ones(3)
    for _ in data.DataLoader(squares(tl, 3)):
        x = x + 1
    assert stats()["flushes"] >= 3
    assert x.tolist() == [4, 4, 4]
