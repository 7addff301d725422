"""``DistributedDataParallel`` on one process: the gradients of one rank are already the average."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torchlike.nn.modules.module import Module


class DistributedDataParallel(Module):
    """Holds ``module`` and calls it. ``module`` stays reachable, state_dict keys begin with ``module.``, ``no_sync`` is a block.

    Options that steer torch's reducer (buckets, unused parameters, graphs) have nothing to steer here and change no result.
    ``RuntimeError`` when no parameter requires a gradient, as in torch.
    """

    def __init__(
        self,
        module: Any,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: Any = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: Any = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        if process_group and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.process_group = process_group
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block whose gradients are not exchanged between processes."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False) -> Iterator[None]:
        """A block in which ranks may run out of data at different times; one rank never waits."""
        yield

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Keep the hook: with one process there is no communication that would call it."""
        self._comm_hooks = [*getattr(self, "_comm_hooks", []), (hook, state)]
