"""``torch._dynamo``: the names of it that programs use although it is private; each is a hint to a tracer that is not there."""

from __future__ import annotations

from typing import Any

from torchlike.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset

__all__ = ["allow_in_graph", "assume_constant_result", "disable", "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static",
           "mark_static_address", "maybe_mark_dynamic", "reset"]  # fmt: skip


def graph_break(msg: str = "") -> None:
    """Nothing: there is no graph to break."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Nothing: a program is made for the sizes that it meets."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Nothing: a program is made for the sizes that it meets."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: every size is static."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Nothing: there are no CUDA graphs that addresses mattered to."""
