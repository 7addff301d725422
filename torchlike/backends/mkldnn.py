"""``torch.backends.mkldnn``: oneDNN, which XLA does not use; its switches can be set."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from torchlike.backends import precision
from torchlike.backends.switches import Switch, Switches, scoped, set_switches

__all__ = ["flags", "is_acl_available", "is_available", "set_flags"]


def is_available() -> bool:
    """Whether oneDNN is there: no."""
    return False


def is_acl_available() -> bool:
    """Whether oneDNN can use Arm's compute library: no."""
    return False


def set_flags(_enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None,
              _fp32_precision: str = "none") -> tuple[Any, ...]:  # fmt: skip
    """Set those given; returns what they all were."""
    return set_switches(_switches, enabled=_enabled, deterministic=_deterministic, allow_tf32=_allow_tf32, fp32_precision=_fp32_precision)


def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none") -> AbstractContextManager[None]:
    """All the switches, within the block."""
    return scoped(_switches, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32, fp32_precision=fp32_precision)


class _Mkldnn(Switches):
    enabled = Switch(True)
    deterministic = Switch(False)
    allow_tf32 = Switch(False)
    fp32_precision = precision.Precision("mkldnn")
    matmul = precision.PrecisionOf("mkldnn", "matmul")
    conv = precision.PrecisionOf("mkldnn", "conv")
    rnn = precision.PrecisionOf("mkldnn", "rnn")


_switches: Any = sys.modules[__name__]
_Mkldnn.become(__name__)
