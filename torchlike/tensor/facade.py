"""``@facade``: torch functions that are compositions at the level of tensors, not operators of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TypeVar

from torchlike.autograd.tape import Variable
from torchlike.tensor import overrides
from torchlike.tensor.dispatch import TENSORS, Registry, make_inplace

F = TypeVar("F", bound=Callable[..., Any])


def facade(
    *,
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    name: str | None = None,
    namespace: str = "torch",
    aliases: Sequence[str] = (),
    override: bool = True,
) -> Callable[[F], F]:
    """Say under which names and in which forms a function is part of torch's API.

    With ``override``, ``__torch_function__`` of the tensors among the first two arguments is respected.
    """

    def declare(f: F) -> F:
        if override:
            inner = f

            @functools.wraps(inner)
            def f(*args: Any, **kwargs: Any) -> Any:  # type: ignore[no-redef]
                if args and args[0].__class__ not in TENSORS:
                    tensors = [a for a in args[:3] if _tensor_like(a)]
                    if args[0].__class__ in (tuple, list):
                        tensors = [a for a in args[0] if _tensor_like(a)] + tensors
                    handlers = overrides.overridden(tensors)
                    if handlers is not None:
                        return overrides.dispatch(handlers, f, tensors, args, kwargs)
                    cls = overrides.result_class(tensors)
                    if cls is not None:
                        return overrides.convert(inner(*args, **kwargs), cls)
                return inner(*args, **kwargs)

        f.torchlike_forms = dict(  # type: ignore[attr-defined]
            function=function, method=method, inplace=inplace, name=name or f.__name__, namespace=namespace, aliases=tuple(aliases)
        )
        return f

    return declare


def _tensor_like(x: Any) -> bool:
    return isinstance(x, Variable) or hasattr(type(x), "__torch_function__")


def load(registry: Registry, modules: Sequence[ModuleType]) -> None:
    """Add the facade functions of modules to the registry."""
    for module in modules:
        for f in vars(module).values():
            forms = getattr(f, "torchlike_forms", None)
            if forms is None or f.__module__ != module.__name__:
                continue
            for name in (forms["name"], *forms["aliases"]):
                where, dot, last = name.rpartition(".")
                namespace = where if dot else forms["namespace"]
                if forms["function"]:
                    registry.functions[namespace][last] = f
                if forms["method"] and not dot:
                    registry.methods[last] = f
                if forms["inplace"]:
                    inplace = make_inplace(f"{last}_", f)
                    if forms["method"] and not dot:
                        registry.methods[f"{last}_"] = inplace
                    if forms["function"]:
                        registry.functions[namespace][f"{last}_"] = inplace
