"""Datasets, samplers and their errors, as torch has them."""

from tests.scenarios import Scenarios

scenario = Scenarios("data_datasets")


def error(f):
    """Class and first sentence of the error."""
    try:
        f()
    except Exception as e:
        return [type(e).__name__, str(e).split("\n")[0]]
    return "no error"


def squares(torch, n):
    class Squares(torch.utils.data.Dataset):
        def __getitem__(self, i):
            if not -n <= i < n:
                raise IndexError(i)
            return i * i

        def __len__(self):
            return n

    return Squares()


def stream(torch, n, length=None):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(n))

    class Sized(Stream):
        def __len__(self):
            return length

    return Stream() if length is None else Sized()


@scenario
def bare_dataset(torch):
    d = torch.utils.data
    return error(lambda: d.Dataset()[0]), error(lambda: len(d.Dataset())), error(lambda: iter(d.Sampler()))


@scenario
def tensor_dataset(torch):
    x, y = torch.arange(6.0).reshape(3, 2), torch.tensor([5, 6, 7])
    d = torch.utils.data.TensorDataset(x, y)
    return len(d), d[1], d[-1], d[0:2], error(lambda: torch.utils.data.TensorDataset(x, y[:2]))


@scenario
def concat(torch):
    d = squares(torch, 3) + squares(torch, 2)
    again = torch.utils.data.ConcatDataset([d, squares(torch, 4)])
    return (
        type(d).__name__,
        len(d),
        [d[i] for i in range(5)],
        d[-1],
        d[-5],
        d.cumulative_sizes,
        error(lambda: d[-6]),
        error(lambda: d[5]),
        len(again),
        again[6],
        error(lambda: torch.utils.data.ConcatDataset([])),
        error(lambda: torch.utils.data.ConcatDataset([stream(torch, 2)])),
    )


@scenario
def chain(torch):
    d = stream(torch, 2) + stream(torch, 3)
    wrong = torch.utils.data.ChainDataset([stream(torch, 2), [1]])
    sized = torch.utils.data.ChainDataset([stream(torch, 2, 2), stream(torch, 3, 3)])
    return type(d).__name__, list(d), error(lambda: list(wrong)), len(sized), error(lambda: len(d))


@scenario
def stack(torch):
    d = torch.utils.data
    pair, named = d.StackDataset(squares(torch, 3), [5, 6, 7]), d.StackDataset(a=squares(torch, 3), b=[5, 6, 7])
    subset = d.Subset(squares(torch, 10), [9, 8, 7])
    with_batches = d.StackDataset(subset, squares(torch, 3))
    named_batches = d.StackDataset(a=subset, b=squares(torch, 3))

    class Wrong(d.Dataset):
        def __len__(self):
            return 3

        def __getitems__(self, indices):
            return [0]

    return (
        len(pair),
        pair[1],
        named[2],
        pair.__getitems__([0, 2]),
        named.__getitems__([0, 2]),
        with_batches.__getitems__([1, 2]),
        named_batches.__getitems__([1, 2]),
        error(lambda: d.StackDataset()),
        error(lambda: d.StackDataset([1], [1, 2])),
        error(lambda: d.StackDataset([1], a=[1])),
        error(lambda: d.StackDataset(Wrong()).__getitems__([0, 1])),
    )


@scenario
def subset(torch):
    d = torch.utils.data
    s = d.Subset(squares(torch, 10), [2, 4, 6])
    x = torch.arange(5)

    class Half(d.Subset):
        def __getitem__(self, i):
            return 0

    return (
        len(s),
        s[1],
        s.__getitems__([0, 2]),
        d.Subset(s, [2])[0],
        d.Subset(d.TensorDataset(x), [1, 2, 3])[[0, 2]],
        error(lambda: Half(x, [0])),
        error(lambda: s[3]),
    )


@scenario
def splits(torch):
    split = torch.utils.data.random_split
    sizes = [len(p) for p in split(range(10), [0.33, 0.33, 0.34])]
    return (
        sizes,
        [len(p) for p in split(range(100), [0.7, 0.2, 0.1])],
        [len(p) for p in split(range(3), [1, 1, 1])],
        error(lambda: split(range(3), [1, 1])),
        error(lambda: split(range(3), [-0.5, 1.5])),
        error(lambda: split(range(3), [0.5, 0.4])),
    )


@scenario
def samplers(torch):
    d = torch.utils.data
    batches = [
        list(d.BatchSampler(range(n), size, drop)) for n in (0, 5, 6) for size in (2, 3, 7) for drop in (True, False)
    ]
    lengths = [len(d.BatchSampler(range(n), 3, drop)) for n in (0, 5, 6) for drop in (True, False)]
    return list(d.SequentialSampler("abc")), len(d.SequentialSampler("abc")), batches, lengths


@scenario
def errors_of_samplers(torch):
    d = torch.utils.data
    return [
        error(f)
        for f in (
            lambda: d.BatchSampler(range(3), 0, False),
            lambda: d.BatchSampler(range(3), 2.5, False),
            lambda: d.BatchSampler(range(3), True, False),
            lambda: d.BatchSampler(range(3), 2, 1),
            lambda: d.RandomSampler(range(3), replacement=1),
            lambda: d.RandomSampler(range(3), num_samples=0),
            lambda: d.RandomSampler([]),
            lambda: d.WeightedRandomSampler([1.0], 0),
            lambda: d.WeightedRandomSampler([1.0], 1, replacement=None),
            lambda: d.WeightedRandomSampler([[1.0]], 1),
            lambda: d.DistributedSampler(range(3), 2, 2),
            lambda: d.DistributedSampler(range(3), 2, -1),
        )
    ]


test_datasets = scenario.test()
