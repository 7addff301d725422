"""``DataParallel`` and ``data_parallel``: in one process, one program spans the devices, so the module simply runs."""

from __future__ import annotations

from typing import Any

from torchlike.nn.modules.module import Module


def _indices(device_ids: Any) -> list[Any]:
    if device_ids is None:
        import torchlike as torch

        return list(range(torch.cuda.device_count()))
    return [d if isinstance(d, int) else d.index for d in device_ids]


class DataParallel(Module):
    """Holds ``module`` and calls it with whole batches: what torch gives with one device.

    ``device_ids``, ``output_device`` and ``dim`` are kept; state_dict keys begin with ``module.`` as in torch.
    """

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids = _indices(device_ids)
        self.output_device = output_device if output_device is not None or not self.device_ids else self.device_ids[0]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                  module_kwargs: Any = None) -> Any:  # fmt: skip
    """Call ``module`` with ``inputs`` (a tensor or a tuple)."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
