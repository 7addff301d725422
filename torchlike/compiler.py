"""``torch.compiler``: what code asks and tells the compiler behind ``torch.compile``. Programs come from recording here, so the
answers are those of code that runs eagerly, and hints about tracing change nothing.
"""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling",
           "is_exporting", "list_backends", "nested_compile_region", "reset"]  # fmt: skip

T = TypeVar("T")


def compile(model: Any = None, **options: Any) -> Any:
    """The function or module itself, or the decorator for it: what it computes is recorded and compiled as it runs.

    Options (``fullgraph``, ``dynamic``, ``backend``, ``mode``, ``options``, ``disable``) steer how torch's compiler goes about
    it, not what is computed.

    Raises:
        TypeError: an option that ``torch.compile`` does not have.
    """
    unknown = options.keys() - {"fullgraph", "dynamic", "backend", "mode", "options", "disable"}
    if unknown:
        raise TypeError(f"compile() got an unexpected keyword argument '{min(unknown)}'")
    return (lambda f: f) if model is None else model


def is_compiling() -> bool:
    """Whether the code is being traced by ``torch.compile`` or ``torch.export``: no, it runs."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether the code is being traced by ``torch.compile``: no, it runs."""
    return False


def is_exporting() -> bool:
    """Whether the code is being traced by ``torch.export``: no, it runs."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, or the decorator for it: it runs eagerly, as is asked."""
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: T) -> T:
    """The function itself."""
    return fn


def assume_constant_result(fn: T) -> T:
    """The function itself."""
    return fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function itself, or the decorator for it."""
    return (lambda f: f) if fn is None else fn


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no CUDA graphs whose memory a new step could reuse."""


def reset() -> None:
    """Nothing: ``torch.compile`` keeps no state that changes results."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The backends of ``torch.compile``: XLA."""
    return ["xla"]
