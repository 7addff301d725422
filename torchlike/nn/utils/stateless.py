"""``functional_call``: a module called with other parameters and buffers than its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torchlike.nn.modules.module import Module
from torchlike.nn.parallel.data_parallel import DataParallel
from torchlike.tensor.tensor import Tensor

__all__ = ["functional_call"]


def _tied(module: Module) -> list[set[str]]:
    """The groups of names that stand for one tensor."""
    names: dict[int, set[str]] = {}
    for kind in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, t in kind:
            names.setdefault(id(t), set()).add(name)
    return [group for group in names.values() if len(group) > 1]


def _with_ties(module: Module, given: dict[str, Any]) -> dict[str, Any]:
    """``given`` completed by the other names of tied tensors. ``ValueError`` when they contradict each other."""
    full = dict(given)
    for group in _tied(module):
        values = {id(given[n]): given[n] for n in group if n in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(n for n in group if n in given)}, which are tied. Consider using "
                "tie_weights=False"
            )
        for value in values.values():
            full.update(dict.fromkeys(group, value))
    return full


def _find(module: Any, name: str) -> tuple[Any, str]:
    """The submodule that holds a dotted name, and the last part."""
    path, _, last = name.rpartition(".")
    for part in path.split(".") if path else ():
        if not hasattr(module, part) or not isinstance(getattr(module, part), Module):
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`" if not hasattr(module, part) else f"`{part}` is not an nn.Module")
        module = getattr(module, part)
    return module, last


_ABSENT = object()


def _swap(module: Any, name: str, value: Any) -> Any:
    """Put ``value`` where the tensor ``name`` is, past all checks; gives what was there."""
    for place in (module._parameters, module._buffers):
        if name in place:
            before, place[name] = place[name], value
            if value is _ABSENT:
                del place[name]
            return before
    before = module.__dict__.get(name, _ABSENT)
    if before is _ABSENT and isinstance(getattr(type(module), name, None), property):
        raise AttributeError(f"`{name}` of {type(module).__name__} is computed: pass its originals instead")
    if value is _ABSENT:
        del module.__dict__[name]
    else:
        module.__dict__[name] = value
    return before


@contextmanager
def _reparametrize_module(module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False,
                          strict: bool = False, stack_weights: bool = False) -> Iterator[None]:  # fmt: skip
    """A block in which the module has the given tensors. In-place changes of buffers are made to the given ones."""
    values = _with_ties(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        own = {n for n, _ in module.named_parameters(remove_duplicate=False)} | {n for n, _ in module.named_buffers(remove_duplicate=False)}
        missing, unexpected = sorted(own - values.keys()), sorted(values.keys() - own)
        if missing or unexpected:
            parts = [f"Unexpected key(s): {', '.join(map(repr, unexpected))}."] if unexpected else []
            parts += [f"Missing key(s): {', '.join(map(repr, missing))}."] if missing else []
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(parts))
    swapped: list[tuple[Any, str, Any, str]] = []
    try:
        for name, value in values.items():
            holder, last = _find(module, name)
            if not isinstance(value, Tensor):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            swapped.append((holder, last, _swap(holder, last, value), name))
        yield
    finally:
        for holder, last, before, name in reversed(swapped):
            now = _swap(holder, last, before)
            if name in parameters_and_buffers and isinstance(now, Tensor):
                parameters_and_buffers[name] = now  # a buffer that was assigned anew in the call


def _functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None, kwargs: dict[str, Any] | None = None,
                     *, tie_weights: bool = True, strict: bool = False) -> Any:  # fmt: skip
    """``functional_call`` without the warning that it moved."""
    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


def functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None, kwargs: dict[str, Any] | None = None,
                    *, tie_weights: bool = True, strict: bool = False) -> Any:  # fmt: skip
    """Call ``module`` with the tensors of ``parameters_and_buffers`` (by dotted name) in place of its own.

    With ``tie_weights`` tensors that are shared in the module stay shared; with ``strict`` all names must be given.
    """
    warnings.warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. Please use "
        "torch.func.functional_call instead which is a drop-in replacement for this API.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
