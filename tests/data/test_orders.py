"""With one seed, samplers, splits and loaders give torch's orders and leave generators where torch leaves them."""

import itertools

import torchlike
from tests.scenarios import Scenarios, plain

scenario = Scenarios("data_orders", tolerance=0)


def state(torch, generator=None):
    """The next draw shows how far a generator was moved on."""
    return torch.randint(0, 1 << 24, (2,), generator=generator).tolist()


@scenario
def random_sampler(torch):
    options = (
        {},
        {"num_samples": 3},
        {"num_samples": 100},
        {"replacement": True},
        {"replacement": True, "num_samples": 70},
    )
    found = {}
    for n, kwargs in itertools.product((1, 7, 40), options):
        torch.manual_seed(n)
        sampler = torch.utils.data.RandomSampler(range(n), **kwargs)
        found[f"{n} {kwargs}"] = [list(sampler), list(sampler), state(torch), len(sampler)]
    return found


@scenario
def random_sampler_with_a_generator(torch):
    options = (
        {},
        {"num_samples": 9},
        {"num_samples": 14},
        {"replacement": True},
        {"replacement": True, "num_samples": 64},
    )
    found = {}
    for kwargs in options:
        generator = torch.Generator().manual_seed(3)
        found[f"{kwargs}"] = [
            list(torch.utils.data.RandomSampler(range(7), generator=generator, **kwargs)),
            state(torch, generator),
        ]
    return found


@scenario
def subset_random_sampler(torch):
    torch.manual_seed(1)
    return list(torch.utils.data.SubsetRandomSampler([5, 3, 9, 11, 2])), state(torch)


@scenario
def weighted_random_sampler(torch):
    found = []
    for replacement in (True, False):
        torch.manual_seed(2)
        sampler = torch.utils.data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 5, replacement)
        found.append([list(sampler), list(sampler), state(torch), len(sampler)])
    return found


@scenario
def distributed_sampler(torch):
    found = {}
    for n, shuffle, drop_last, epoch in itertools.product((3, 10, 12), (True, False), (True, False), (0, 3)):
        parts = []
        for rank in range(4):
            sampler = torch.utils.data.DistributedSampler(
                range(n), 4, rank, shuffle=shuffle, seed=5, drop_last=drop_last
            )
            sampler.set_epoch(epoch)
            parts.append([*sampler, len(sampler)])
        found[f"{n} {shuffle} {drop_last} {epoch}"] = parts
    return found


@scenario
def random_split(torch):
    split = torch.utils.data.random_split
    torch.manual_seed(3)
    found = [list(part.indices) for part in split(range(10), [3, 7])]
    found += [
        list(part.indices) for part in split(range(11), [0.5, 0.3, 0.2], generator=torch.Generator().manual_seed(42))
    ]
    return found, state(torch)


LOADERS = (
    {"shuffle": True},
    {"shuffle": True, "drop_last": True},
    {"shuffle": False},
    {"shuffle": True, "batch_size": None},
)


def epochs(torch, workers=0):
    found = {}
    for kwargs in LOADERS:
        torch.manual_seed(4)
        loader = torch.utils.data.DataLoader(list(range(10)), **{"batch_size": 4, **kwargs}, num_workers=workers)
        found[f"{kwargs}"] = [list(loader), list(loader), state(torch)]
        generator = torch.Generator().manual_seed(0)
        loader = torch.utils.data.DataLoader(
            list(range(10)), **{"batch_size": 4, **kwargs}, num_workers=workers, generator=generator
        )
        found[f"{kwargs} of a generator"] = [list(loader), state(torch, generator)]
    return found


scenario(epochs)


@scenario
def a_broken_off_loader(torch):
    torch.manual_seed(5)
    batch = next(iter(torch.utils.data.DataLoader(range(10), batch_size=2, shuffle=True)))
    return batch, state(torch)


@scenario
def shuffle_and_dropout_share_the_stream(torch):
    """What a training script draws between batches does not change the order, nor the order what it draws."""
    torch.manual_seed(6)
    found = []
    for batch in torch.utils.data.DataLoader(range(6), batch_size=2, shuffle=True):
        found.append([batch, torch.rand(2)])
    return found


test_orders = scenario.test()


def test_workers_change_no_order():
    """Nor the draws, as in torch (not asked here: its workers are processes, and forking beside JAX is not safe)."""
    assert plain(epochs(torchlike, 2)) == plain(epochs(torchlike, 0))
