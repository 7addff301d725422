"""``__torch_function__``: types of the user's that take over operators, and Tensor subclasses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchlike.autograd.tape import Variable
from torchlike.tensor.tensor import Tensor


def _default_torch_function(cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a Tensor subclass does unless it says otherwise: compute on plain tensors, return its own type."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return convert(result, cls)


Tensor.__torch_function__ = classmethod(_default_torch_function)  # type: ignore[attr-defined]
_DEFAULT = Tensor.__torch_function__.__func__  # type: ignore[attr-defined]
_disabled = 0
PRESERVED: set[type] = {Tensor}  # types whose operators give plain tensors


class DisableTorchFunctionSubclass:
    """Inside, subclasses are treated as plain tensors."""

    def __enter__(self) -> None:
        global _disabled
        _disabled += 1

    def __exit__(self, *error: object) -> None:
        global _disabled
        _disabled -= 1


def convert(result: Any, cls: type) -> Any:
    """Tensors in a result as instances of ``cls``."""
    if cls in PRESERVED:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)(convert(r, cls) for r in result)
    return result


def _overrides(x: Any) -> bool:
    own = getattr(type(x), "__torch_function__", None)
    if own is None or isinstance(x, type):
        return False
    return getattr(own, "__func__", own) is not _DEFAULT and own is not _disabled_torch_function_impl


def _disabled_torch_function_impl(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a subclass sets as its ``__torch_function__`` to be treated as a plain tensor."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def overridden(arguments: Iterable[Any]) -> list[Any] | None:
    """The arguments that take over the operator, most derived first; None when nobody does."""
    if _disabled:
        return None
    found: list[Any] = []
    for x in arguments:
        if x.__class__ is not Tensor and _overrides(x) and not any(type(x) is type(f) for f in found):
            place = next((i for i, f in enumerate(found) if issubclass(type(x), type(f))), len(found))
            found.insert(place, x)
    return found or None


def handle(handlers: Sequence[Any], form: Callable[..., Any], tensors: Sequence[Any], op: Any, arguments: dict[str, Any]) -> Any:
    """Ask the handlers in turn; ``TypeError`` when all refuse."""
    positional = tuple(arguments[p.name] for p in op.params if not p.kw_only)
    keyword = {p.name: arguments[p.name] for p in op.params if p.kw_only and arguments[p.name] != p.default}
    return dispatch(handlers, form, tensors, positional, keyword)


def dispatch(handlers: Sequence[Any], form: Callable[..., Any], tensors: Sequence[Any], args: Any, kwargs: Any) -> Any:
    """Call ``__torch_function__`` of the handlers until one answers."""
    types = tuple({type(t): None for t in tensors if hasattr(type(t), "__torch_function__") and type(t) is not Tensor})
    for h in handlers:
        answer = type(h).__torch_function__(form, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    raise TypeError(
        f"no implementation found for '{form.__name__}' on types that implement __torch_function__: "
        f"{[type(h).__name__ for h in handlers]}"
    )


def result_class(arguments: Iterable[Any]) -> type | None:
    """The subclass that results take: that of the first operand which is a plain subclass of Tensor."""
    if _disabled:
        return None
    for x in arguments:
        if isinstance(x, Variable) and type(x) not in PRESERVED:
            return type(x)
    return None
