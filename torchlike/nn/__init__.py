"""``torch.nn``: modules, parameters, functional, init, utils."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from torchlike.nn import functional, init
from torchlike.nn.modules import activation, batchnorm, container, conv, dropout, flatten, linear, loss, normalization, pooling, sparse
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

_FILES = (activation, batchnorm, container, conv, dropout, flatten, linear, loss, normalization, pooling, sparse)
for _file in _FILES:
    for _name, _object in vars(_file).items():
        if inspect.isclass(_object) and issubclass(_object, Module) and not _name.startswith("_"):
            globals()[_name] = _object

_SUBMODULES = ("utils", "parallel", "attention", "modules", "parameter")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"torchlike.nn.{name}")
    raise AttributeError(f"module 'torch.nn' has no attribute '{name}'")
