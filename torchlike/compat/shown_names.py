"""Under the alias classes say that they are torch's: ``type(x)`` prints ``<class 'torch.Tensor'>``.

Programs print types, and libraries tell layers by ``type(m).__module__.startswith("torch.nn")``. A class gets torch's module
when torch has a class of that name in the module of the same path; the most used ones live elsewhere here and are torch's own
(``torch.Tensor``). Checkpoints are not touched: the serializer is told the names, which are those that it writes anyway.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from torchlike.compat import names
from torchlike.compat.gaps import theirs

__all__ = ["as_torchs", "rename", "restore"]

_SERIALIZER = "torchlike.serialization.torch_names"
_renamed: dict[type, str] = {}


def _rename(cls: type, module: str) -> None:
    _renamed[cls] = cls.__module__
    cls.__module__ = module
    _tell_serializer({cls: module})


def _tell_serializer(classes: dict[type, str]) -> None:
    serializer: Any = sys.modules.get(_SERIALIZER)
    if hasattr(serializer, "register"):  # it may be half loaded; it is told of all classes when it is complete
        for cls, module in classes.items():
            if not serializer.is_registered(cls):
                serializer.register(module, cls.__name__, cls)


def rename(module: ModuleType) -> None:
    """Rename the classes that a module defines. Called when it has been loaded."""
    own, torch_name = module.__name__, theirs(module.__name__)
    if own == _SERIALIZER:
        _tell_serializer({cls: cls.__module__ for cls in _renamed})
    kinds = names.members(torch_name)
    classes = [value for name, value in vars(module).items() if kinds.get(name) in (names.CLASS, names.EXCEPTION) and isinstance(value, type)]
    for cls in classes:
        inside = cls.__module__ == own
        # Of the root every class that is shown there and whose home is a room of torchlike's alone.
        if inside or (own == "torchlike" and cls.__module__.startswith("torchlike.") and not names.has_module(theirs(cls.__module__))):
            _rename(cls, torch_name)
    if classes:  # what looks a class's module up must find it
        sys.modules.setdefault(torch_name, module)


def as_torchs() -> None:
    """Rename the classes of every module that is loaded."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torchlike" and isinstance(module, ModuleType) and module.__name__ == name:
            rename(module)


def restore() -> None:
    """Give the classes their own modules again."""
    for cls, module in _renamed.items():
        cls.__module__ = module
    _renamed.clear()
