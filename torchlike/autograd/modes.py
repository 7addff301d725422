"""Grad modes: ``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``; context managers and decorators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from torchlike.engine import local

F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Whether operators are put on the tape in this thread."""
    return local.grad


def is_inference_mode_enabled() -> bool:
    """Whether ``inference_mode`` is active in this thread."""
    return local.inference


class _GradMode:
    """A context manager that sets the grad mode and restores it; decorates functions, generators and classes alike."""

    def __init__(self, grad: bool, inference: bool | None = None) -> None:
        self._grad, self._inference = grad, inference
        self._before: list[tuple[bool, bool]] = []

    def _fresh(self) -> _GradMode:
        fresh = object.__new__(type(self))
        _GradMode.__init__(fresh, self._grad, self._inference)
        return fresh

    def __enter__(self) -> None:
        self._before.append((local.grad, local.inference))
        local.grad = self._grad
        if self._inference is not None:
            local.inference = self._inference

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        local.grad, local.inference = self._before.pop()

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                # The mode holds while the generator's body runs, not while its consumer does.
                inner = function(*args, **kwargs)
                try:
                    with self._fresh():
                        item = next(inner)
                    while True:
                        try:
                            sent = yield item
                        except GeneratorExit:
                            inner.close()
                            raise
                        except BaseException as error:
                            with self._fresh():
                                item = inner.throw(error)
                        else:
                            with self._fresh():
                                item = inner.send(sent)
                except StopIteration as stop:
                    return stop.value

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return function(*args, **kwargs)

        return decorated  # type: ignore[return-value]


class no_grad(_GradMode):
    """Operators inside are not put on the tape: ``with no_grad(): ...`` or ``@no_grad()``."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        instance = object.__new__(cls)
        if orig_func is None:
            return instance
        instance.__init__()  # type: ignore[misc]
        return instance(orig_func)

    def __init__(self, orig_func: Callable[..., Any] | None = None) -> None:
        super().__init__(False)


class enable_grad(_GradMode):
    """Operators inside are put on the tape again: ``with enable_grad(): ...`` or ``@enable_grad()``."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        instance = object.__new__(cls)
        if orig_func is None:
            return instance
        instance.__init__()  # type: ignore[misc]
        return instance(orig_func)

    def __init__(self, orig_func: Callable[..., Any] | None = None) -> None:
        super().__init__(True)


class set_grad_enabled(_GradMode):
    """Sets the grad mode at once; as a context manager it restores the mode at the end, as a decorator it wraps."""

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self.mode = bool(mode)
        self._outer = (local.grad, local.inference)
        local.grad = self.mode

    def __enter__(self) -> None:
        self._before.append(self._outer)
        local.grad = self._grad

    def __call__(self, function: F) -> F:
        local.grad = self._outer[0]  # a decorator changes nothing until the function is called
        return super().__call__(function)


class inference_mode(_GradMode):
    """``no_grad`` whose results can never enter a graph: ``with inference_mode(): ...`` or ``@inference_mode()``."""

    def __new__(cls, mode: Any = True) -> Any:
        instance = object.__new__(cls)
        if isinstance(mode, bool):
            return instance
        instance.__init__(True)  # type: ignore[misc]
        return instance(mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(not mode, mode)
        self.mode = mode

    def __enter__(self) -> None:
        self._before.append((local.grad, local.inference))
        if self.mode:
            local.grad, local.inference = False, True
        else:
            local.inference = False


class force_original_view_tracking(_GradMode):
    """Accepted for its grad-mode behaviour: views are always tracked by their base here, whatever the mode says."""

    def __init__(self, mode: bool) -> None:
        super().__init__(local.grad)
