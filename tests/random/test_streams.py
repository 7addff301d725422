"""Random streams against torch's: every sampler, sizes around the blocks of 16, interleaved draws, states."""

import hashlib
import sys
import threading

import numpy as np
import pytest

from tests.scenarios import Scenarios, error_of
from torchlike.random import box_muller
from torchlike.random.rounding import fma32
from torchlike.random.streams import Stream

scenario = Scenarios("random", tolerance=0.0)
SIZES = (0, 1, 2, 15, 16, 17, 31, 32, 33)
DIGESTED = (100, 1000, 20000)


def digest(x):
    """The numbers' bits in a few letters."""
    return hashlib.sha256(np.ascontiguousarray(np.array(x.tolist())).tobytes()).hexdigest()[:16]


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
    "complex_normal": lambda t, n: t.view_as_real(t.empty(n, dtype=t.complex128).normal_(1, 2)),
    "randn64": lambda t, n: t.randn(n, dtype=t.float64),
    "normal64": lambda t, n: t.empty(n, dtype=t.float64).normal_(2, 3),
    "normal_strided": lambda t, n: t.empty(n, 2)[:, 0].normal_(2, 3),
    "normal_of_tensors": lambda t, n: t.normal(t.full((n,), 0.3), t.full((n,), 1.7)),
    "normal_of_means": lambda t, n: t.normal(t.full((n,), 0.3), 0.7),
    "normal_of_deviations": lambda t, n: t.normal(1.5, t.full((n,), 0.7)),
    "uniform64": lambda t, n: t.empty(n, dtype=t.float64).uniform_(-0.3, 0.7),
    "exponential64": lambda t, n: t.empty(n, dtype=t.float64).exponential_(1.5),
    "exponential16": lambda t, n: t.empty(n, dtype=t.float16).exponential_(1.5).float(),
    "cauchy64": lambda t, n: t.empty(n, dtype=t.float64).cauchy_(1, 2),
    "log_normal64": lambda t, n: t.empty(n, dtype=t.float64).log_normal_(1, 2),
    "randint_all": lambda t, n: t.empty(n, dtype=t.int64).random_(-(2**63), None),
    "random_from": lambda t, n: t.empty(n, dtype=t.int16).random_(-3, None),
    "poisson_few": lambda t, n: t.poisson(t.full((n,), 2.5)),
    "binomial": lambda t, n: t.binomial(t.full((n,), 9.0), t.full((n,), 0.7)),
    "binomial_many": lambda t, n: t.binomial(t.full((n,), 300.0, dtype=t.float64), t.full((n,), 0.2, dtype=t.float64)),
    "gamma": lambda t, n: t._standard_gamma(t.full((n,), 0.3)),
    "gamma64": lambda t, n: t._standard_gamma(t.full((n,), 3.5, dtype=t.float64)),
    "dirichlet": lambda t, n: t._sample_dirichlet(t.full((n, 3), 0.7)),
}
for _name, _sampler in SAMPLERS.items():

    def _all_sizes(torch, sampler=_sampler):
        torch.manual_seed(3)
        return [sampler(torch, n) for n in SIZES] + [digest(sampler(torch, n)) for n in DIGESTED] + [torch.rand(2)]

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
def every_layout(torch):
    """Numbers go into a tensor in the order of its memory where it is dense, else of its elements."""
    out = []
    for make in (
        lambda: torch.empty(()), lambda: torch.empty(0, 3), lambda: torch.empty(5, 4).t(), lambda: torch.empty(3, 4, 5).permute(2, 0, 1),
        lambda: torch.empty(6, 10)[:, ::2], lambda: torch.empty(8, 3)[:, 1], lambda: torch.empty(2, 3, 2, 2).contiguous(memory_format=torch.channels_last),
    ):  # fmt: skip
        torch.manual_seed(1)
        x = make().fill_(0.5)
        drawn = [make().normal_(1, 2), make().uniform_(-1, 2), make().bernoulli_(0.3), make().random_(0, 9), make().geometric_(0.4), torch.randn_like(x),
                 torch.rand_like(x), torch.randint_like(x, 3, 9), torch.bernoulli(x), torch.poisson(x), torch.normal(x, x)]  # fmt: skip
        out.append([(list(t.stride()), digest(t)) for t in drawn])
    return out, torch.rand(1)


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
    return first, again, torch.rand(1), digest(state), torch.initial_seed()


@scenario
def states_after_every_sampler(torch):
    """The state, all 5056 bytes of it, after each sampler and where a pair of normal numbers is half used."""
    out = {}
    for name, sampler in SAMPLERS.items():
        for n in (1, 3, 700):
            torch.manual_seed(n)
            sampler(torch, n)
            out[f"{name} {n}"] = digest(torch.get_rng_state())
    return out


@scenario
def a_fresh_state(torch):
    return [digest(torch.Generator().manual_seed(k).get_state()) for k in (0, 2**40)], torch.Generator().get_state().shape


@scenario
def refusals(torch):
    int64, complex64 = torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.complex64)
    ones = torch.ones(2)
    return [error_of(f) for f in (
        int64.normal_, int64.exponential_, int64.cauchy_, int64.log_normal_, complex64.random_, complex64.bernoulli_,
        lambda: torch.randperm(300, dtype=torch.uint8), lambda: torch.randperm(3000, dtype=torch.float16), lambda: torch.randperm(3, dtype=torch.bool),
        lambda: torch.binomial(ones.half(), ones.half()), lambda: torch.binomial(ones, ones.double()), lambda: torch.binomial(int64, ones),
        lambda: torch.poisson(-ones), lambda: torch._standard_gamma(int64), lambda: ones.cauchy_(0, -1), lambda: ones.uniform_(1, 0),
        lambda: int64.byte().random_(-3, 100), lambda: int64.char().random_(0, 300), lambda: ones.half().random_(0, 2**20), lambda: int64.bool().random_(9),
        lambda: torch.randint(0, 2, (2,), dtype=torch.complex64), lambda: torch.bernoulli(int64), lambda: torch.bernoulli(int64, 0.5),
        lambda: torch.normal(0.0, 1.0, (2,), dtype=torch.int32), lambda: int64.to(torch.uint16).random_(), lambda: torch.randperm(300, dtype=torch.bfloat16),
    )]  # fmt: skip


@scenario
def integers_in_every_dtype(torch):
    """Bounds that a floating-point dtype does not have move inwards."""
    out = []
    for name in ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"):
        dtype = getattr(torch, name)
        torch.manual_seed(2)
        drawn = [torch.randint(0, 2, (5,), dtype=dtype), torch.empty(5, dtype=dtype).random_(), torch.empty(5, dtype=dtype).random_(0, None)]
        if name not in ("float16", "int8", "int16", "uint8", "bool"):
            drawn += [torch.empty(50, dtype=dtype).random_(*bounds) for bounds in ((0, 2**20), (0, 2**31 - 1), (-(2**30) - 1, 2**30 + 1))]
        out.append([digest(t) for t in drawn])
    return out


@scenario
def complex_numbers(torch):
    torch.manual_seed(0)
    return [torch.view_as_real(t) for t in (torch.normal(2.0, 3.0, (5,), dtype=torch.complex64), torch.rand(3, dtype=torch.complex128), torch.randn(20, dtype=torch.complex64))]


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
    torch = pytest.importorskip("torch", reason="compares millions of draws with real torch, which is not installed")
    import torchlike

    torch.manual_seed(1)
    torchlike.manual_seed(1)
    for n in ((1 << 20) + 5, 70_000, 1 << 17, 5000):  # the first compiles, the others are then compiled blocks and padded ones
        assert np.array_equal(torch.randn(n).numpy(), torchlike.randn(n).numpy()), n
        assert np.array_equal(torch.empty(n).normal_(0.3, 1.7).numpy(), torchlike.empty(n).normal_(0.3, 1.7).numpy()), n
        assert np.array_equal(torch.randperm(n).numpy(), torchlike.randperm(n).numpy()), n
        assert np.array_equal(torch.empty(n).uniform_(-0.1, 0.3).numpy(), torchlike.empty(n).uniform_(-0.1, 0.3).numpy()), n
        assert np.array_equal(torch.empty(n).bernoulli_(0.2).numpy(), torchlike.empty(n).bernoulli_(0.2).numpy()), n
        p = np.linspace(0, 1, n, dtype=np.float32)
        assert np.array_equal(torch.bernoulli(torch.from_numpy(p)).numpy(), torchlike.bernoulli(torchlike.from_numpy(p)).numpy()), n


def test_xla_and_numpy_give_the_same_normals():
    u = (np.random.default_rng(0).integers(0, 1 << 24, box_muller.BLOCK) * 2.0**-24).astype(np.float32)
    u[:2] = 0, 1 - 2.0**-24
    run = box_muller._compiled()
    if run is None:
        pytest.skip("XLA's multiply-adds are not fused on this machine, so NumPy draws all normals")
    for mean, std in ((0, 1), (0.3, 1.7), (-2, 0.02)):
        assert np.array_equal(np.asarray(run(box_muller._with_scale(u, mean, std))), fma32(box_muller._by_numpy(u), std, mean))


@pytest.mark.parametrize("draw", [lambda s: s.poisson(np.full(40, 3.5)), lambda s: s.normal(5, 0.0, 1.0, np.float32), lambda s: s.normal(9000, 0.0, 1.0, np.float32)])
def test_draws_of_threads_do_not_mix(draw):
    def draws(stream, times):
        return [draw(stream).tobytes() for _ in range(times)]

    expected, stream, found = draws(Stream(5), 40), Stream(5), []
    threads = [threading.Thread(target=lambda: found.extend(draws(stream, 10))) for _ in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    assert sorted(found) == sorted(expected)


def test_states_cross_over():
    torch = pytest.importorskip("torch", reason="hands states to real torch, which is not installed")
    import torchlike

    for name, sampler in SAMPLERS.items():
        torchlike.manual_seed(5)
        sampler(torchlike, 33)
        torchlike.randn(1)
        state = np.array(torchlike.get_rng_state().numpy())
        torch.set_rng_state(torch.from_numpy(state))
        assert torch.randn(3).tolist() == torchlike.randn(3).tolist(), name
        sampler(torch, 31)
        state = torch.get_rng_state().numpy()
        torchlike.set_rng_state(torchlike.from_numpy(state))
        assert np.array_equal(torchlike.get_rng_state().numpy(), state), name
        assert torch.rand(700).tolist() == torchlike.rand(700).tolist(), name


def test_a_thread_can_have_its_own_generator():
    import torchlike
    from torchlike.random import thread_generator, thread_safe_generator

    expected = torchlike.rand(3, generator=torchlike.Generator().manual_seed(9)).tolist()
    torchlike.manual_seed(0)
    before = torchlike.get_rng_state().tolist()
    got = []

    def work():
        with thread_generator(torchlike.Generator().manual_seed(9)) as g:
            assert thread_safe_generator() is g
            got.append(torchlike.rand(3).tolist())
        assert thread_safe_generator() is None

    thread = threading.Thread(target=work)
    with thread_generator(torchlike.Generator()):
        thread.start()
        thread.join()
    assert got == [expected]
    assert torchlike.get_rng_state().tolist() == before and thread_safe_generator() is None
