"""``torch.backends.opt_einsum``: the order in which einsum contracts its operands."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from torchlike.backends.switches import Switch, Switches, scoped, set_switches

__all__ = ["flags", "get_opt_einsum", "is_available", "set_flags"]


def is_available() -> bool:
    """Whether the package is there; it is, JAX needs it."""
    return True


def get_opt_einsum() -> Any:
    """The package ``opt_einsum``."""
    import opt_einsum

    return opt_einsum


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[bool, str]:
    """Set those given; returns what both were."""
    before = set_switches(_switches, enabled=_enabled, strategy=_strategy)
    return before[0], before[1]


def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]:
    """Both, within the block."""
    return scoped(_switches, enabled=enabled, strategy=strategy)


class _OptEinsum(Switches):
    enabled = Switch(True)
    strategy = Switch("auto", choices=("auto", "greedy", "optimal"))


_switches: Any = sys.modules[__name__]
_OptEinsum.become(__name__)
