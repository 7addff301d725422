"""``torch.optim``: each optimizer is a composition of optax transformations, run as one recorded operator."""

from __future__ import annotations

import importlib
from typing import Any

from torchlike.optim import lr_scheduler
from torchlike.optim.adam import Adam, AdamW
from torchlike.optim.optimizer import Optimizer
from torchlike.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]


def __getattr__(name: str) -> Any:
    if name in ("swa_utils",):
        return importlib.import_module(f"torchlike.optim.{name}")
    raise AttributeError(f"module 'torch.optim' has no attribute '{name}'")
