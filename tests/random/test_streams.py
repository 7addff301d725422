"""Random streams against torch's: every sampler, sizes around the blocks of 16, interleaved draws, states."""

from tests.scenarios import Scenarios, error_of

scenario = Scenarios("random", tolerance=0.0)
SIZES = (0, 1, 2, 15, 16, 17, 31, 32, 33, 100)

SAMPLERS = {
    "rand": lambda t, n: t.rand(n),
    "rand64": lambda t, n: t.rand(n, dtype=t.float64),
    "rand16": lambda t, n: t.rand(n, dtype=t.float16).float(),
    "randn": lambda t, n: t.randn(n),
    "randn16": lambda t, n: t.randn(n, dtype=t.bfloat16).float(),
    "normal": lambda t, n: t.empty(n).normal_(2, 3),
    "uniform": lambda t, n: t.empty(n).uniform_(-0.3, 0.7),
    "uniform16": lambda t, n: t.empty(n, dtype=t.float16).uniform_(-2, 3).float(),
    "randint": lambda t, n: t.randint(-5, 10, (n,)),
    "randint_wide": lambda t, n: t.randint(0, 2**40, (n,)),
    "randint_28_bits": lambda t, n: t.randint(0, 2**28, (n,)),
    "randperm": lambda t, n: t.randperm(n),
    "bernoulli": lambda t, n: t.bernoulli(t.full((n,), 0.3)),
    "bernoulli_in_place": lambda t, n: t.empty(n).bernoulli_(0.3),
    "exponential": lambda t, n: t.empty(n).exponential_(1.5),
    "geometric": lambda t, n: t.empty(n).geometric_(0.3),
    "cauchy": lambda t, n: t.empty(n).cauchy_(1, 2),
    "log_normal": lambda t, n: t.empty(n).log_normal_(1, 2),
    "random": lambda t, n: t.empty(n, dtype=t.int64).random_(),
    "random_uint8": lambda t, n: t.empty(n, dtype=t.uint8).random_(),
    "random_to": lambda t, n: t.empty(n).random_(7),
    "poisson": lambda t, n: t.poisson(t.full((n,), 12.5)),
    "complex": lambda t, n: t.view_as_real(t.randn(n, dtype=t.complex64)),
}
for _name, _sampler in SAMPLERS.items():

    def _all_sizes(torch, sampler=_sampler):
        torch.manual_seed(3)
        return [sampler(torch, n) for n in SIZES] + [torch.rand(2)]

    scenario.all[_name] = _all_sizes


@scenario
def interleaved(torch):
    torch.manual_seed(11)
    return [torch.randn(3), torch.rand(2), torch.randn(2), torch.randn(17), torch.randint(0, 9, (3,)), torch.randn(1), torch.randn(4, 5).t().contiguous()]


@scenario
def shapes_and_layouts(torch):
    torch.manual_seed(0)
    x = torch.empty(4, 5).t()
    return [torch.randn(2, 3, 4), torch.randn_like(torch.ones(4, 5).t()), x.normal_(), torch.rand_like(torch.ones(3, dtype=torch.float64)), torch.randint_like(torch.ones(3), 10)]


@scenario
def multinomial(torch):
    torch.manual_seed(0)
    w = torch.arange(1.0, 9.0)
    return [torch.multinomial(w, 1), torch.multinomial(w, 5), torch.multinomial(w, 9, replacement=True), torch.multinomial(torch.ones(3, 6), 4),
            error_of(lambda: torch.multinomial(w, 9)), error_of(lambda: torch.multinomial(-w, 1))]  # fmt: skip


@scenario
def states(torch):
    torch.manual_seed(4)
    torch.randn(5)
    state = torch.get_rng_state()
    first = [torch.randn(3), torch.rand(20)]
    torch.set_rng_state(state)
    again = [torch.randn(3), torch.rand(20)]
    with torch.random.fork_rng():
        torch.rand(100)
    return first, again, torch.rand(1), state, torch.initial_seed()


@scenario
def generators(torch):
    g = torch.Generator().manual_seed(42)
    h = torch.Generator()
    h.manual_seed(42)
    a = [torch.rand(3, generator=g), torch.randperm(5, generator=g), torch.randn(20, generator=g)]
    b = [torch.rand(3, generator=h), torch.randperm(5, generator=h), torch.randn(20, generator=h)]
    k = torch.Generator()
    k.set_state(g.get_state())
    return a, b, torch.rand(2, generator=k), torch.rand(2, generator=g), g.initial_seed(), torch.Generator().initial_seed()


@scenario
def seeds(torch):
    out = []
    for seed in (0, 1, 2**31, 2**32 + 5, -1, 2**63):
        torch.manual_seed(seed)
        out.append(torch.rand(2))
    return out, error_of(lambda: torch.manual_seed(2**64))


test_streams = scenario.test()


def test_large_blocks_are_the_same_bits():
    import numpy as np
    import pytest

    torch = pytest.importorskip("torch", reason="compares a million draws with real torch, which is not installed")
    import torchlike

    torch.manual_seed(1)
    torchlike.manual_seed(1)
    n = (1 << 20) + 5
    assert np.array_equal(torch.randn(n).numpy(), torchlike.randn(n).numpy())
