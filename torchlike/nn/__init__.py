"""``torch.nn``: modules, parameters, functional forms, initialisation and utilities."""

from __future__ import annotations

from typing import Any

from torchlike.nn import functional, init, parameter  # noqa: I001  (functional before the modules that use it)
from torchlike.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from torchlike.nn import modules
from torchlike.nn.modules import *  # noqa: F403
from torchlike.nn import attention, grad, parallel, utils
from torchlike.nn.parallel import DataParallel

__all__ = [  # noqa: PLE0604
    "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "attention", "factory_kwargs", "functional",
    "grad", "init", "modules", "parallel", "parameter", "utils", *modules.__all__,
]  # fmt: skip


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The ``device``, ``dtype`` and ``memory_format`` of keyword arguments, also from an entry ``factory_kwargs``.

    ``TypeError`` for other keywords, or for one that is given twice.
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - simple - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    made = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in made:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        made[key] = kwargs[key]
    return made
