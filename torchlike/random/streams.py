"""torch's CPU random stream: MT19937 words, and the transformations of torch's kernels."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from torchlike.random import rejection
from torchlike.random.box_muller import normals32, normals64
from torchlike.random.rounding import fma32, fma64, libm


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else float(np.exp(x))  # math.exp raises where the C library answers infinity


def _narrow(x: np.ndarray, dtype: Any) -> np.ndarray:
    """float64 numbers in another dtype: half precision by way of float32, as torch's conversion rounds."""
    dtype = np.dtype(dtype)
    return (x.astype(np.float32) if dtype.itemsize == 2 else x).astype(dtype, copy=False)


class Stream:
    """The state of a ``torch.Generator`` on the CPU."""

    def __init__(self, seed: int = 67280421310721) -> None:
        self._lock = threading.RLock()
        self.seed(seed)

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
        if dtype == np.float64:
            return (self.words64(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53
        x = (self.words(n) & np.uint64((1 << 24) - 1)).astype(np.float32) * np.float32(2.0**-24)
        return x if dtype == np.float32 else x.astype(dtype)

    def uniform(self, n: int, low: float, high: float, dtype: Any) -> np.ndarray:
        """``n`` numbers in [low, high)."""
        dtype = np.dtype(dtype)
        wide = np.float64 if dtype == np.float64 else np.float32
        x = self.unit(n, wide)
        low_, high_ = wide(low), wide(high)
        if low == 0 and high == 1 and dtype.itemsize > 2:
            return x
        # torch's compiler fuses the multiplication and the addition
        if wide is np.float64:
            return fma64(x, high_ - low_, low_)
        x = fma32(x, high_ - low_, low_)
        if dtype == np.float32:
            return x
        # Rounding to half precision can reach the upper bound, which the range leaves out: torch takes the lower one then.
        x = x.astype(dtype)
        x[x == dtype.type(high)] = dtype.type(low)
        return x

    def normal(self, n: int, mean: float, std: float, dtype: Any) -> np.ndarray:
        """``n`` normal numbers: Box-Muller in blocks of 16, or one by one when fewer than 16."""
        dtype = np.dtype(dtype)
        if n < 16:
            return self.normal_serial(n, mean, std, dtype)
        wide = np.float64 if dtype == np.float64 else np.float32
        whole = n // 16 * 16
        # Half precision draws for whole blocks only; the others draw for the tail as well, and then once more.
        x = self.unit(n if dtype.itemsize > 2 else whole, wide)
        out = np.empty(n, wide)
        out[:whole] = self._blocks(x[:whole], mean, std)
        if n % 16:
            out[n - 16:] = self._blocks(self.unit(16, wide), mean, std)
        return out.astype(dtype, copy=False)

    @staticmethod
    def _blocks(x: np.ndarray, mean: float, std: float) -> np.ndarray:
        if x.dtype == np.float64:
            out = normals64(x)
            return out if std == 1 and mean == 0 else fma64(out, std, mean)
        out = normals32(x)
        return out if std == 1 and mean == 0 else fma32(out, std, mean)  # fused, as torch's kernel ends

    def normal_serial(self, n: int, mean: float, std: float, dtype: Any) -> np.ndarray:
        """``n`` normal numbers drawn one by one: what torch does for few or for tensors that are not contiguous."""
        return _narrow(self._serial(n, mean, std), dtype)

    def _serial(self, n: int, mean: float, std: float) -> np.ndarray:
        """``n`` float64 numbers; the second of a pair that is left over is kept for the next call."""
        out = np.empty(n, np.float64)
        start = 0
        if n and self._cached is not None:
            out[0], self._cached, start = self._cached, None, 1
        if n > start:
            u = self.unit((n - start + 1) // 2 * 2, np.float64).reshape(-1, 2)
            radius = np.sqrt(-2.0 * libm(math.log1p, -u[:, 1]))
            theta = 2.0 * np.pi * u[:, 0]
            pairs = np.stack([radius * libm(math.cos, theta), radius * libm(math.sin, theta)], 1).reshape(-1)
            out[start:] = pairs[: n - start]
            if pairs.size > n - start:
                self._cached = float(pairs[-1])
        return out if std == 1 and mean == 0 else fma64(out, std, mean)

    def randint(self, n: int, low: int, high: int) -> np.ndarray:
        """``n`` integers in [low, high): one word each, or two when the range has 28 bits or more."""
        span = high - low
        if span >= 1 << 28:
            words = self.words64(n)
            if span < 1 << 64:  # the whole range of int64 keeps the words as they are
                words %= np.uint64(span)
            return (words + np.uint64(low % (1 << 64))).view(np.int64)
        return (self.words(n) % np.uint64(span)).astype(np.int64) + low

    def permutation(self, n: int) -> np.ndarray:
        """A permutation of ``range(n)``: Fisher-Yates from the front, one word a step."""
        if n <= 1:
            return np.arange(n)
        steps = (self.words(n - 1) % np.arange(n, 1, -1, dtype=np.uint64)).tolist()
        p = list(range(n))
        for i, z in enumerate(steps):
            j = i + z
            p[i], p[j] = p[j], p[i]
        return np.array(p)

    def bernoulli(self, n: int, p: Any) -> np.ndarray:
        """``n`` bools, true with probability ``p``: a float64 comparison for a number, one in the array's dtype for an array."""
        single = isinstance(p, np.ndarray) and p.dtype != np.float64
        return self.unit(n, np.float32 if single else np.float64) < p

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

    def exponential(self, n: int, rate: float, dtype: Any) -> np.ndarray:
        """``n`` exponential numbers."""
        x = -self.unit(n, np.float64)
        # Only float64 shows the last bit of the logarithm.
        logs = libm(math.log1p, x) if np.dtype(dtype) == np.float64 else np.log1p(x)
        return _narrow(-1.0 / rate * logs, dtype)

    def geometric(self, n: int, p: float, dtype: Any) -> np.ndarray:
        """``n`` numbers of trials up to the first success."""
        with np.errstate(divide="ignore"):
            return np.ceil(np.log(self.unit(n, np.float64)) / math.log1p(-p)).astype(dtype)

    def cauchy(self, n: int, median: float, sigma: float, dtype: Any) -> np.ndarray:
        """``n`` Cauchy numbers."""
        x = np.pi * (self.unit(n, np.float64) - 0.5)
        return _narrow(median + sigma * (libm(math.tan, x) if np.dtype(dtype) == np.float64 else np.tan(x)), dtype)

    def log_normal(self, n: int, mean: float, std: float, dtype: Any) -> np.ndarray:
        """``n`` exponentials of normal numbers, drawn one by one."""
        x = self._serial(n, mean, std)
        return _narrow(libm(_exp, x) if np.dtype(dtype) == np.float64 else np.exp(x), dtype)

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

    def poisson(self, rates: np.ndarray) -> np.ndarray:
        """A Poisson number for each rate."""
        return self._each(rejection.poisson, rates.astype(np.float64).tolist())

    def binomial(self, counts: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """A number of successes for each pair of a count and a probability (of one dtype, float32 or float64)."""
        number = counts.dtype.type
        return self._each(lambda pair, reader: rejection.binomial(*pair, number, reader), zip(counts.tolist(), probabilities.tolist(), strict=True))

    def standard_gamma(self, alphas: np.ndarray) -> np.ndarray:
        """A float64 gamma number for each shape (float32 or float64): never zero in that dtype."""
        return np.maximum(np.finfo(alphas.dtype).tiny, self._each(rejection.gamma, alphas).astype(alphas.dtype))

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
