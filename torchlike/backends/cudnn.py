"""``torch.backends.cudnn``: convolutions on NVIDIA GPUs, which XLA hands to cuDNN and tunes by itself."""

from __future__ import annotations

import importlib.metadata
import sys
from contextlib import AbstractContextManager
from typing import Any

from torchlike.backends import precision
from torchlike.backends.switches import Switch, Switches, scoped, set_switches

__all__ = ["flags", "is_acceptable", "is_available", "set_flags", "version"]


def version() -> int | None:
    """CuDNN's version as one number (91002 is 9.10.2); None without it."""
    for package in ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13"):
        try:
            major, minor, patch = importlib.metadata.version(package).split(".")[:3]
        except importlib.metadata.PackageNotFoundError:
            continue
        return int(major) * 10000 + int(minor) * 100 + int(patch)
    return None


def is_available() -> bool:
    """Whether cuDNN is installed for JAX."""
    return version() is not None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would work on the tensor: a floating-point one on a GPU."""
    return _switches.enabled and is_available() and tensor.device.type == "cuda" and tensor.is_floating_point()


def set_flags(_enabled: bool | None = None, _benchmark: bool | None = None, _benchmark_limit: int | None = None,
              _deterministic: bool | None = None, _allow_tf32: bool | None = None, _fp32_precision: str = "none") -> tuple[Any, ...]:  # fmt: skip
    """Set those given; returns what they all were."""
    return set_switches(_switches, enabled=_enabled, benchmark=_benchmark, benchmark_limit=_benchmark_limit,
                        deterministic=_deterministic, allow_tf32=_allow_tf32, fp32_precision=_fp32_precision)  # fmt: skip


def flags(enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False, allow_tf32: bool = True,
          fp32_precision: str = "none") -> AbstractContextManager[None]:  # fmt: skip
    """All the switches, within the block; as in torch, those not given get these defaults, not what they were."""
    return scoped(_switches, enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit, deterministic=deterministic,
                  allow_tf32=allow_tf32, fp32_precision=fp32_precision)  # fmt: skip


class _Cudnn(Switches):
    # Speed only, for cuDNN's own choice of algorithms: XLA has its autotuner.
    enabled = Switch(True)
    benchmark = Switch(False)
    benchmark_limit = Switch(10)
    # Read by the engine when it compiles for a GPU.
    deterministic = Switch(False)
    fp32_precision = precision.Precision("cuda")
    conv = precision.PrecisionOf("cuda", "conv")
    rnn = precision.PrecisionOf("cuda", "rnn")

    @property
    def allow_tf32(self) -> bool:
        return precision.effective("cuda", "conv") == "tf32"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        for operation in ("conv", "rnn"):
            precision.assign("cuda", operation, "tf32" if allowed else "none")


_switches: Any = sys.modules[__name__]
_Cudnn.become(__name__)
