"""The engine's story: what is recorded, when it runs, what is compiled, what is freed."""

import gc

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from torchlike import engine
from torchlike.engine import recorder
from torchlike.engine.signature import ScalarArg


class Op:
    """An operator as the engine sees it."""

    def __init__(self, name, function):
        self.name, self.function, self.lowered = name, function, 0

    def lower(self, static, args):
        self.lowered += 1
        plain = [a.value if isinstance(a, ScalarArg) else a for a in args]
        return (self.function(*plain),)


def op(name, function):
    return Op(name, function)


@pytest.fixture
def add():
    return op("add", lambda a, b: a + jnp.asarray(b).astype(a.dtype))


def value(*numbers):
    return engine.from_array(np.array(numbers, np.float32))


def call(o, *operands):
    return engine.record(o, (), operands)[1][0]


def read(v):
    return np.asarray(engine.array_of(v))


def test_recording_runs_nothing_and_knows_the_shape(add, stats):
    y = call(add, value(1, 2), value(3, 4))
    assert y.array is None and y.aval.shape == (2,) and y.aval.dtype == np.float32
    assert stats()["compilations"] == 0
    assert read(y).tolist() == [4, 6]
    assert stats()["compilations"] == 1


def test_a_loop_is_inferred_and_compiled_once(add, stats):
    x = value(1, 2)
    for _ in range(5):
        y = x
        for _ in range(10):
            y = call(add, y, x)
        engine.flush()
    counts = stats()
    assert add.lowered == 1, "one shape inference for fifty equal calls"
    assert counts["recorded"] == 50 and counts["misses"] == 10
    assert counts["compilations"] == 1 and counts["flushes"] == 5


def test_an_operator_is_traced_once_for_equal_operands():
    once = op("once", chex.assert_max_traces(lambda a, b: a * b, n=1))
    x = value(1, 2)
    for _ in range(3):
        assert read(call(once, call(once, x, x), x)).tolist() == [1, 8]
    with pytest.raises(AssertionError):
        call(once, value(1, 2, 3), value(1, 2, 3))  # another shape is another trace


def test_only_what_is_alive_is_returned(add):
    x = value(1)
    y = call(add, x, x)
    z = call(add, y, x)
    del y
    gc.collect()
    engine.flush()
    assert z.array is not None
    w = call(add, x, x)
    del w
    engine.flush()  # nothing alive: nothing to compute


def test_a_number_is_a_constant_first_and_an_input_from_the_second_value_on(add, stats):
    x = value(1)
    results = []
    for lr in (0.1, 0.2, 0.3, 0.4, 0.5):
        results.append(float(read(call(add, call(add, x, lr), 2 * lr))[0]))
    assert np.allclose(results, [1 + 3 * lr for lr in (0.1, 0.2, 0.3, 0.4, 0.5)])
    assert stats()["compilations"] == 2, "both numbers change at once: one program with constants, one with inputs"


def test_numbers_that_stay_are_constants(add, stats):
    x = value(1)
    for lr in (0.1, 0.2, 0.3, 0.4):
        read(call(add, call(add, x, lr), 7.0))
    assert stats()["compilations"] == 2


def test_integers_adapt_too(stats):
    take = op("take", lambda a, i: jax.lax.dynamic_index_in_dim(a, i, 0, keepdims=False))
    x = value(10, 20, 30)
    assert [float(read(call(take, x, i))) for i in range(3)] == [10, 20, 30]
    assert stats()["compilations"] == 2


@pytest.mark.parametrize("pair", [(0.0, -0.0), (1, 1.0), (True, 1)])
def test_numbers_that_are_equal_but_not_the_same(pair):
    kinds = op("kinds", lambda a, n: a * jnp.asarray(n).astype(a.dtype) if not isinstance(n, bool) else a + 100)
    x = value(-1)
    first, second = (read(call(kinds, x, n)) for n in pair)
    expected = [np.float32(-1) + 100 if isinstance(n, bool) else np.float32(-1) * np.float32(n) for n in pair]
    assert np.array_equal(np.signbit([first[0], second[0]]), np.signbit(expected))


def test_buffers_that_nobody_holds_are_donated(add):
    x = call(add, value(1, 2), value(1, 2))
    engine.flush()
    array = x.array
    y = call(add, x, 1.0)
    del x
    engine.flush()
    assert y.array is not None
    assert array.is_deleted(), "the result took the buffer of the value that nobody held"


def test_buffers_that_somebody_holds_are_not_donated(add):
    x = call(add, value(1, 2), value(1, 2))
    engine.flush()
    mine = engine.release(x)
    y = call(add, x, 1.0)
    del x
    engine.flush()
    assert not mine.is_deleted() and read(y).tolist() == [3, 5]


def test_a_shape_error_is_raised_at_the_call_and_leaves_the_trace_usable(add):
    x = value(1, 2)
    y = call(add, x, x)
    with pytest.raises(RuntimeError, match="add"):
        call(add, y, value(1, 2, 3))
    z = call(add, y, x)
    assert read(z).tolist() == [3, 6]


def test_long_traces_are_cut(add, monkeypatch, stats):
    monkeypatch.setattr(recorder, "MAX_TRACE", 50)
    y = x = value(0)
    for _ in range(120):
        y = call(add, y, 1.0)
    assert read(y).tolist() == [120]
    assert stats()["flushes"] == 3
    del x


def test_tracers_apply_directly(add):
    def f(a):
        v = engine.from_array(a)
        return engine.array_of(call(add, v, v))

    assert jax.jit(f)(jnp.ones(2)).tolist() == [2, 2]
    assert jax.grad(lambda a: f(a).sum())(jnp.ones(2)).tolist() == [2, 2]
    assert jax.vmap(f)(jnp.ones((3, 2))).shape == (3, 2)


def test_int64_and_float64_are_real_and_jax_settings_stay(add):
    before = jax.config.jax_enable_x64
    x = engine.from_array(np.array([2**40], np.int64))
    assert read(call(add, x, x)).tolist() == [2**41]
    y = engine.from_array(np.array([1e-300]))
    assert read(call(add, y, y)).dtype == np.float64
    assert jax.config.jax_enable_x64 == before


def test_an_interrupt_during_compilation_leaves_the_trace_usable(add, monkeypatch):
    x = value(5)
    y = call(add, x, x)
    from torchlike.engine import program

    build = program.build

    def interrupted(*args):
        monkeypatch.setattr(program, "build", build)
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "build", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read(y)
    assert read(y).tolist() == [10]


def test_a_failed_program_names_the_operator_and_the_line(add, monkeypatch):
    x = value(5)
    y = call(add, x, x)
    from torchlike.engine import program

    build = program.build

    def broken(*args):
        monkeypatch.setattr(program, "build", build)
        raise MemoryError("no memory")

    monkeypatch.setattr(program, "build", broken)
    with pytest.raises(MemoryError):
        read(y)
    with pytest.raises(RuntimeError, match=r"result of add at .*test_recording.py:\d+"):
        read(y)
    assert read(call(add, x, x)).tolist() == [10], "the recorder starts afresh"


def test_the_log_says_which_line_differs(add, caplog):
    x = value(1)
    read(call(add, x, x))
    with caplog.at_level("INFO", logger="torchlike.compile"):
        read(call(add, x, 3.5))
    assert "add" in caplog.text and "test_recording.py" in caplog.text


def test_threads_record_their_own_traces_and_share_values(add):
    import threading

    x = value(1)
    pending = call(add, x, x)
    seen = {}

    def work(i):
        y = pending
        for _ in range(20):
            y = call(add, y, 1.0)
        seen[i] = float(read(y)[0])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == {i: 22.0 for i in range(4)}
