"""Random tensors: ``rand, randn, randint, randperm, normal_, uniform_, bernoulli_, ...``.

Numbers are drawn on the host, at the call and in program order, from torch's own streams (``streams.py``).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from torchlike.autograd import tape
from torchlike.ops import promotion
from torchlike.ops.dtype_errors import type_name
from torchlike.random.generator import default_generator, thread_safe_generator
from torchlike.random.streams import Stream
from torchlike.tensor import dtypes
from torchlike.tensor.conversion import resolve
from torchlike.tensor.creation import _size
from torchlike.tensor.device import engine_device, from_engine
from torchlike.tensor.dispatch import index, write_out
from torchlike.tensor.facade import facade
from torchlike.tensor.formats import contiguous_format, preserve_format, strided
from torchlike.tensor.shape import with_format
from torchlike.tensor.tensor import Tensor


def stream_of(generator: Any) -> Stream:
    """The stream of a generator argument: None means the thread's own generator if it has one, else the default one."""
    if generator is None:
        generator = thread_safe_generator() or default_generator
    return generator.stream


def _made(array: np.ndarray, shape: tuple[int, ...], device: Any, requires_grad: bool, out: Any = None) -> Tensor:
    name = engine_device(device)
    if name != "cpu":
        resolve(name)
    t = Tensor._from_numpy(np.asarray(array).reshape(shape))
    if name != "cpu":
        t = t.to(from_engine(name))
    if out is not None:
        return write_out(out, t)
    return t.requires_grad_() if requires_grad else t


def _float_dtype(dtype: Any, out: Any = None) -> np.dtype:
    if dtype is None:
        return promotion.default_dtype() if out is None else out._value.aval.dtype
    return dtypes.numpy_of(dtype)


def _check_layout(layout: Any) -> None:
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"layout {layout}: only torch.strided tensors exist")


def _complex(draw: Any, n: int, dtype: np.dtype) -> np.ndarray:
    """Complex numbers from twice as many real ones."""
    return draw(2 * n, promotion.real_of(dtype)).view(dtype)


def _unit(s: Stream, n: int, dtype: np.dtype, name: str) -> np.ndarray:
    if promotion.is_complex(dtype):
        return _complex(lambda m, d: s.uniform(m, 0.0, 1.0, d), n, dtype)
    if promotion.kind(dtype) < 2:
        raise _not_implemented(name, dtype)
    return s.uniform(n, 0.0, 1.0, dtype)


def _gauss(draw: Callable[..., np.ndarray], n: int, mean: float, std: float, dtype: np.dtype) -> np.ndarray:
    """Normal numbers by a stream's method ``draw``."""
    if promotion.is_complex(dtype):
        # Real and imaginary part have half the variance each; torch adds the mean to both.
        return _complex(lambda m, d: draw(m, mean, std / math.sqrt(2.0), d), n, dtype)
    if promotion.kind(dtype) < 2:
        raise _not_implemented("normal_kernel_cpu", dtype)
    return draw(n, mean, std, dtype)


def _not_implemented(kernel: str, dtype: np.dtype) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for '{type_name(dtype)}'")


def _refuse(kernel: str, dtype: np.dtype, also: str = "") -> None:
    """Raise for the dtypes which hardly a kernel of torch has: wide unsigned integers, complex numbers, kinds ``also``."""
    if dtype.kind in "c" + also or (dtype.kind == "u" and dtype.itemsize > 1):
        raise _not_implemented(kernel, dtype)


# -- functions that make tensors ----------------------------------------------------------------------------------------


@facade(method=False, override=False)
def rand(*size_: Any, size: Any = None, generator: Any = None, names: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
         device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Uniform numbers of [0, 1)."""
    _check_layout(layout)
    shape = _size(size_, size)
    return _made(_unit(stream_of(generator), math.prod(shape), _float_dtype(dtype, out), "check_uniform_bounds"), shape, device, requires_grad, out)


@facade(method=False, override=False)
def randn(*size_: Any, size: Any = None, generator: Any = None, names: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
          device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Standard normal numbers."""
    _check_layout(layout)
    shape = _size(size_, size)
    return _made(_gauss(stream_of(generator).normal, math.prod(shape), 0.0, 1.0, _float_dtype(dtype, out)), shape, device, requires_grad, out)


@facade(method=False)
def rand_like(input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
              memory_format: Any = preserve_format) -> Tensor:  # fmt: skip
    """``rand`` with the shape, dtype and device of ``input``."""
    t = empty_like_of(input, dtype, device, memory_format)
    uniform_(t, generator=generator)
    return t.requires_grad_() if requires_grad else t


@facade(method=False)
def randn_like(input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
               memory_format: Any = preserve_format) -> Tensor:  # fmt: skip
    """``randn`` with the shape, dtype and device of ``input``."""
    t = empty_like_of(input, dtype, device, memory_format)
    normal_(t, generator=generator)
    return t.requires_grad_() if requires_grad else t


def empty_like_of(input: Tensor, dtype: Any, device: Any, memory_format: Any) -> Tensor:
    """A tensor to fill, like ``input``."""
    aval = input._value.aval
    numpy = aval.dtype if dtype is None else dtypes.numpy_of(dtype)
    t = Tensor._from_numpy(np.zeros(aval.shape, numpy), device="cpu")
    name = aval.device if device is None else engine_device(device)
    if name != "cpu":
        t = t.to(from_engine(name))
    return with_format(t, memory_format, input)


def _bounds(args: tuple[Any, ...], low: Any, high: Any, size: Any) -> tuple[int, int, tuple[int, ...]]:
    given = list(args)
    if size is None:
        if not given:
            raise TypeError("randint() received an invalid combination of arguments: size is missing")
        size = given.pop()
    if high is None:
        high = given.pop() if given else None
    if low is None:
        low = given.pop() if given else 0
    if high is None:
        low, high = 0, low
    if given:
        raise TypeError("randint() received an invalid combination of arguments")
    return index(low), index(high), _size((size,))


@facade(method=False, override=False)
def randint(*args: Any, low: Any = None, high: Any = None, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None,
            layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Integers of [low, high): ``randint(high, size)`` or ``randint(low, high, size)``."""
    _check_layout(layout)
    low, high, shape = _bounds(args, low, high, size)
    numpy = np.dtype(np.int64) if dtype is None and out is None else out._value.aval.dtype if dtype is None else dtypes.numpy_of(dtype)
    return _made(_integers(generator, math.prod(shape), low, high, numpy), shape, device, requires_grad, out)


_C_NAMES = {
    "bool": "bool", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int", "uint8": "unsigned char",
    "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int", "float32": "float", "float64": "double",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16",
}  # fmt: skip


def _integers(generator: Any, n: int, low: int, high: int, dtype: np.dtype) -> np.ndarray:
    """``n`` integers of [low, high), a range that must lie in that of the dtype."""
    if promotion.is_complex(dtype):
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    name = _C_NAMES[dtype.name]
    whole = dtype.kind in "biu"
    smallest, largest = _range(dtype)
    for which, value in (("from", low), ("to - 1", high - 1)):
        if not smallest <= value <= largest:
            raise RuntimeError(f"{which} is out of bounds for {name}")
        if not whole and abs(value) > exact_limit(dtype):
            digits = exact_limit(dtype).bit_length() - 1
            warnings.warn(
                f"{which} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {name} can support discrete uniform distribution "
                "only within this range. This warning will become an error in version 1.7 release, please fix the code in advance",
                stacklevel=4,
            )
    if not whole:
        low, high = _representable(low, high, dtype)
    return _converted(stream_of(generator).randint(n, low, high), dtype)


def _converted(drawn: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Integers in another dtype; to half precision by way of float32, as torch's conversion rounds."""
    return (drawn.astype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else drawn).astype(dtype, copy=False)


def _range(dtype: np.dtype) -> tuple[int, int]:
    """The smallest and the largest integer of a dtype that is not complex."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    largest = 1 if dtype.kind == "b" else int(ml_dtypes.finfo(dtype).max)
    return (0 if dtype.kind == "b" else -largest), largest


def _representable(low: int, high: int, dtype: np.dtype) -> tuple[int, int]:
    """The bounds moved inwards where rounding to a floating-point dtype would step over them (torch's ``update_from``, ``update_to``)."""
    digits = exact_limit(dtype).bit_length() - 1
    up, down = int(_converted(np.array(low + 1), dtype)), int(_converted(np.array(high - 1), dtype))
    if up < low:
        low = up + (1 << (abs(low + 1).bit_length() - digits))
    if down >= high:
        high = down - (1 << (abs(high - 1).bit_length() - digits))
    return low, high


@facade(method=False)
def randint_like(input: Tensor, *args: Any, low: Any = None, high: Any = None, generator: Any = None, dtype: Any = None, layout: Any = None,
                 device: Any = None, requires_grad: bool = False, memory_format: Any = preserve_format) -> Tensor:  # fmt: skip
    """``randint`` with the shape, dtype, device and strides of ``input``."""
    low, high, _ = _bounds(args, low, high, ())
    t = empty_like_of(input, dtype, device, memory_format)
    _fill(t, _integers(generator, t.numel(), low, high, t._value.aval.dtype))
    return t.requires_grad_() if requires_grad else t


@facade(method=False, override=False)
def randperm(n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A random permutation of ``0 .. n - 1``."""
    n = index(n)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    numpy = np.dtype(np.int64) if dtype is None and out is None else out._value.aval.dtype if dtype is None else dtypes.numpy_of(dtype)
    _refuse("randperm", numpy, also="b")
    limit = exact_limit(numpy)
    if n > limit and numpy.kind in "iu":
        raise RuntimeError(f"value cannot be converted to type {numpy.name}_t without overflow")
    if n > limit + 1 and numpy.kind == "f":  # bfloat16 is of NumPy's kind V: torch does not ask
        raise RuntimeError(f"n cannot be greater than {limit + 1} for {type_name(numpy)} type.")
    return _made(_converted(stream_of(generator).permutation(n), numpy), (n,), device, requires_grad, out)


@facade(method=False)
def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None, dtype: Any = None, device: Any = None,
           layout: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Normal numbers with the given means and standard deviations (numbers, or tensors of them)."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() received an invalid combination of arguments: numbers need a size")
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        shape = _size((size,))
        drawn = _gauss(stream_of(generator).normal, math.prod(shape), float(mean), float(std), _float_dtype(dtype, out))
        return _made(drawn, shape, device, requires_grad, out)
    if isinstance(std, Tensor):
        if promotion.is_complex(std._value.aval.dtype):
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.numel() and bool((std < 0).any()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    like = mean if isinstance(mean, Tensor) else std
    numpy = like._value.aval.dtype
    shape = np.broadcast_shapes(*(t.shape for t in (mean, std) if isinstance(t, Tensor)))
    # As torch: standard numbers (of the number ``std``, if it is one), times a tensor of deviations, plus the mean, each step
    # rounded. On the host, because XLA would fuse them.
    by = 1.0 if isinstance(std, Tensor) else float(std)
    drawn = _gauss(stream_of(generator).normal, math.prod(shape), 0.0, by, numpy).reshape(shape)
    if isinstance(std, Tensor):
        drawn = (drawn * std._host()).astype(numpy)
    drawn = (drawn + (mean._host() if isinstance(mean, Tensor) else numpy.type(mean))).astype(numpy)
    return _made(drawn, shape, like.device if device is None else device, requires_grad, out)


@facade()
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Ones with the probabilities ``input`` (or ``p``), else zeros."""
    t = bernoulli_(empty_like_of(input, None, None, contiguous_format), input if p is None else p, generator=generator)
    return write_out(out, t) if out is not None else t


def _flat(host: Any, shape: tuple[int, ...]) -> Any:
    if not isinstance(host, np.ndarray):
        return host
    flat = np.broadcast_to(host, shape).reshape(-1)
    return flat if flat.dtype == np.float64 else flat.astype(np.float32)


def _check_probability(host: Any) -> None:
    values = np.asarray(host)
    if values.size and not bool(((values >= 0) & (values <= 1)).all()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")


@facade()
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None) -> Tensor:
    """Indices drawn with the weights in each row of ``input``."""
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.is_floating_point():
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.type()}")
    num_samples = index(num_samples)
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    host = input._host()
    wide = host.astype(np.float32) if host.dtype.itemsize == 2 else host
    if not np.isfinite(wide).all() or (wide < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    rows = host.reshape(-1, wide.shape[-1])
    if (wide.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    drawn = np.asarray(stream_of(generator).multinomial(rows, num_samples, bool(replacement)))
    return _made(drawn.reshape((*input.shape[:-1], num_samples)), (*input.shape[:-1], num_samples), input.device, False, out)


@facade()
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Poisson numbers with the rates ``input``."""
    _float_only(input, "poisson_cpu", half=True)
    drawn = stream_of(generator).poisson(input._host().reshape(-1))
    return _like(input, drawn)


@facade(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Binomial numbers with the given counts and probabilities."""
    for name, t in (("count", count), ("prob", prob)):
        if not t.is_floating_point():
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {type_name(t._value.aval.dtype)}")
    _float_only(count, "binomial_cpu")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {type_name(prob._value.aval.dtype)} but expected {type_name(count._value.aval.dtype)}")
    n, p = np.broadcast_arrays(count._host(), prob._host())
    drawn = stream_of(generator).binomial(n.reshape(-1), p.reshape(-1))
    return _like(count, drawn, n.shape)


@facade(method=False)
def _standard_gamma(self: Tensor, generator: Any = None) -> Tensor:
    """Gamma numbers of the shapes ``self`` and scale 1; outside the graph (torch has a derivative here)."""
    _float_only(self, "gamma_cpu")
    return _like(self, stream_of(generator).standard_gamma(self._host().reshape(-1)))


@facade(method=False)
def _sample_dirichlet(self: Tensor, generator: Any = None) -> Tensor:
    """Dirichlet numbers of the concentrations in the last dimension; outside the graph (torch has a derivative here)."""
    _float_only(self, "dirichlet")
    return _like(self, stream_of(generator).dirichlet(self._host()))


def _float_only(t: Tensor, kernel: str, half: bool = False) -> None:
    if not t.is_floating_point() or (not half and t.element_size() == 2):
        raise _not_implemented(kernel, t._value.aval.dtype)


def _like(t: Tensor, drawn: Any, shape: Any = None) -> Tensor:
    """Drawn numbers as a tensor of the dtype and device of ``t``."""
    made = Tensor._from_numpy(np.asarray(drawn).astype(t._value.aval.dtype).reshape(t.shape if shape is None else shape), device="cpu")
    return made if t._value.aval.device == "cpu" else made.to(t.device)


# -- in place ------------------------------------------------------------------------------------------------------------


def _fill(t: Tensor, drawn: Any) -> Tensor:
    """Write drawn numbers, which come in memory order, into a tensor."""
    aval = t._value.aval
    array = np.asarray(drawn)
    if array.dtype != aval.dtype:
        array = array.astype(aval.dtype)
    if not t._dense and t.ndim > 1:
        stride = t._layout()[1]
        order = sorted(range(t.ndim), key=lambda d: -stride[d])
        array = array.reshape([aval.shape[d] for d in order]).transpose(np.argsort(order))
    fresh = Tensor._from_numpy(np.asarray(array.reshape(aval.shape), order="C"))  # ascontiguousarray has no arrays of no dimension
    if aval.device != "cpu":
        fresh = fresh.to(t.device)
    before, tape.local.grad = tape.local.grad, False
    try:
        t._write(fresh)
    finally:
        tape.local.grad = before
    return t


@facade(function=False)
def uniform_(input: Tensor, from_: float = 0, to: float = 1, *, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill with uniform numbers of [from, to)."""
    low = kwargs.pop("from", from_)
    if kwargs:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(kwargs))}'")
    input._check_inplace()
    if low > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    aval = input._value.aval
    s = stream_of(generator)
    if promotion.is_complex(aval.dtype):
        return _fill(input, _complex(lambda m, d: s.uniform(m, low, to, d), aval.size, aval.dtype))
    if promotion.kind(aval.dtype) < 2:
        raise _not_implemented("check_uniform_bounds", aval.dtype)
    return _fill(input, s.uniform(aval.size, float(low), float(to), aval.dtype))


@facade(function=False)
def normal_(input: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers."""
    input._check_inplace()
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    aval = input._value.aval
    s = stream_of(generator)
    draw = s.normal if input._dense or input.is_contiguous() or promotion.is_complex(aval.dtype) else s.normal_serial
    return _fill(input, _gauss(draw, aval.size, float(mean), float(std), aval.dtype))


def exact_limit(dtype: np.dtype) -> int:
    """The largest integer up to which a dtype has all integers."""
    if dtype.kind == "b":
        return 1
    return int(np.iinfo(dtype).max) if dtype.kind in "iu" else {8: 2**53, 4: 2**24}.get(dtype.itemsize, 2**11 if dtype == np.float16 else 2**8)


@facade(function=False)
def random_(input: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill with integers: of the dtype's whole range, below ``to``, or of [from, to); ``to`` None means the dtype's largest."""
    names = dict(zip(("from", "to"), args, strict=False)) if len(args) > 1 or "to" in kwargs else dict(zip(("to",), args, strict=False))
    low, to = kwargs.get("from", names.get("from")), kwargs.get("to", names.get("to"))
    unbounded = to is None and low is not None
    input._check_inplace()
    aval = input._value.aval
    if low is None and to is None:
        _refuse("random_kernel_cpu", aval.dtype)
        return _fill(input, stream_of(generator).random(aval.size, aval.dtype))
    if unbounded and not promotion.is_complex(aval.dtype):
        to = exact_limit(aval.dtype) + 1
    return _fill(input, _integers(generator, aval.size, 0 if low is None else int(low), 1 if to is None else int(to), aval.dtype))


@facade(function=False)
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones with probability ``p`` (a number or tensor), else zeros."""
    input._check_inplace()
    host = p._host() if isinstance(p, Tensor) else float(p)
    if not isinstance(p, Tensor) and not 0 <= host <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={host}")
    _refuse("bernoulli_tensor_cpu_self_" if isinstance(p, Tensor) else "bernoulli_scalar_cpu_", input._value.aval.dtype)
    if isinstance(p, Tensor) and not p.is_floating_point():
        raise _not_implemented("bernoulli_tensor_cpu_p_", p._value.aval.dtype)
    _check_probability(host)
    return _fill(input, stream_of(generator).bernoulli(input.numel(), _flat(host, input._value.aval.shape)))


def _continuous(t: Tensor, name: str) -> None:
    if not t.is_floating_point():
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you specified {type_name(t._value.aval.dtype)}"
        )


@facade(function=False)
def exponential_(input: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with exponential numbers of rate ``lambd``."""
    input._check_inplace()
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    _continuous(input, "Exponential")
    aval = input._value.aval
    return _fill(input, stream_of(generator).exponential(aval.size, float(lambd), aval.dtype))


@facade(function=False)
def geometric_(input: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with geometric numbers of success probability ``p``."""
    input._check_inplace()
    _refuse("geometric_cpu", input._value.aval.dtype, also="b")
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    aval = input._value.aval
    return _fill(input, stream_of(generator).geometric(aval.size, float(p), aval.dtype))


@facade(function=False)
def cauchy_(input: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with Cauchy numbers."""
    input._check_inplace()
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    _continuous(input, "Cauchy")
    aval = input._value.aval
    return _fill(input, stream_of(generator).cauchy(aval.size, float(median), float(sigma), aval.dtype))


@facade(function=False)
def log_normal_(input: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill with exponentials of normal numbers."""
    input._check_inplace()
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    _float_only(input, "log_normal_cpu", half=True)
    aval = input._value.aval
    return _fill(input, stream_of(generator).log_normal(aval.size, float(mean), float(std), aval.dtype))
