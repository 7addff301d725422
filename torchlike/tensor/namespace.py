"""Puts the facade together: builds every callable, attaches methods and operators to ``Tensor``."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from torchlike import ops
from torchlike.tensor import conversion, creation, facade, functions, legacy, overrides, shape
from torchlike.tensor.dispatch import Registry, binary_operator
from torchlike.tensor.tensor import Tensor

registry = Registry()
registry.load(ops.modules())

FACADES = [shape, conversion, creation, functions]
for _name in ("functions_dynamic", "functions_linalg", "functions_windows"):
    if importlib.util.find_spec(f"torchlike.tensor.{_name}"):
        FACADES.append(importlib.import_module(f"torchlike.tensor.{_name}"))


def attach(modules: Sequence[ModuleType]) -> None:
    """Add facade functions (of this layer or one above) to the registry and to ``Tensor``."""
    facade.load(registry, modules)
    for name, method in registry.methods.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, method)


attach(FACADES)

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
    "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}  # fmt: skip
_COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def _attach_operators() -> None:
    functions_ = registry.functions["torch"]
    for python, torch_name in _BINARY.items():
        function = functions_.get(torch_name)
        if function is None:
            continue
        setattr(Tensor, f"__{python}__", binary_operator(f"__{python}__", function))
        setattr(Tensor, f"__r{python}__", binary_operator(f"__r{python}__", function, reflected=True))
        inplace = registry.methods.get(f"{torch_name}_")
        if inplace is not None:
            setattr(Tensor, f"__i{python}__", inplace)
    for python, torch_name in _COMPARE.items():
        function = functions_.get(torch_name)
        if function is not None:
            setattr(Tensor, f"__{python}__", binary_operator(f"__{python}__", function))
    for python, torch_name in {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}.items():
        if torch_name in functions_:
            setattr(Tensor, f"__{python}__", functions_[torch_name])


_attach_operators()
Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]

for _name in ("indexing", "storage_handles"):
    importlib.import_module(f"torchlike.tensor.{_name}")
LEGACY_TYPES: dict[str, Any] = legacy.tensor_types()
overrides.PRESERVED.add(Tensor)


def exports(namespace: str = "torch") -> dict[str, Any]:
    """The functions of a torch namespace."""
    return dict(registry.functions[namespace])
