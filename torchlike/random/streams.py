"""torch's CPU random stream: MT19937 words, and the transformations of torch's kernels."""

from __future__ import annotations

import functools
import itertools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike.random import rejection
from torchlike.random.box_muller import normals32, normals64
from torchlike.random.rounding import fma, fma64, libm

BLOCK = 1 << 14  # numbers whose intermediate results stay in a core's cache
LIST = 1 << 12  # a permutation's steps that Python's list does faster than NumPy
_24_BITS = np.uint64((1 << 24) - 1)
_53_BITS = (1 << 53) - 1


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else float(np.exp(x))  # math.exp raises where the C library answers infinity


def _narrow(x: np.ndarray, dtype: Any) -> np.ndarray:
    """float64 numbers in another dtype: half precision by way of float32, as torch's conversion rounds."""
    dtype = np.dtype(dtype)
    return (x.astype(np.float32) if dtype.itemsize == 2 else x).astype(dtype, copy=False)


def _swap_in_rows(p: np.ndarray, steps: np.ndarray) -> int:
    """The swaps ``p[i], p[i + steps[i]]`` in order, all but about the last ``LIST`` of them; how many were done.

    Swaps of a row that touch no place twice can be done at once; rows are short enough beside what is left for most to be so.
    """
    n, done = len(p), 0
    targets = steps + np.arange(n - 1)
    while n - done > LIST:
        width = int(math.sqrt(n - done)) // 4
        rows = (n - done) // 4 // width + 1
        block = targets[done:done + rows * width].reshape(rows, width)
        ordered = np.sort(block, axis=1)
        starts = done + width * np.arange(rows)
        twice = (ordered[:, 1:] == ordered[:, :-1]).any(1) | (ordered[:, 0] < starts + width)
        for start, others, clash in zip(starts.tolist(), block, twice.tolist(), strict=True):
            if clash:
                for i, j in enumerate(others.tolist(), start):
                    p[i], p[j] = p[j], p[i]
            else:
                taken = p[others]
                p[others] = p[start:start + width]
                p[start:start + width] = taken
        done += rows * width
    return done


def _alone(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that no other thread's draws come between, as under torch's mutex of a generator."""

    @functools.wraps(method)
    def locked(self: Stream, *args: Any) -> Any:
        with self._lock:
            return method(self, *args)

    return locked


class Stream:
    """The state of a ``torch.Generator`` on the CPU."""

    def __init__(self, seed: int = 67280421310721) -> None:
        self._lock = threading.RLock()
        self.seed(seed)

    @_alone
    def seed(self, seed: int) -> None:
        """Start the stream that belongs to a seed."""
        self.initial_seed = seed & 0xFFFFFFFFFFFFFFFF
        self._engine = np.random.MT19937()
        self._engine._legacy_seeding(seed & 0xFFFFFFFF)
        self._cached: float | None = None
        self._drawn = False

    def words(self, n: int) -> np.ndarray:
        """``n`` words of 32 bits, as uint64."""
        if not n:
            return np.zeros(0, np.uint64)
        self._drawn = True
        return self._engine.random_raw(n)

    def words64(self, n: int) -> np.ndarray:
        """``n`` words of 64 bits: the first word is the high half."""
        w = self.words(2 * n).reshape(-1, 2)
        return (w[:, 0] << np.uint64(32)) | w[:, 1]

    def unit(self, n: int, dtype: Any) -> np.ndarray:
        """``n`` numbers in [0, 1)."""
        dtype = np.dtype(dtype)
        if n > BLOCK:
            return self._blocked(lambda m: self.unit(m, dtype), n, dtype)
        if dtype == np.float64:
            return (self.words64(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53
        x = (self.words(n) & _24_BITS).astype(np.float32) * np.float32(2.0**-24)
        return x if dtype == np.float32 else x.astype(dtype)

    @staticmethod
    def _blocked(draw: Any, n: int, dtype: Any) -> np.ndarray:
        """The same numbers in blocks, whose intermediate results stay in the cache: about half the time."""
        out = np.empty(n, dtype)
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            out[start:stop] = draw(stop - start)
        return out

    @_alone
    def uniform(self, n: int, low: float, high: float, dtype: Any) -> np.ndarray:
        """``n`` numbers in [low, high)."""
        dtype = np.dtype(dtype)
        wide = np.float64 if dtype == np.float64 else np.float32
        if n > BLOCK:
            return self._blocked(lambda m: self.uniform(m, low, high, dtype), n, dtype)
        if low == 0 and high == 1 and dtype.itemsize > 2:
            return self.unit(n, wide)
        low_, high_ = wide(low), wide(high)
        # torch's compiler fuses the multiplication and the addition
        if wide is np.float64:
            return fma64(self.unit(n, wide), float(high_ - low_), float(low_))
        # in float64 the products of 24 bits are exact
        x = (self.words(n) & _24_BITS).astype(np.float64)
        x *= np.float64(high_ - low_) * 2.0**-24
        x += low_
        x = x.astype(np.float32)
        if dtype == np.float32:
            return x
        # Rounding to half precision can reach the upper bound, which the range leaves out: torch takes the lower one then.
        x = x.astype(dtype)
        x[x == dtype.type(high)] = dtype.type(low)
        return x

    @_alone
    def normal(self, n: int, mean: float, std: float, dtype: Any) -> np.ndarray:
        """``n`` normal numbers: Box-Muller in blocks of 16, or one by one when fewer than 16."""
        dtype = np.dtype(dtype)
        if n < 16:
            return self.normal_serial(n, mean, std, dtype)
        wide = np.float64 if dtype == np.float64 else np.float32
        whole = n // 16 * 16
        out = np.empty(n, wide) if n % 16 else self._normal_blocks(n, mean, std, wide)
        if n % 16:
            out[:whole] = self._normal_blocks(whole, mean, std, wide)
            # Half precision draws for whole blocks only; the others draw for the tail as well, and then once more.
            if dtype.itemsize > 2:
                self.unit(n % 16, wide)
            out[n - 16:] = self._normal_blocks(16, mean, std, wide)
        return out.astype(dtype, copy=False)

    def _normal_blocks(self, n: int, mean: float, std: float, dtype: Any) -> np.ndarray:
        if dtype == np.float32:
            return normals32(n, lambda m: self.unit(m, dtype), mean, std)
        if n > BLOCK:
            return self._blocked(lambda m: self._normal_blocks(m, mean, std, dtype), n, dtype)
        out = normals64(self.unit(n, dtype))
        return out if std == 1 and mean == 0 else fma64(out, std, mean)  # fused, as torch's kernel ends

    @_alone
    def normal_serial(self, n: int, mean: float, std: float, dtype: Any) -> np.ndarray:
        """``n`` normal numbers drawn one by one: what torch does for few or for tensors that are not contiguous."""
        return _narrow(self._serial(n, mean, std, np.dtype(dtype) == np.float64), dtype)

    def _serial(self, n: int, mean: float, std: float, exact: bool) -> np.ndarray:
        """``n`` float64 numbers (``exact``: to the C library's last bit); the second of a pair that is left over is kept."""
        if n < 16:
            values = [self._double() for _ in range(n)]
            return np.array(values if std == 1 and mean == 0 else [fma(x, std, mean) for x in values], np.float64)
        if n > BLOCK:
            return self._blocked(lambda m: self._serial(m, mean, std, exact), n, np.float64)
        start = 0 if self._cached is None else 1
        whole = (n - start) // 2 * 2
        out = np.empty(n, np.float64)
        if start:
            out[0], self._cached = self._cached, None
        u = self.unit(whole, np.float64).reshape(-1, 2)
        radius = np.sqrt(-2.0 * (libm(math.log1p, -u[:, 1]) if exact else np.log1p(-u[:, 1])))
        theta = 2.0 * np.pi * u[:, 0]
        out[start:start + whole:2] = radius * np.cos(theta)
        out[start + 1:start + whole:2] = radius * np.sin(theta)
        if start + whole < n:
            out[-1] = self._double()
        return out if std == 1 and mean == 0 else fma64(out, std, mean)

    def _double(self) -> float:
        """One normal number in double precision; the second of each pair is kept for the next call."""
        if self._cached is not None:
            value, self._cached = self._cached, None
            return value
        self._drawn = True
        a, b, c, d = self._engine.random_raw(4).tolist()
        theta = 2.0 * math.pi * (((a << 32 | b) & _53_BITS) * 2.0**-53)
        radius = math.sqrt(-2.0 * math.log1p(-(((c << 32 | d) & _53_BITS) * 2.0**-53)))
        self._cached = radius * math.sin(theta)
        return radius * math.cos(theta)

    @_alone
    def randint(self, n: int, low: int, high: int) -> np.ndarray:
        """``n`` integers in [low, high): one word each, or two when the range has 28 bits or more."""
        span = high - low
        if span >= 1 << 28:
            if n > BLOCK:
                return self._blocked(lambda m: self.randint(m, low, high), n, np.int64)
            words = self.words64(n)
            if span == 1 << 64:  # the whole range of int64 keeps the words as they are
                return words.view(np.int64)
            words -= words // np.uint64(span) * np.uint64(span)
            return (words + np.uint64(low % (1 << 64))).view(np.int64)
        if n > BLOCK:
            return self._blocked(lambda m: self.randint(m, low, high), n, np.int64)
        words = self.words(n).astype(np.uint32)
        # NumPy divides by one number with multiplications, but not for the remainder.
        words -= words // np.uint32(span) * np.uint32(span)
        return words + np.int64(low)

    @_alone
    def permutation(self, n: int) -> np.ndarray:
        """A permutation of ``range(n)``: Fisher-Yates from the front, one word a step (two where a word's range is too short)."""
        if n <= 1:
            return np.arange(n)
        left = np.arange(n, 1, -1, dtype=np.uint64)
        steps = ((self.words(n - 1) if n < (2**32 - 1) // 20 else self.words64(n - 1)) % left).astype(np.int64)
        p, done = np.arange(n), 0
        if n > 4 * LIST:
            done = _swap_in_rows(p, steps)
        rest = p[done:].tolist()
        for i, z in enumerate(steps[done:].tolist()):
            j = i + z
            rest[i], rest[j] = rest[j], rest[i]
        p[done:] = rest
        return p

    @_alone
    def bernoulli(self, n: int, p: Any) -> np.ndarray:
        """``n`` bools, true with probability ``p``: a float64 comparison for a number, one in the array's dtype for an array."""
        if n > BLOCK:
            parts = iter(p[i:i + BLOCK] for i in range(0, n, BLOCK)) if isinstance(p, np.ndarray) else itertools.repeat(p)
            return self._blocked(lambda m: self.bernoulli(m, next(parts)), n, bool)
        single = isinstance(p, np.ndarray) and p.dtype != np.float64
        return self.unit(n, np.float32 if single else np.float64) < p

    @_alone
    def random(self, n: int, dtype: Any) -> np.ndarray:
        """``n`` integers over the range in which ``dtype`` is exact."""
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return (self.words(n) & np.uint64(1)).astype(bool)
        if dtype == np.int64:
            return (self.words64(n) % np.uint64(1 << 63)).astype(np.int64)
        if dtype == np.float64:
            return (self.words64(n) % np.uint64((1 << 53) + 1)).astype(np.float64)
        if dtype.kind in "iu":
            return (self.words(n) % np.uint64(np.iinfo(dtype).max + 1)).astype(dtype)
        digits = {np.dtype(np.float32): 24, np.dtype(np.float16): 11}.get(dtype, 8)
        return (self.words(n) % np.uint64((1 << digits) + 1)).astype(np.float32).astype(dtype)

    @_alone
    def exponential(self, n: int, rate: float, dtype: Any) -> np.ndarray:
        """``n`` exponential numbers."""
        x = -self.unit(n, np.float64)
        # Only float64 shows the last bit of the logarithm.
        logs = libm(math.log1p, x) if np.dtype(dtype) == np.float64 else np.log1p(x)
        return _narrow(-1.0 / rate * logs, dtype)

    @_alone
    def geometric(self, n: int, p: float, dtype: Any) -> np.ndarray:
        """``n`` numbers of trials up to the first success."""
        with np.errstate(divide="ignore"):
            return np.ceil(np.log(self.unit(n, np.float64)) / math.log1p(-p)).astype(dtype)

    @_alone
    def cauchy(self, n: int, median: float, sigma: float, dtype: Any) -> np.ndarray:
        """``n`` Cauchy numbers."""
        x = np.pi * (self.unit(n, np.float64) - 0.5)
        return _narrow(median + sigma * (libm(math.tan, x) if np.dtype(dtype) == np.float64 else np.tan(x)), dtype)

    @_alone
    def log_normal(self, n: int, mean: float, std: float, dtype: Any) -> np.ndarray:
        """``n`` exponentials of normal numbers, drawn one by one."""
        x = self._serial(n, mean, std, np.dtype(dtype) == np.float64)
        return _narrow(libm(_exp, x) if np.dtype(dtype) == np.float64 else np.exp(x), dtype)

    @_alone
    def multinomial(self, rows: np.ndarray, samples: int, replacement: bool) -> np.ndarray:
        """For each row of weights, ``samples`` indices.

        Without replacement the largest of ``weight / exponential`` are taken (the exponential race); with it, the running sum
        of the weights is searched for uniform numbers.
        """
        if not replacement or samples == 1:
            race = (rows / self.exponential(rows.size, 1.0, rows.dtype).reshape(rows.shape)).astype(np.float64)
            if samples == 1:
                return race.argmax(1)[:, None]
            return np.argsort(-race, axis=1, kind="stable")[:, :samples]
        # torch's kernel adds up half precision in float32.
        wide = rows if rows.dtype.itemsize > 2 else rows.astype(np.float32)
        totals = np.cumsum(wide, axis=1, dtype=wide.dtype)
        totals /= totals[:, -1:]
        totals[:, -1] = 1
        u = self.unit(len(rows) * samples, np.float64).reshape(-1, samples)
        out = np.empty(u.shape, np.int64)
        for i, total in enumerate(totals):
            out[i] = np.searchsorted(total, u[i])
        return out

    @_alone
    def poisson(self, rates: np.ndarray) -> np.ndarray:
        """A Poisson number for each rate."""
        return self._each(rejection.poisson, rates.astype(np.float64).tolist())

    @_alone
    def binomial(self, counts: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """A number of successes for each pair of a count and a probability (of one dtype, float32 or float64)."""
        number = counts.dtype.type
        return self._each(lambda pair, reader: rejection.binomial(*pair, number, reader), zip(counts.tolist(), probabilities.tolist(), strict=True))

    @_alone
    def standard_gamma(self, alphas: np.ndarray) -> np.ndarray:
        """A float64 gamma number for each shape (float32 or float64): never zero in that dtype."""
        return np.maximum(np.finfo(alphas.dtype).tiny, self._each(rejection.gamma, alphas).astype(alphas.dtype))

    @_alone
    def dirichlet(self, alphas: np.ndarray) -> np.ndarray:
        """For each row of concentrations, numbers of sum 1: gamma numbers in float64 over their sum."""
        dtype = alphas.dtype
        gammas = self.standard_gamma(alphas.astype(np.float64).reshape(-1)).reshape(alphas.shape)
        info = np.finfo(dtype)
        return np.clip((gammas / gammas.sum(-1, keepdims=True)).astype(dtype), info.tiny, np.nextafter(dtype.type(1), dtype.type(0)))

    def _each(self, draw: Any, values: Any) -> np.ndarray:
        reader = rejection.Reader(self)
        try:
            return np.array([draw(value, reader) for value in values], np.float64)
        finally:
            reader.close()

    # The state of torch's generator as bytes: seed, words left and next, 624 words (each in 8 bytes), the cached normal number,
    # whether it is there, and the same in float32 (which this stream never has).
    _LAYOUT = np.dtype([("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", 624), ("x", "<f8"),
                        ("y", "<f8"), ("rho", "<f8"), ("valid", "<i8"), ("single", "<f4"), ("single_valid", "<i4")])  # fmt: skip

    @_alone
    def get_state(self) -> np.ndarray:
        """The state in torch's layout: 5056 bytes."""
        engine = self._engine.state["state"]
        position = int(engine["pos"])
        state = np.zeros((), self._LAYOUT)
        state["seed"], state["seeded"] = self.initial_seed, 1
        fresh = position == 624 and not self._drawn
        state["left"], state["next"] = (1, 0) if fresh else (625 - position, position)
        state["words"] = engine["key"]
        if self._cached is not None:
            state["y"], state["valid"] = self._cached, 1
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    @_alone
    def set_state(self, raw: np.ndarray) -> None:
        """Take over a state in torch's layout."""
        if raw.size != self._LAYOUT.itemsize:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {self._LAYOUT.itemsize} but found the input RNG state size to be {raw.size}")
        state = np.frombuffer(raw.tobytes(), self._LAYOUT)[0]
        self.initial_seed = int(state["seed"])
        left = int(state["left"])
        self._drawn = not (left == 1 and int(state["next"]) == 0)
        position = 624 if left == 1 else 625 - left
        self._engine.state = {
            "bit_generator": "MT19937", "state": {"key": state["words"].astype(np.uint32), "pos": position},
        }  # fmt: skip
        self._cached = float(state["y"]) if int(state["valid"]) & 0xFFFFFFFF else None
