"""``torch.utils``: data loading, checkpointing and tools. Submodules are imported when they are first used."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

_SUBMODULES = {m.name for m in pkgutil.iter_modules(__path__)}


def __getattr__(name: str) -> Any:
    if name not in _SUBMODULES:
        raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})
