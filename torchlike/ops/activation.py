"""Activations: ``relu, gelu, silu, elu, softplus, softmax, log_softmax, hardtanh, glu, ...``.

Those with an ``inplace`` argument in ``torch.nn.functional`` have it there; here are the pure functions and their in-place forms.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.ops import promotion
from torchlike.ops.declare import ARITH, Array, Dim, DType, Scalar, canonical_dim, op
from torchlike.ops.dtype_errors import BOOL, COMPLEX, INTEGER, is_bool, is_complex, reject

F = "nn.functional"


def _number(x, like):
    """A ``Scalar`` argument in the dtype of ``like``."""
    return x.astype(like.dtype) if hasattr(x, "dtype") else np.asarray(x).astype(like.dtype)


# -- rectifiers -------------------------------------------------------------------------------------------------------


@op(promote=ARITH, opmath=False, inplace=True, out=False, aliases=("nn.functional.relu",))
def relu(input: Array):
    """``max(input, 0)``; NaN stays. The gradient at 0 is 0."""
    if is_bool(input):
        raise RuntimeError("Boolean inputs not supported for relu")
    if is_complex(input):
        raise NotImplementedError("clamp is not supported for complex types")
    return jnp.maximum(input, jnp.zeros((), input.dtype))


@relu.vjp
def _(grad, result):
    return jnp.where(result <= 0, 0, grad)


@op(namespace=F, promote=ARITH, inplace=True)
def hardtanh(input: Array, min_val: Scalar = -1.0, max_val: Scalar = 1.0):
    """``input`` limited to ``[min_val, max_val]``; the gradient at the limits is 0."""
    if is_bool(input):
        raise RuntimeError("Bool inputs not supported for hardtanh")
    reject("hardtanh", input, COMPLEX)
    if type(min_val) in (int, float) and type(max_val) in (int, float) and min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return jnp.minimum(jnp.maximum(input, _number(min_val, input)), _number(max_val, input))


@hardtanh.vjp
def _(grad, input, min_val, max_val):
    return jnp.where((input <= _number(min_val, input)) | (input >= _number(max_val, input)), 0, grad)


@op(namespace=F, promote=ARITH, inplace=True, out=False, node="HardtanhBackward0")
def relu6(input: Array):
    """``min(max(input, 0), 6)``."""
    return hardtanh.body(input, 0.0, 6.0)


@relu6.vjp
def _(grad, input):
    return jnp.where((input <= 0) | (input >= 6), 0, grad)


@op(namespace=F, promote=ARITH, inplace=True)
def leaky_relu(input: Array, negative_slope: Scalar = 0.01):
    """``input`` where positive, else ``negative_slope * input``."""
    reject("leaky_relu_cpu", input, BOOL, INTEGER, COMPLEX)
    return jnp.where(input > 0, input, input * _number(negative_slope, input))


@leaky_relu.vjp
def _(grad, input, negative_slope):
    return jnp.where(input > 0, grad, grad * _number(negative_slope, input))


@op(promote=ARITH, inplace=True, out=False, method=False, aliases=("nn.functional.rrelu",), node="LeakyReluBackward0")
def rrelu(input: Array, lower: Scalar = 1.0 / 8, upper: Scalar = 1.0 / 3):
    """Leaky ReLU with the slope ``(lower + upper) / 2``: the randomised one outside training."""
    slope = (_number(lower, input) + _number(upper, input)) / 2
    return leaky_relu.body(input, slope)


@rrelu.vjp
def _(grad, input, lower, upper):
    return jnp.where(input > 0, grad, grad * (_number(lower, input) + _number(upper, input)) / 2)


@op(promote=ARITH, out=False, aliases=("nn.functional.prelu",), node="PreluKernelBackward0")
def prelu(input: Array, weight: Array):
    """``input`` where positive, else ``weight * input``.

    input: ``(N, C, ...)`` or ``(C)``. weight: one slope, or C of them.
    """
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.size != 1:
        if not input.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim >= 2 else 1
        if channels != weight.size:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.size} and channel size = {channels}."
            )
        weight = weight.reshape(1, -1, *(1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    else:
        weight = weight.reshape(())
    return jnp.where(input > 0, input, weight * input)


# -- exponential units ------------------------------------------------------------------------------------------------


def _elu(x, alpha, scale, input_scale):
    negative = jnp.where(x > 0, 0, x)  # no overflow in the branch that is not taken
    return jnp.where(x <= 0, jnp.expm1(negative * input_scale) * (alpha * scale), x * scale)


def _elu_slope(grad, x, alpha, scale, input_scale):
    negative = jnp.where(x > 0, 0, x)
    return jnp.where(x <= 0, grad * input_scale * (alpha * scale) * jnp.exp(negative * input_scale), grad * scale)


# Klambauer et al., "Self-Normalizing Neural Networks" (2017): these make zero mean and unit variance a fixed point.
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@op(namespace=F, promote=ARITH, inplace=True)
def elu(input: Array, alpha: Scalar = 1.0):
    """``input`` where positive, else ``alpha * (exp(input) - 1)``."""
    reject("elu_cpu", input, BOOL, INTEGER, COMPLEX)
    return _elu(input, _number(alpha, input), 1, 1)


@elu.vjp
def _(grad, input, alpha):
    return _elu_slope(grad, input, _number(alpha, input), 1, 1)


@op(promote=ARITH, inplace=True, out=False, method=False, aliases=("nn.functional.selu",), node="EluBackward0")
def selu(input: Array):
    """The ELU with the scale and alpha of self-normalising networks."""
    reject("elu_cpu", input, BOOL, INTEGER, COMPLEX)
    return _elu(input, _SELU_ALPHA, _SELU_SCALE, 1)


@selu.vjp
def _(grad, input):
    return _elu_slope(grad, input, _SELU_ALPHA, _SELU_SCALE, 1)


@op(promote=ARITH, inplace=True, out=False, method=False, aliases=("nn.functional.celu",))
def celu(input: Array, alpha: Scalar = 1.0):
    """``input`` where positive, else ``alpha * (exp(input / alpha) - 1)``."""
    reject("elu_cpu", input, BOOL, INTEGER, COMPLEX)
    if type(alpha) in (int, float) and alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    alpha = _number(alpha, input)
    return _elu(input, alpha, 1, 1 / alpha)


@celu.vjp
def _(grad, input, alpha):
    alpha = _number(alpha, input)
    return _elu_slope(grad, input, alpha, 1, 1 / alpha)


# -- smooth units -----------------------------------------------------------------------------------------------------

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
_GELU_CUBIC = 0.044715


def _normal_cdf(x):
    # lax.erf, not erfc of jax.nn.gelu: 2.0 -> 0.56 ms for 1e6 elements on XLA:CPU.
    return 0.5 * (1 + lax.erf(x * _SQRT_HALF))


@op(namespace=F, promote=ARITH, inplace=True)
def gelu(input: Array, *, approximate: str = "none"):
    """``input`` times the normal distribution's cdf of it; ``approximate="tanh"``: by a tanh of a cubic (Hendrycks, Gimpel 2016)."""
    reject("GeluKernelImpl", input, BOOL, INTEGER, COMPLEX)
    if approximate == "none":
        return input * _normal_cdf(input)
    if approximate == "tanh":
        inner = _SQRT_2_OVER_PI * (input + _GELU_CUBIC * input * input * input)
        return 0.5 * input * (1 + jnp.tanh(inner))
    raise RuntimeError("approximate argument must be either none or tanh.")


@gelu.vjp
def _(grad, input, approximate):
    if approximate == "none":
        density = jnp.exp(-0.5 * input * input) / math.sqrt(2 * math.pi)
        return grad * (_normal_cdf(input) + input * density)
    inner = _SQRT_2_OVER_PI * (input + _GELU_CUBIC * input * input * input)
    t = jnp.tanh(inner)
    slope = _SQRT_2_OVER_PI * (1 + 3 * _GELU_CUBIC * input * input)
    return grad * (0.5 * (1 + t) + 0.5 * input * (1 - t * t) * slope)


@op(namespace=F, promote=ARITH, inplace=True)
def silu(input: Array):
    """``input * sigmoid(input)``."""
    reject("silu_cpu", input, BOOL, INTEGER)
    return input * lax.logistic(input)


@silu.vjp
def _(grad, input):
    s = lax.logistic(input)
    return grad * jnp.conj(s * (1 + input * (1 - s)))


def _softplus(x):
    return jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


@op(namespace=F, promote=ARITH, inplace=True)
def mish(input: Array):
    """``input * tanh(softplus(input))``."""
    reject("mish_cpu", input, BOOL, INTEGER, COMPLEX)
    return input * jnp.tanh(_softplus(input))


@mish.vjp
def _(grad, input):
    t = jnp.tanh(_softplus(input))
    return grad * (t + input * lax.logistic(input) * (1 - t * t))


@op(namespace=F, promote=ARITH, autocast="fp32")
def softplus(input: Array, beta: Scalar = 1, threshold: Scalar = 20):
    """``log(1 + exp(beta * input)) / beta``; ``input`` itself where ``beta * input`` is above ``threshold``."""
    reject("softplus_cpu", input, BOOL, INTEGER, COMPLEX)
    beta, threshold = _number(beta, input), _number(threshold, input)
    scaled = input * beta
    return jnp.where(scaled > threshold, input, jnp.log1p(jnp.exp(jnp.where(scaled > threshold, 0, scaled))) / beta)


@softplus.vjp
def _(grad, input, beta, threshold):
    scaled = input * _number(beta, input)
    return jnp.where(scaled > _number(threshold, input), grad, grad * lax.logistic(scaled))


@op(namespace=F, promote=ARITH, node="LogSigmoidBackward0")
def logsigmoid(input: Array):
    """``log(sigmoid(input))``, accurate for large negative numbers."""
    reject("log_sigmoid_cpu", input, BOOL, INTEGER, COMPLEX)
    return jnp.minimum(input, 0) - jnp.log1p(jnp.exp(-jnp.abs(input)))


@logsigmoid.vjp
def _(grad, input):
    return grad * lax.logistic(-input)


# -- piecewise linear units -------------------------------------------------------------------------------------------


@op(namespace=F, promote=ARITH, inplace=True)
def hardsigmoid(input: Array):
    """0 below -3, 1 above 3, ``input / 6 + 1 / 2`` between."""
    reject("hardsigmoid_cpu", input, BOOL, INTEGER, COMPLEX)
    return jnp.clip(input + 3, 0, 6) / 6


@hardsigmoid.vjp
def _(grad, input):
    return jnp.where((input > -3) & (input < 3), grad / 6, 0)


@op(namespace=F, promote=ARITH, inplace=True)
def hardswish(input: Array):
    """``input * hardsigmoid(input)``."""
    reject("hardswish_cpu", input, BOOL, INTEGER, COMPLEX)
    return input * jnp.clip(input + 3, 0, 6) / 6


@hardswish.vjp
def _(grad, input):
    return jnp.where(input <= -3, 0, jnp.where(input < 3, grad * (input / 3 + 0.5), grad))


@op(promote=ARITH, opmath=False, aliases=("nn.functional.hardshrink",))
def hardshrink(input: Array, lambd: Scalar = 0.5):
    """``input`` outside ``[-lambd, lambd]``, 0 inside."""
    reject("hardshrink_cpu", input, BOOL, INTEGER, COMPLEX)
    return jnp.where(_inside(input, lambd), 0, input)


def _inside(x, lambd):
    lambd = _number(lambd, x)
    return (x >= -lambd) & (x <= lambd)


@hardshrink.vjp
def _(grad, input, lambd):
    return jnp.where(_inside(input, lambd), 0, grad)


@op(namespace=F, promote=ARITH)
def softshrink(input: Array, lambd: Scalar = 0.5):
    """``input`` moved towards 0 by ``lambd``, 0 within it. Raises ``RuntimeError`` for a negative ``lambd``."""
    reject("softshrink_cpu", input, BOOL, INTEGER, COMPLEX)
    if type(lambd) in (int, float) and lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    lambd = _number(lambd, input)
    return jnp.where(input > lambd, input - lambd, jnp.where(input < -lambd, input + lambd, input * 0))


@softshrink.vjp
def _(grad, input, lambd):
    return jnp.where(_inside(input, lambd), 0, grad)


@op(namespace=F, promote=ARITH, strides="contiguous")
def glu(input: Array, dim: Dim = -1):
    """``a * sigmoid(b)`` where a and b are the halves of ``input`` along ``dim`` (of even size)."""
    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    d = canonical_dim(dim, input.ndim)
    if input.shape[d] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {input.shape[d]}")
    reject("glu_cpu", input, BOOL, INTEGER)
    a, b = jnp.split(input, 2, axis=d)
    return a * lax.logistic(b)


# -- softmax ----------------------------------------------------------------------------------------------------------


def _prepared(kernel: str, x, dim: int, dtype):
    """The input in the dtype to compute in, the dimension, and the dtype of the result."""
    d = canonical_dim(dim, x.ndim)
    result = np.dtype(dtype or x.dtype)
    if promotion.kind(result) != 2:
        reject(kernel, jnp.zeros((), result), BOOL, INTEGER, COMPLEX)
    compute = promotion.FLOAT32 if promotion.is_low_precision(result) else result
    return x.astype(compute), d, result


def _over(x, dim: int, f):
    """``f`` along ``dim``; a 0-d tensor counts as one of one element."""
    return f(x, dim) if x.ndim else f(x.reshape(1), 0).reshape(())


def _soft(x, d: int):
    exponentials = jnp.exp(x - jnp.max(x, axis=d, keepdims=True, initial=-jnp.inf))
    return exponentials / jnp.sum(exponentials, axis=d, keepdims=True)


def _log_soft(x, d: int):
    shifted = x - jnp.max(x, axis=d, keepdims=True, initial=-jnp.inf)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=d, keepdims=True))


def _softmax(x, dim: int, dtype):
    x, d, result = _prepared("softmax_kernel_impl", x, dim, dtype)
    return _over(x, d, _soft).astype(result)


def _log_softmax(x, dim: int, dtype):
    x, d, result = _prepared("log_softmax_kernel_impl", x, dim, dtype)
    return _over(x, d, _log_soft).astype(result)


def _softmax_slope(grad, result, dim: int):
    wide = promotion.FLOAT32 if promotion.is_low_precision(np.dtype(result.dtype)) else result.dtype
    grad, result = grad.astype(wide), result.astype(wide)
    weighted = grad * result
    return _over(weighted, dim, lambda w, d: w - result.reshape(w.shape) * jnp.sum(w, axis=d, keepdims=True))


def _log_softmax_slope(grad, result, dim: int):
    wide = promotion.FLOAT32 if promotion.is_low_precision(np.dtype(result.dtype)) else result.dtype
    grad, result = grad.astype(wide), result.astype(wide)
    return _over(grad, dim, lambda g, d: g - jnp.exp(result.reshape(g.shape)) * jnp.sum(g, axis=d, keepdims=True))


@op(autocast="fp32", aliases=("special.softmax",))
def softmax(input: Array, dim: Dim, dtype: DType | None = None):
    """``exp(input)`` divided by its sum along ``dim``; computed in ``dtype`` when given."""
    return _softmax(input, dim, dtype)


@softmax.vjp
def _(grad, result, dim):
    return _softmax_slope(grad, result, dim)


@op(autocast="fp32", aliases=("special.log_softmax",))
def log_softmax(input: Array, dim: Dim, dtype: DType | None = None):
    """The logarithm of ``softmax``, without overflow."""
    return _log_softmax(input, dim, dtype)


@log_softmax.vjp
def _(grad, result, dim):
    return _log_softmax_slope(grad, result, dim)
