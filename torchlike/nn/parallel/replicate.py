"""``replicate`` and ``parallel_apply``: a module on several devices."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["parallel_apply", "replicate"]


def replicate(network: Any, devices: Any, detach: bool = False) -> list[Any]:
    """A copy of the module for each device. Parameters of the copies are leaves of their own."""
    return [copy.deepcopy(network).to(device) for device in devices]


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """Call each module with its inputs. Calls only record; the devices run at the same time."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    keywords = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    return [
        module(*(args if isinstance(args, (list, tuple)) else (args,)), **kwargs)
        for module, args, kwargs in zip(modules, inputs, keywords, strict=True)
    ]
