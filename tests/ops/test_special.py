"""Special functions against torch, and where torch is less exact than we are, against what is known."""

import math

import numpy as np
import pytest

from tests.ops.expressions import assert_same, assert_same_gradients, torchlike

ONE = (
    "erf erfc erfinv erfcx ndtr ndtri log_ndtr gammaln digamma psi entr i0 i0e i1 i1e modified_bessel_i0 modified_bessel_i1 "
    "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 bessel_j0 bessel_j1 "
    "bessel_y0 bessel_y1 expit exp2 expm1 log1p logit sinc"
).split()
INPUTS = {
    "f32": "t([-2.5, -0.5, 0.25, 0.5, 0.75, 1., 2., 3.5, 20.])",
    "special": "t([0., nan, inf, 1., -1.])",
    "i64": "t([1, 2, 3])",
    "b": "t([True])",
    "c64": "t([1j])",
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", ONE)
def test_values(name, kind):
    assert_same(f"torch.special.{name}({INPUTS[kind]})")


POLYNOMIALS = "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h " \
    "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t " \
    "shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w"  # fmt: skip


@pytest.mark.parametrize("degree", ["t([0, 1, 2, 3, 7, 10, -1, 4])", "5", "t([2., 3.7, 1., 0., 9., 12., 2., 1.])"])
@pytest.mark.parametrize("name", POLYNOMIALS.split())
def test_polynomials(name, degree):
    assert_same(f"torch.special.{name}(t([-1., -0.5, 0., 0.3, 0.9, 1., 1.5, -2.], f64), {degree})")


ROWS = """
torch.polygamma(0, t([0.5, 2.]))
torch.polygamma(1, t([0.5, 2., -1.5]))
torch.polygamma(3, t([0.5, 2., -1.5], f64))
torch.polygamma(-1, t([0.5]))
t([0.5, 2.]).polygamma(2)
t([0.5, 2.]).polygamma_(1)
torch.special.polygamma(2, t([1, 2]))
torch.mvlgamma(t([3., 4.]), 2)
torch.mvlgamma(t([3., 4.]), 0)
torch.special.multigammaln(t([3., 4.]), 3)
torch.igamma(t([1., 2., 0.5]), t([0.5, 3., 0.]))
torch.igammac(t([1., 2., 0.5]), t([0.5, 3., 0.]))
torch.special.gammainc(t([1]), t([2]))
torch.special.zeta(t([2., 1., 0.5, 3., 2.5, 2.]), t([1., 1., 1., -1., -0.5, -0.5]))
torch.special.zeta(2, t([1., 3.]))
torch.special.zeta(t([2., 3.]), 1.)
torch.special.xlog1py(t([0., 1., 0.]), t([-1., 2., nan]))
torch.special.xlogy(2, t([1., 3.]))
torch.digamma(t([0., -1., -0.5, 1e-3]))
torch.lgamma(t([-0.5, 0., 100.]))
torch.special.airy_ai(t([-3., 0., 1., 5.], f64))
torch.special.round(t([1.25, 2.5]), decimals=1)
torch.special.softmax(t([1., 2.]), 0)
torch.special.logsumexp(t([1., 2.]), 0)
torch.erf(t([0.5], f16))
torch.erfinv(t([-1., 1., 2.]))
t([0.5]).erfinv_()
""".strip().splitlines()


@pytest.mark.parametrize("expression", ROWS)
def test_rows(expression):
    assert_same(expression)


_X = {"x": [0.3, 0.7, 1.5, 2.5]}
GRADIENTS = [
    *[(f"torch.special.{n}(x)", _X) for n in (
        "erf erfc erfcx ndtr log_ndtr gammaln digamma i0 i0e i1 i1e entr").split()],
    ("torch.erfinv(x)", {"x": [-0.5, 0.1, 0.9]}), ("torch.special.ndtri(x)", {"x": [0.1, 0.5, 0.9]}),
    ("torch.polygamma(1, x)", _X), ("torch.polygamma(2, x)", _X), ("torch.mvlgamma(x + 2, 2)", _X),
    ("torch.special.zeta(t(2.5, f64), x)", _X),
    ("torch.special.xlog1py(x, y)", {"x": [1.0, 2.0], "y": [0.5, 1.5]}),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "leaves"), GRADIENTS, ids=[e for e, _ in GRADIENTS])
def test_gradients(expression, leaves):
    assert_same_gradients(expression, leaves, second=True)


# First zeros of the functions (Abramowitz and Stegun, tables 9.5 and 10.13), where relative errors would show.
ZEROS = {"bessel_j0": 2.404825557695773, "bessel_j1": 3.831705970207512, "bessel_y0": 0.893576966279167,
         "bessel_y1": 2.197141326031017, "airy_ai": -2.338107410459767}  # fmt: skip


@pytest.mark.parametrize("name", ZEROS)
def test_bessel_zeros(name):
    at = torchlike.from_numpy(np.array([ZEROS[name]]))
    assert abs(getattr(torchlike.special, name)(at).item()) < 1e-15


def test_bessel_far_from_zero():
    x = torchlike.from_numpy(np.array([30.0, 1000.0]))
    j0, y0 = (getattr(torchlike.special, n)(x) for n in ("bessel_j0", "bessel_y0"))
    j1, y1 = (getattr(torchlike.special, n)(x) for n in ("bessel_j1", "bessel_y1"))
    # The Wronskian, DLMF 10.5.2.
    np.testing.assert_allclose((j1 * y0 - j0 * y1).numpy(), 2 / (math.pi * x.numpy()), rtol=1e-13)
