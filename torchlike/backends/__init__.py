"""``torch.backends``: what libraries ask about the machine, and switches for speed and precision.

XLA does here what torch hands to cuDNN, MKL, oneDNN and others, so most answers are that those are not there. A switch that
is only a hint for speed (``cudnn.benchmark``) is kept and may be set: XLA tunes by itself. A switch that changes numbers works
(see ``precision``).
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager

from torchlike.backends import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
)
from torchlike.backends.precision import Precision
from torchlike.backends.switches import Switches, scoped

__all__ = [
    "cpu", "cuda", "cudnn", "cusparselt", "flags", "fp32_precision", "kleidiai", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp",  # noqa: F822
    "opt_einsum", "quantized",
]  # fmt: skip


class _Backends(Switches):
    fp32_precision = Precision("generic")


def flags(fp32_precision: str = "none") -> AbstractContextManager[None]:
    """``fp32_precision`` for everything, within the block."""
    return scoped(sys.modules[__name__], fp32_precision=fp32_precision)


_Backends.become(__name__)
