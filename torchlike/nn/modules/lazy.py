"""``LazyModuleMixin``: modules that learn their input sizes from the first batch."""

from __future__ import annotations

import itertools
from typing import Any

from torchlike.autograd.modes import no_grad
from torchlike.nn.parameter import is_lazy


class LazyModuleMixin:
    """Goes before a module class whose parameters start uninitialised.

    The subclass defines ``initialize_parameters(*input)``, which gives them their shapes; at the first call it runs, the hooks go, and
    the module becomes a ``cls_to_become``.
    """

    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)  # type: ignore[attr-defined]
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)  # type: ignore[attr-defined]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        state = itertools.chain(
            self._parameters.items(),  # type: ignore[attr-defined]
            ((n, b) for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set),  # type: ignore[attr-defined]
        )
        for name, value in state:
            if value is not None:
                destination[prefix + name] = value if is_lazy(value) or keep_vars else value.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Give uninitialised entries the shape of what is loaded."""
        for name, own in itertools.chain(self._parameters.items(), self._buffers.items()):  # type: ignore[attr-defined]
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(own) and not is_lazy(given):
                with no_grad():
                    own.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes from a batch of input."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(t) for t in itertools.chain(self._parameters.values(), self._buffers.values()))  # type: ignore[attr-defined]

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to correctly initialize the "
            "modules"
        )
