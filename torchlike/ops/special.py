"""Special functions: ``erf, lgamma, digamma, polygamma, i0, zeta, ndtri, bessel_j0, chebyshev_polynomial_t, ...``."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import special as jsp

from torchlike.ops import bessel, polynomials
from torchlike.ops import zeta as gamma_series
from torchlike.ops.declare import ARITH, FLOAT, Array, Scalar, op
from torchlike.ops.dtype_errors import BOOL, COMPLEX, INTEGER, reject

S = "special"

# -- error functions and the normal distribution ----------------------------------------------------------------------


@op(promote=FLOAT, inplace=True, aliases=("special.erf",))
def erf(input: Array):
    """The error function."""
    reject("erf_vml_cpu", input, COMPLEX)
    return lax.erf(input)


@op(promote=FLOAT, inplace=True, aliases=("special.erfc",))
def erfc(input: Array):
    """``1 - erf(input)``, accurate for large numbers."""
    reject("erfc_vml_cpu", input, COMPLEX)
    return lax.erfc(input)


@op(promote=FLOAT, inplace=True, aliases=("special.erfinv",), autocast="fp32")
def erfinv(input: Array):
    """The inverse of ``erf``; NaN outside [-1, 1]."""
    reject("erfinv_vml_cpu", input, COMPLEX)
    return lax.erf_inv(input)


@erfinv.vjp
def _(grad, result):
    return grad * (0.5 * math.sqrt(math.pi)) * jnp.exp(result * result)


@op(namespace=S, promote=FLOAT, node="SpecialErfcxBackward0")
def erfcx(input: Array):
    """``exp(input ** 2) * erfc(input)``."""
    reject("erfcx_cpu", input, COMPLEX)
    return jsp.erfcx(input)


@erfcx.vjp
def _(grad, input, result):
    return (2 * input * result - 2 / math.sqrt(math.pi)) * grad


@op(namespace=S, promote=FLOAT)
def ndtr(input: Array):
    """The cumulative distribution function of the normal distribution."""
    reject("erf_vml_cpu", input, COMPLEX)
    return 0.5 * lax.erfc(-input * math.sqrt(0.5))


@op(namespace=S, promote=FLOAT, node="SpecialLogNdtrBackward0")
def log_ndtr(input: Array):
    """The logarithm of ``ndtr``, accurate for negative numbers."""
    reject("log_ndtr_cpu", input, COMPLEX)
    tail = jnp.where(input < -1, input, -1)
    far = jnp.log(jsp.erfcx(-tail * math.sqrt(0.5)) / 2) - tail * tail / 2
    return jnp.where(input < -1, far, jnp.log1p(-lax.erfc(jnp.where(input < -1, 0, input) * math.sqrt(0.5)) / 2))


@log_ndtr.vjp
def _(grad, input):
    return grad * math.sqrt(2 / math.pi) / jsp.erfcx(-input * math.sqrt(0.5))


@op(namespace=S, promote=FLOAT, node="SpecialNdtriBackward0")
def ndtri(input: Array):
    """The inverse of ``ndtr``: -inf at 0, inf at 1, NaN outside."""
    reject("ndtri_cpu", input, COMPLEX)
    return jsp.ndtri(input)


@ndtri.vjp
def _(grad, result):
    return grad * math.sqrt(2 * math.pi) * jnp.exp(result * result / 2)


# -- gamma functions --------------------------------------------------------------------------------------------------


@op(promote=FLOAT, inplace=True, aliases=("special.gammaln",))
def lgamma(input: Array):
    """The logarithm of the absolute value of the gamma function."""
    reject("lgamma_vml_cpu", input, COMPLEX)
    return lax.lgamma(input)


@lgamma.vjp
def _(grad, input):
    return grad * gamma_series.digamma(input)


@op(promote=FLOAT, inplace=True, aliases=("special.digamma", "special.psi"))
def digamma(input: Array):
    """The derivative of the logarithm of the gamma function."""
    reject("digamma", input, COMPLEX)
    return gamma_series.digamma(input)


def _check_polygamma(n: int) -> None:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


@op(promote=FLOAT, method=False, aliases=("special.polygamma",))
def polygamma(n: int, input: Array):
    """The ``n``-th derivative of ``digamma``; n not negative."""
    _check_polygamma(n)
    reject("polygamma", input, COMPLEX)
    return gamma_series.polygamma(n, input)


@op(name="polygamma", namespace="Tensor", promote=FLOAT, inplace=True)
def polygamma_method(input: Array, n: int):
    """The ``n``-th derivative of ``digamma``; n not negative."""
    return polygamma.body(n, input)


@op(promote=FLOAT, inplace=True, aliases=("special.multigammaln",))
def mvlgamma(input: Array, p: int):
    """The logarithm of the multivariate gamma function of dimension ``p``."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    reject("lgamma_vml_cpu", input, COMPLEX)
    constant = p * (p - 1) / 4 * math.log(math.pi)
    total = jnp.full_like(input, constant)
    for j in range(p):
        total = total + lax.lgamma(input - j / 2)
    return total


@mvlgamma.vjp
def _(grad, input, p):
    slope = jnp.zeros_like(input)
    for j in range(p):
        slope = slope + gamma_series.digamma(input - j / 2)
    return grad * slope


@op(promote=ARITH, inplace=True, aliases=("special.gammainc",))
def igamma(input: Array, other: Array):
    """The regularized lower incomplete gamma function of ``input`` (the parameter) and ``other`` (the upper limit)."""
    _no_integers("igamma_cpu", input)
    return jsp.gammainc(input, other)


def _no_integers(kernel: str, x) -> None:
    reject(kernel, x, BOOL, INTEGER, COMPLEX)


def _gamma_density(a, x):
    return jnp.exp((a - 1) * jnp.log(x) - x - lax.lgamma(a))


@igamma.vjp
def _(grad, input, other):
    input, other = jnp.broadcast_arrays(input, other)
    return grad * lax.igamma_grad_a(input, other), grad * _gamma_density(input, other)


@op(promote=ARITH, inplace=True, aliases=("special.gammaincc",))
def igammac(input: Array, other: Array):
    """The regularized upper incomplete gamma function: ``1 - igamma(input, other)``."""
    _no_integers("igammac_cpu", input)
    return jsp.gammaincc(input, other)


@igammac.vjp
def _(grad, input, other):
    input, other = jnp.broadcast_arrays(input, other)
    return -grad * lax.igamma_grad_a(input, other), -grad * _gamma_density(input, other)


@op(namespace=S, promote=FLOAT, node="SpecialZetaBackward0")
def zeta(input: Array | Scalar, other: Array | Scalar):
    """The Hurwitz zeta function: the sum of ``(k + other) ** -input`` over k from 0."""
    reject("zeta_cpu", input, COMPLEX)
    return gamma_series.hurwitz_zeta(*jnp.broadcast_arrays(input, other))


# -- entropies and logarithms -----------------------------------------------------------------------------------------


@op(namespace=S, promote=FLOAT, node="SpecialEntrBackward0")
def entr(input: Array):
    """``-input * log(input)``: 0 at 0, -inf for negative numbers."""
    reject("entr_cpu", input, COMPLEX)
    inside = jnp.where(input > 0, input, 1)
    value = jnp.where(input > 0, -inside * jnp.log(inside), jnp.where(input == 0, 0, -jnp.inf))
    return jnp.where(jnp.isnan(input), input, value)


@entr.vjp
def _(grad, input):
    return grad * (-jnp.log(input) - 1)


@op(namespace=S, promote=FLOAT, node="SpecialXlog1PyBackward0")
def xlog1py(input: Array | Scalar, other: Array | Scalar):
    """``input * log1p(other)``, 0 where ``input`` is 0 (unless ``other`` is NaN)."""
    reject("xlog1py_cpu", input, COMPLEX)
    zero = input == 0
    value = jnp.where(zero, 0, input * jnp.log1p(jnp.where(zero, 0, other)))
    return jnp.where(jnp.isnan(other), jnp.nan, value).astype(value.dtype)


@xlog1py.vjp
def _(grad, input, other):
    masked = (input == 0) & (other <= -1)
    return jnp.where(masked, 0, grad * jnp.log1p(jnp.where(masked, 0, other))), grad * (input / (other + 1))


# -- Bessel functions -------------------------------------------------------------------------------------------------


@op(promote=FLOAT, inplace=True, aliases=("special.i0",))
def i0(input: Array):
    """The modified Bessel function of the first kind, of order 0."""
    reject("i0_vml_cpu", input, COMPLEX)
    return jsp.i0(input)


@i0.vjp
def _(grad, input):
    return grad * jsp.i1(input)


@op(namespace=S, promote=FLOAT, node="SpecialI0EBackward0")
def i0e(input: Array):
    """``exp(-|input|) * i0(input)``."""
    reject("i0e_cpu", input, COMPLEX)
    return jsp.i0e(input)


@i0e.vjp
def _(grad, input, result):
    return grad * (jsp.i1e(input) - jnp.sign(input) * result)


@op(namespace=S, promote=FLOAT, node="SpecialI1Backward0")
def i1(input: Array):
    """The modified Bessel function of the first kind, of order 1."""
    reject("i1_cpu", input, COMPLEX)
    return jsp.i1(input)


@i1.vjp
def _(grad, input, result):
    # At 0 the quotient has the limit 1/2.
    tiny = jnp.abs(input) <= jnp.finfo(input.dtype).eps
    return grad * jnp.where(tiny, 0.5, jsp.i0(input) - result / jnp.where(tiny, 1, input))


@op(namespace=S, promote=FLOAT, node="SpecialI1EBackward0")
def i1e(input: Array):
    """``exp(-|input|) * i1(input)``."""
    reject("i1e_cpu", input, COMPLEX)
    return jsp.i1e(input)


@i1e.vjp
def _(grad, input, result):
    tiny = jnp.abs(input) <= jnp.finfo(input.dtype).eps
    safe = jnp.where(tiny, 1, input)
    return grad * jnp.where(tiny, 0.5, jsp.i0e(input) - result * (jnp.sign(input) + 1 / safe))


def _in_double(f, x, *args):
    """``f`` of ``x`` computed in float64."""
    return f(*args, x.astype(np.float64)).astype(x.dtype)


@op(namespace=S, promote=FLOAT, differentiable=False)
def bessel_j0(input: Array):
    """The Bessel function of the first kind, of order 0."""
    reject("bessel_j0_cpu", input, COMPLEX)
    return _in_double(bessel.bessel_j, input, 0)


@op(namespace=S, promote=FLOAT, differentiable=False)
def bessel_j1(input: Array):
    """The Bessel function of the first kind, of order 1."""
    reject("bessel_j1_cpu", input, COMPLEX)
    return _in_double(bessel.bessel_j, input, 1)


@op(namespace=S, promote=FLOAT, differentiable=False)
def bessel_y0(input: Array):
    """The Bessel function of the second kind, of order 0."""
    reject("bessel_y0_cpu", input, COMPLEX)
    return _in_double(bessel.bessel_y, input, 0)


@op(namespace=S, promote=FLOAT, differentiable=False)
def bessel_y1(input: Array):
    """The Bessel function of the second kind, of order 1."""
    reject("bessel_y1_cpu", input, COMPLEX)
    return _in_double(bessel.bessel_y, input, 1)


@op(namespace=S, promote=FLOAT, differentiable=False)
def modified_bessel_i0(input: Array):
    """The modified Bessel function of the first kind, of order 0."""
    reject("modified_bessel_i0_cpu", input, COMPLEX)
    return jsp.i0(input)


@op(namespace=S, promote=FLOAT, differentiable=False)
def modified_bessel_i1(input: Array):
    """The modified Bessel function of the first kind, of order 1."""
    reject("modified_bessel_i1_cpu", input, COMPLEX)
    return jsp.i1(input)


def _modified_k(order: int, scaled: bool):
    return lambda x: bessel.modified_bessel_k(order, x, scaled)


@op(namespace=S, promote=FLOAT, differentiable=False)
def modified_bessel_k0(input: Array):
    """The modified Bessel function of the second kind, of order 0."""
    reject("modified_bessel_k0_cpu", input, COMPLEX)
    return _in_double(_modified_k(0, scaled=False), input)


@op(namespace=S, promote=FLOAT, differentiable=False)
def modified_bessel_k1(input: Array):
    """The modified Bessel function of the second kind, of order 1."""
    reject("modified_bessel_k1_cpu", input, COMPLEX)
    return _in_double(_modified_k(1, scaled=False), input)


@op(namespace=S, promote=FLOAT, differentiable=False)
def scaled_modified_bessel_k0(x: Array):
    """``exp(x)`` times the modified Bessel function of the second kind, of order 0."""
    reject("scaled_modified_bessel_k0_cpu", x, COMPLEX)
    return _in_double(_modified_k(0, scaled=True), x)


@op(namespace=S, promote=FLOAT, differentiable=False)
def scaled_modified_bessel_k1(x: Array):
    """``exp(x)`` times the modified Bessel function of the second kind, of order 1."""
    reject("scaled_modified_bessel_k1_cpu", x, COMPLEX)
    return _in_double(_modified_k(1, scaled=True), x)


@op(namespace=S, promote=FLOAT, differentiable=False)
def spherical_bessel_j0(x: Array):
    """``sin(x) / x``, 1 at 0."""
    reject("spherical_bessel_j0_cpu", x, COMPLEX)
    return jnp.where(jnp.isinf(x), 0, jnp.where(x == 0, 1, jnp.sin(x) / jnp.where(x == 0, 1, x)))


@op(namespace=S, promote=FLOAT, differentiable=False)
def airy_ai(x: Array):
    """The Airy function Ai."""
    reject("airy_ai_cpu", x, COMPLEX)
    return _in_double(bessel.airy_ai, x)


# -- orthogonal polynomials -------------------------------------------------------------------------------------------


@op(namespace=S, promote=FLOAT, differentiable=False)
def chebyshev_polynomial_t(x: Array | Scalar, n: Array | Scalar):
    """The Chebyshev polynomial of the first kind and degree ``n``."""
    reject("chebyshev_polynomial_t_cpu", x, COMPLEX)
    return polynomials.chebyshev("t", x, n)


@op(namespace=S, promote=FLOAT, differentiable=False)
def chebyshev_polynomial_u(x: Array | Scalar, n: Array | Scalar):
    """The Chebyshev polynomial of the second kind and degree ``n``."""
    reject("chebyshev_polynomial_u_cpu", x, COMPLEX)
    return polynomials.chebyshev("u", x, n)


@op(namespace=S, promote=FLOAT, differentiable=False)
def chebyshev_polynomial_v(x: Array | Scalar, n: Array | Scalar):
    """The Chebyshev polynomial of the third kind and degree ``n``."""
    reject("chebyshev_polynomial_v_cpu", x, COMPLEX)
    return polynomials.chebyshev("v", x, n)


@op(namespace=S, promote=FLOAT, differentiable=False)
def chebyshev_polynomial_w(x: Array | Scalar, n: Array | Scalar):
    """The Chebyshev polynomial of the fourth kind and degree ``n``."""
    reject("chebyshev_polynomial_w_cpu", x, COMPLEX)
    return polynomials.chebyshev("w", x, n)


@op(namespace=S, promote=FLOAT, differentiable=False)
def shifted_chebyshev_polynomial_t(x: Array | Scalar, n: Array | Scalar):
    """``chebyshev_polynomial_t(2 * x - 1, n)``."""
    return chebyshev_polynomial_t.body(2 * x - 1, n)


@op(namespace=S, promote=FLOAT, differentiable=False)
def shifted_chebyshev_polynomial_u(x: Array | Scalar, n: Array | Scalar):
    """``chebyshev_polynomial_u(2 * x - 1, n)``."""
    return chebyshev_polynomial_u.body(2 * x - 1, n)


@op(namespace=S, promote=FLOAT, differentiable=False)
def shifted_chebyshev_polynomial_v(x: Array | Scalar, n: Array | Scalar):
    """``chebyshev_polynomial_v(2 * x - 1, n)``."""
    return chebyshev_polynomial_v.body(2 * x - 1, n)


@op(namespace=S, promote=FLOAT, differentiable=False)
def shifted_chebyshev_polynomial_w(x: Array | Scalar, n: Array | Scalar):
    """``chebyshev_polynomial_w(2 * x - 1, n)``."""
    return chebyshev_polynomial_w.body(2 * x - 1, n)


@op(namespace=S, promote=FLOAT, differentiable=False)
def hermite_polynomial_h(x: Array | Scalar, n: Array | Scalar):
    """The physicists' Hermite polynomial of degree ``n``."""
    reject("hermite_polynomial_h_cpu", x, COMPLEX)
    return polynomials.hermite(x, n, physicists=True)


@op(namespace=S, promote=FLOAT, differentiable=False)
def hermite_polynomial_he(x: Array | Scalar, n: Array | Scalar):
    """The probabilists' Hermite polynomial of degree ``n``."""
    reject("hermite_polynomial_he_cpu", x, COMPLEX)
    return polynomials.hermite(x, n, physicists=False)


@op(namespace=S, promote=FLOAT, differentiable=False)
def laguerre_polynomial_l(x: Array | Scalar, n: Array | Scalar):
    """The Laguerre polynomial of degree ``n``."""
    reject("laguerre_polynomial_l_cpu", x, COMPLEX)
    return polynomials.laguerre(x, n)


@op(namespace=S, promote=FLOAT, differentiable=False)
def legendre_polynomial_p(x: Array | Scalar, n: Array | Scalar):
    """The Legendre polynomial of degree ``n``."""
    reject("legendre_polynomial_p_cpu", x, COMPLEX)
    return polynomials.legendre(x, n)
