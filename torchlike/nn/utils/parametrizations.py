"""Ready-made parametrizations: ``orthogonal``, ``weight_norm``, ``spectral_norm``."""

from __future__ import annotations

import enum
from typing import Any

import torchlike as torch
from torchlike.autograd.modes import no_grad
from torchlike.nn import functional as F
from torchlike.nn.modules.module import Module
from torchlike.nn.utils.parametrize import register_parametrization
from torchlike.nn.utils.spectral_norm import TRANSPOSED
from torchlike.nn.utils.weight_norm import norm_except_dim, normalized
from torchlike.tensor.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(q: Tensor) -> bool:
    """Whether the columns are orthonormal up to rounding."""
    n, k = q.size(-2), q.size(-1)
    eye = torch.eye(k, dtype=q.dtype, device=q.device)
    return bool(torch.allclose(q.mH @ q, eye, atol=10.0 * n * torch.finfo(q.dtype).eps))


def _make_orthogonal(a: Tensor) -> Tensor:
    """The factor Q of the QR decomposition of a tall matrix whose R has a positive diagonal."""
    x, tau = torch.geqrf(a)
    q = torch.linalg.householder_product(x, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(enum.Enum):
    matrix_exp = enum.auto()
    cayley = enum.auto()
    householder = enum.auto()


class _Orthogonal(Module):
    """Maps any matrix to an orthogonal one, times ``base`` with trivialization (Lezcano-Casado, 2019)."""

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        x = X.mT if wide else X
        n, k = x.size(-2), x.size(-1)
        if self.orthogonal_map is _OrthMaps.householder:
            a = x.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (a * a).sum(dim=-2))
            q = torch.linalg.householder_product(a, tau)
            # The diagonal is 1 or -1: the signs of the reflections.
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            x = x.tril()
            if n != k:
                x = torch.cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
            a = x - x.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                q = torch.matrix_exp(a)
            else:
                eye = torch.eye(n, dtype=a.dtype, device=a.device)
                q = torch.linalg.solve(eye - 0.5 * a, eye + 0.5 * a)
            if n != k:
                q = q[..., :k]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """The matrix that maps to ``Q`` (made orthogonal first)."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        wide = Q.size(-2) < Q.size(-1)
        q = Q.mT if wide else Q
        n, k = q.size(-2), q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                )
            a, tau = torch.geqrf(q)
            a.diagonal(dim1=-2, dim2=-1).sign_()
            a.diagonal(dim1=-2, dim2=-1).mul_(torch.where(tau == 0.0, -1.0, 1.0))
            return a.mT if wide else a
        if n == k:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:
            more = torch.randn(*q.size()[:-2], n, n - k, dtype=q.dtype, device=q.device)
            q = _make_orthogonal(torch.cat([q, more], dim=-1))
        self.base = q
        # Minus the identity is what all the maps send to the identity: its diagonal holds the reflections' signs.
        start = torch.zeros_like(Q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Module:
    """Keep a matrix (or batch of them) orthogonal.

    ``orthogonal_map``: "matrix_exp" (default for square and complex matrices), "cayley" or "householder" (default otherwise).
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    kind = getattr(_OrthMaps, orthogonal_map, None)
    if kind is None:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    return register_parametrization(module, name, _Orthogonal(weight, kind, use_trivialization=use_trivialization), unsafe=True)


class _WeightNorm(Module):
    """``g v / |v|`` of ``original0`` and ``original1``."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalized(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Length and direction."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Learn length and direction of a weight; loads state_dicts of ``torch.nn.utils.weight_norm`` too."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def accept_old_names(state_dict: Any, prefix: str, *rest: Any) -> None:
        old = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(accept_old_names)
    return module


class _SpectralNorm(Module):
    """The weight over its largest singular value, estimated by power iteration."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:  # of a vector it is the norm
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            h, w = matrix.size()
            u = matrix.new_empty(h).normal_(0, 1)
            v = matrix.new_empty(w).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(torch.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the backward of this call must not see the updates of the next one.
        u, v = self._u.clone(), self._v.clone()
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself."""
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:  # fmt: skip
    """Divide a weight by its largest singular value. ``dim``: that of the outputs (1 for transposed convolutions)."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
