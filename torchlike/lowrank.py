"""``svd_lowrank`` and ``pca_lowrank``: the leading singular vectors from products with a few random vectors.

Halko, Martinsson and Tropp, "Finding structure with randomness: probabilistic algorithms for constructing approximate matrix
decompositions" (2009), algorithms 4.4 and 5.1.
"""

from __future__ import annotations

import torchlike as torch
from torchlike import Tensor


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """``q`` orthonormal columns that nearly span the range of ``A``, after ``niter`` steps of subspace iteration."""
    Q = torch.linalg.qr(A @ torch.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(niter):
        Q = torch.linalg.qr(A.mH @ Q).Q
        Q = torch.linalg.qr(A @ Q).Q
    return Q


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """``U, S, V`` with ``A - M`` near ``U diag(S) V^H`` and ``q`` singular values: ``(*, m, q), (*, q), (*, n, q)``."""
    if M is not None:
        A = A - M
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A = A.mT
    Q = _basis(A, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = torch.linalg.svd(Q.mH @ A, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """``svd_lowrank`` of ``A``, its columns centred first: ``V`` has the principal directions of the rows."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not A.is_floating_point():
        raise ValueError(f"input must be a floating point tensor, got {A.dtype}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
