"""``Module``: parameters, buffers and children by name; hooks; state_dict; conversion; train and eval.

A plain Python class: attributes that are parameters, buffers or modules are kept in three dictionaries by
``__setattr__`` and found again by ``__getattr__``.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, overload

from torchlike.autograd.modes import no_grad
from torchlike.autograd.tape import RemovableHandle
from torchlike.nn.parameter import Buffer, Parameter, is_lazy
from torchlike.tensor.device import device as Device
from torchlike.tensor.dtypes import dtype as DType
from torchlike.tensor.tensor import Tensor

T = TypeVar("T", bound="Module")
T_destination = TypeVar("T_destination", bound=dict[str, Any])
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What ``load_state_dict`` could not match."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _addindent(s_: str, numSpaces: int) -> str:  # names that public code imports
    first, *rest = s_.split("\n")
    return "\n".join([first, *(" " * numSpaces + line for line in rest)])


_global_hooks: dict[str, OrderedDict[int, Any]] = {
    name: OrderedDict()
    for name in ("forward_pre", "forward", "backward_pre", "backward", "module_registration", "parameter_registration", "buffer_registration")
}


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, args)`` runs before the forward of every module."""
    return RemovableHandle(_global_hooks["forward_pre"], hook)


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """``hook(module, args, output)`` runs after the forward of every module."""
    return RemovableHandle(_global_hooks["forward"], _GlobalHook(hook, with_kwargs, always_call))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, grad_input, grad_output)`` runs after the backward of every module."""
    return RemovableHandle(_global_hooks["backward"], hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, grad_output)`` runs before the backward of every module."""
    return RemovableHandle(_global_hooks["backward_pre"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, submodule)`` runs when a submodule is registered."""
    return RemovableHandle(_global_hooks["module_registration"], hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, parameter)`` runs when a parameter is registered."""
    return RemovableHandle(_global_hooks["parameter_registration"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, buffer)`` runs when a buffer is registered."""
    return RemovableHandle(_global_hooks["buffer_registration"], hook)


class _GlobalHook:
    """A forward hook of all modules, and how it wants to be called."""

    def __init__(self, hook: Callable[..., Any], with_kwargs: bool, always_call: bool) -> None:
        self.hook, self.with_kwargs, self.always_call = hook, with_kwargs, always_call


class _WithModule:
    """A state-dict hook that receives the module first, held weakly."""

    def __init__(self, hook: Callable[..., Any], module: Module) -> None:
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module(), *args)


class Module:
    """Base class of all layers and models.

    Subclasses call ``super().__init__()``, assign parameters and submodules as attributes and define ``forward``.
    ``training`` says whether the module is in training mode.
    """

    dump_patches: bool = False
    _version: int = 1
    training: bool
    call_super_init: bool = False
    _compiled_call_impl: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        set_ = super().__setattr__
        set_("training", True)
        for name in ("_parameters", "_buffers"):
            set_(name, {})
        set_("_non_persistent_buffers_set", set())
        for name in _HOOKS:
            set_(name, OrderedDict())
        set_("_modules", {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input: Any) -> Any:
        """Compute the result; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # -- attributes -----------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind in own and name in own[kind]:
                return own[kind][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        params, modules, buffers = own.get("_parameters"), own.get("_modules"), own.get("_buffers")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, own, buffers, modules, self._non_persistent_buffers_set)
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, own, params, buffers, self._non_persistent_buffers_set)
            for hook in _global_hooks["module_registration"].values():
                answer = hook(self, name, value)
                value = value if answer is None else answer
            modules[name] = value
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{_type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            modules[name] = value
        elif isinstance(value, Buffer) or (buffers is not None and name in buffers):
            if buffers is None:
                raise AttributeError("cannot assign buffers before Module.__init__() call")
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{_type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            if isinstance(value, Buffer):
                self._forget(name, own, params, modules)
                self.register_buffer(name, value, value.persistent)
            else:
                for hook in _global_hooks["buffer_registration"].values():
                    answer = hook(self, name, value)
                    value = value if answer is None else answer
                buffers[name] = value
        else:
            super().__setattr__(name, value)

    @staticmethod
    def _forget(name: str, *places: Any) -> None:
        for place in places:
            if place is not None and name in place:
                if isinstance(place, set):
                    place.discard(name)
                else:
                    del place[name]

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(n for n in set(names) if n and not n[0].isdigit())

    # -- registration ---------------------------------------------------------------------------------------------

    def _check_name(self, kind: str, name: Any, place: Mapping[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type_name(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in place:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: state that is not trained; ``persistent`` ones are in the state_dict."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        for hook in _global_hooks["buffer_registration"].values():
            answer = hook(self, name, tensor)
            tensor = tensor if answer is None else answer
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter (None reserves the name)."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{_type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
            if not param.is_leaf:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express "
                    f"'{name}' as a function of another Tensor, compute the value in the forward() method."
                )
            for hook in _global_hooks["parameter_registration"].values():
                answer = hook(self, name, param)
                param = param if answer is None else answer
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        for hook in _global_hooks["module_registration"].values():
            answer = hook(self, name, module)
            module = module if answer is None else answer
        self._modules[name] = module

    register_module = add_module

    # -- looking up -----------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The submodule with a dotted name; the module itself for ``""``."""
        module: Any = self
        if not target:
            return module
        for part in target.split("."):
            if not hasattr(module, part):
                raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace (or, unless ``strict``, add) the submodule with a dotted name."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        parent, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        holder = self.get_submodule(parent)
        if strict and not hasattr(holder, name):
            raise AttributeError(f"{holder._get_name()} has no attribute `{name}`")
        if hasattr(holder, name) and not isinstance(getattr(holder, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(holder, name, module)

    def _get_kind(self, target: str, kind: type, what: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        found = getattr(module, name)
        if what == "buffer":
            if name not in module._buffers:
                raise AttributeError(f"`{name}` is not a buffer")
        elif not isinstance(found, kind):
            raise AttributeError(f"`{name}` is not an nn.{kind.__name__}")
        return found

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name."""
        return self._get_kind(target, Parameter, "parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name."""
        return self._get_kind(target, Tensor, "buffer")

    def get_extra_state(self) -> Any:
        """Further state for the state_dict; define it together with ``set_extra_state``."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please file an issue to report this bug."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take over what ``get_extra_state`` gave."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please file an issue to report this bug."
        )

    def _named_members(self, get: Callable[[Module], Any], prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        seen = set()
        for module_prefix, module in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]:
            for name, member in get(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield module_prefix + ("." if module_prefix else "") + name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted names."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The immediate submodules."""
        for _, m in self.named_children():
            yield m

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The immediate submodules with their names."""
        seen = set()
        for name, m in self._modules.items():
            if m is not None and m not in seen:
                seen.add(m)
                yield name, m

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module and all below it, each once (or as often as it is there)."""
        for _, m in self.named_modules(remove_duplicate=remove_duplicate):
            yield m

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The module and all below it with their dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, m in self._modules.items():
            if m is not None:
                yield from m.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    # -- conversion -----------------------------------------------------------------------------------------------

    def _apply(self: T, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> T:
        if recurse:
            for m in self.children():
                m._apply(fn)
        for p in self._parameters.values():
            if p is None:
                continue
            with no_grad():
                changed = fn(p)
            if changed is not p:
                p.data = changed
            if p._grad is not None:
                with no_grad():
                    changed = fn(p._grad)
                if changed is not p._grad:
                    grad = changed.detach()
                    p._grad = grad.requires_grad_(p._grad.requires_grad)
        for name, b in self._buffers.items():
            if b is not None:
                self._buffers[name] = fn(b)
        return self

    def apply(self: T, fn: Callable[[Module], None]) -> T:
        """Call ``fn`` on every module below, then on this one."""
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self

    def cuda(self: T, device: Any = None) -> T:
        """Move parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def cpu(self: T) -> T:
        """Move parameters and buffers to the host."""
        return self._apply(lambda t: t.cpu())

    def type(self: T, dst_type: Any) -> T:
        """Convert all parameters and buffers to a type."""
        return self._apply(lambda t: t.type(dst_type))

    def _to_float(self: T, name: str) -> T:
        return self._apply(lambda t: getattr(t, name)() if t.is_floating_point() else t)

    def float(self: T) -> T:
        """Convert floating parameters and buffers to float32."""
        return self._to_float("float")

    def double(self: T) -> T:
        """Convert floating parameters and buffers to float64."""
        return self._to_float("double")

    def half(self: T) -> T:
        """Convert floating parameters and buffers to float16."""
        return self._to_float("half")

    def bfloat16(self: T) -> T:
        """Convert floating parameters and buffers to bfloat16."""
        return self._to_float("bfloat16")

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Move to a device without copying: the content is up to the implementation."""
        from torchlike.tensor.creation import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    @overload
    def to(self: T, device: Any = ..., dtype: Any = ..., non_blocking: bool = ...) -> T: ...

    @overload
    def to(self: T, dtype: Any, non_blocking: bool = ...) -> T: ...

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Move and convert parameters and buffers: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``."""
        device, dtype, memory_format = kwargs.get("device"), kwargs.get("dtype"), kwargs.get("memory_format")
        for a in args:
            if isinstance(a, Tensor):
                device, dtype = a.device, a.dtype
            elif isinstance(a, DType):
                dtype = a
            elif isinstance(a, (str, int, Device)) and not isinstance(a, bool):
                device = a
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")

        def convert(t: Tensor) -> Tensor:
            target = dtype if dtype is not None and (t.is_floating_point() or t.is_complex()) else None
            options = {"memory_format": memory_format} if memory_format is not None and t.dim() in (4, 5) else {}
            return t.to(device=device, dtype=target, **options)

        return self._apply(convert)

    # -- hooks and the call -----------------------------------------------------------------------------------------

    def _add_hook(self, kind: str, hook: Any, prepend: bool = False) -> RemovableHandle:
        hooks = self.__dict__[kind]
        handle = _HookHandle(hooks, hook, self)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """``hook(module, args)`` runs before ``forward``; what it returns replaces the arguments."""
        handle = self._add_hook("_forward_pre_hooks", hook, prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """``hook(module, args, output)`` runs after ``forward``; what it returns replaces the output."""
        handle = self._add_hook("_forward_hooks", hook, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_output)`` runs when the gradient of the output is known."""
        return self._add_hook("_backward_pre_hooks", hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_input, grad_output)`` runs when the gradient of the input is known."""
        return self._add_hook("_backward_hooks", hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``register_full_backward_hook`` under its old name."""
        return self.register_full_backward_hook(hook)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks or _any_global_hook():
            return self._call_impl(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _after_hooks(self) -> Iterator[tuple[Any, Any, bool, bool]]:
        """The forward hooks: key, hook, whether it takes keywords, whether it is called after an exception too."""
        for key, g in list(_global_hooks["forward"].items()):
            yield ("global", key), g.hook, g.with_kwargs, g.always_call
        for key, hook in list(self._forward_hooks.items()):
            yield key, hook, key in self._forward_hooks_with_kwargs, key in self._forward_hooks_always_called

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        called: set[Any] = set()
        result = None
        try:
            for key, hook in [*_global_hooks["forward_pre"].items(), *self._forward_pre_hooks.items()]:
                if key in self._forward_pre_hooks_with_kwargs:
                    answer = hook(self, args, kwargs)
                    if answer is not None:
                        if not (isinstance(answer, tuple) and len(answer) == 2):
                            raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {answer}.")
                        args, kwargs = answer
                else:
                    answer = hook(self, args)
                    if answer is not None:
                        args = answer if isinstance(answer, tuple) else (answer,)
            backward = _BackwardHook.of(self)
            if backward is not None:
                args = backward.watch_inputs(args)
            result = self.forward(*args, **kwargs)
            for key, hook, with_kwargs, _ in self._after_hooks():
                called.add(key)
                answer = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                result = result if answer is None else answer
            return result if backward is None else backward.watch_outputs(result)
        except Exception:
            for key, hook, with_kwargs, always in self._after_hooks():
                if always and key not in called:
                    answer = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                    result = result if answer is None else answer
            raise

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepted for ``torch.compile``'s sake: the engine compiles every module's steps already."""

    # -- state ------------------------------------------------------------------------------------------------------

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, state_dict, prefix, local_metadata)`` runs at the end of ``state_dict``."""
        return RemovableHandle(self._state_dict_hooks, hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, prefix, keep_vars)`` runs at the start of ``state_dict``."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> RemovableHandle:
        return RemovableHandle(self._load_state_dict_pre_hooks, _WithModule(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, state_dict, prefix, ...)`` runs before this module's state is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, incompatible_keys)`` runs after this module's state was loaded."""
        return RemovableHandle(self._load_state_dict_post_hooks, hook)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, p in self._parameters.items():
            if p is not None:
                destination[prefix + name] = p if keep_vars else p.detach()
        for name, b in self._buffers.items():
            if b is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = b if keep_vars else b.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by dotted name (sharing their data), an ``OrderedDict``."""
        for value, name in zip(args, ("destination", "prefix", "keep_vars"), strict=False):
            if name == "destination" and destination is None:
                destination = value
            elif name == "prefix" and not prefix:
                prefix = value
            elif name == "keep_vars":
                keep_vars = value
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, m in self._modules.items():
            if m is not None:
                m.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            answer = hook(self, destination, prefix, local_metadata)
            if answer is not None:
                destination = answer
        return destination

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
                              unexpected_keys: list[str], error_msgs: list[str]) -> None:  # fmt: skip
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        buffers = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, own in itertools.chain(self._parameters.items(), buffers.items()):
            if own is None:
                continue
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            given = state_dict[key]
            if not isinstance(given, Tensor):
                error_msgs.append(
                    f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
                    f"received {type(given)}"
                )
                continue
            lazy = is_lazy(own)
            if not lazy and len(own.shape) == 0 and len(given.shape) == 1 and given.shape[0] == 1:
                given = given[0]
            if not lazy and given.shape != own.shape:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
                    f"model is {own.shape}."
                )
                continue
            try:
                with no_grad():
                    if assign:
                        if isinstance(own, Parameter) and not isinstance(given, Parameter):
                            given = Parameter(given, requires_grad=own.requires_grad)
                        elif isinstance(own, Parameter):
                            given.requires_grad_(own.requires_grad)
                        setattr(self, name, given)
                    else:
                        if lazy and not is_lazy(given):
                            own.materialize(given.shape)
                        own.copy_(given)
            except Exception as error:
                error_msgs.append(
                    f'While copying the parameter named "{key}", whose dimensions in the model are {own.size()} and whose dimensions in '
                    f"the checkpoint are {given.size()}, an exception occurred : {error.args}."
                )
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    parts = key[len(prefix):].split(".", 1)
                    known = parts[0] in self._modules if len(parts) > 1 else parts[0] in self._parameters or parts[0] in buffers
                    if not known and not (len(parts) > 1 and parts[0] in self._modules):
                        unexpected_keys.append(key)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy a state_dict into this module (or ``assign`` its tensors).

        Returns the missing and unexpected keys; with ``strict`` they are a ``RuntimeError``, as mis-sized entries always are.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        given = OrderedDict(state_dict)
        if metadata is not None:
            given._metadata = metadata  # type: ignore[attr-defined]

        def load(module: Module, local: Any, prefix: str = "") -> None:
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata = {**local_metadata, "assign_to_params_buffers": True}
            module._load_from_state_dict(local, prefix, local_metadata, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    child_prefix = prefix + name + "."
                    load(child, {k: v for k, v in local.items() if k.startswith(child_prefix)}, child_prefix)
            incompatible = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                        "incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, given)
        if strict:
            if unexpected:
                errors.insert(0, "Unexpected key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in unexpected)))
            if missing:
                errors.insert(0, "Missing key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in missing)))
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors)))
        return _IncompatibleKeys(missing, unexpected)

    # -- modes --------------------------------------------------------------------------------------------------------

    def train(self: T, mode: bool = True) -> T:
        """Set training mode in this module and all below it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for m in self.children():
            m.train(mode)
        return self

    def eval(self: T) -> T:
        """Set evaluation mode."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Set ``requires_grad`` of all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters (or set them to zero)."""
        for p in self.parameters():
            if p._grad is not None:
                if set_to_none:
                    p._grad = None
                else:
                    p._grad = p._grad.detach() if p._grad.grad_fn is not None else p._grad.requires_grad_(False)
                    p._grad.zero_()

    def share_memory(self: T) -> T:
        """Accepted: values travel between processes by copy."""
        return self._apply(lambda t: t.share_memory_())

    # -- text ---------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands in the parentheses of ``repr``."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {_addindent(repr(m), 2)}" for name, m in self._modules.items()]
        lines = extra_lines + child_lines
        text = self._get_name() + "("
        if lines:
            if len(extra_lines) == 1 and not child_lines:
                text += extra_lines[0]
            else:
                text += "\n  " + "\n  ".join(lines) + "\n"
        return text + ")"

    def _replicate_for_data_parallel(self: T) -> T:
        replica = type(self).__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        for name in ("_parameters", "_buffers", "_modules"):
            replica.__dict__[name] = replica.__dict__[name].copy()
        return replica


_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


def _any_global_hook() -> bool:
    g = _global_hooks
    return bool(g["forward_pre"] or g["forward"] or g["backward_pre"] or g["backward"])


def _type_name(x: Any) -> str:
    if isinstance(x, Tensor):
        return x.type()
    cls = type(x)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}".replace("torchlike", "torch")


class _HookHandle(RemovableHandle):
    """Takes a call hook out again, and what was noted about it."""

    def __init__(self, hooks: Any, hook: Any, module: Module) -> None:
        super().__init__(hooks, hook)
        self._module = weakref.ref(module)

    def remove(self) -> None:
        super().remove()
        module = self._module()
        if module is not None:
            for name in ("_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs"):
                module.__dict__[name].pop(self.id, None)


class _BackwardHook:
    """The full backward hooks of one call: joins the gradients of all inputs, and of all outputs."""

    def __init__(self, module: Module, pre: list[Any], post: list[Any]) -> None:
        self.module, self.pre, self.post = module, pre, post
        self.grad_output: Any = None
        self.watched = False
        self.inputs = 0

    @staticmethod
    def of(module: Module) -> _BackwardHook | None:
        """The hooks of a module, if it has any."""
        pre = [*_global_hooks["backward_pre"].values(), *module._backward_pre_hooks.values()]
        post = [*_global_hooks["backward"].values(), *module._backward_hooks.values()]
        return _BackwardHook(module, pre, post) if pre or post else None

    @staticmethod
    def _through(tensors: list[Any], run: Callable[[tuple[Any, ...]], Any], zeros: bool) -> list[Any]:
        """The same tensors, with a node in their graph that hands all their gradients to ``run`` (``zeros`` in place of None)."""
        from torchlike.autograd.function import Function

        class BackwardHookFunction(Function):
            @staticmethod
            def forward(ctx: Any, *args: Any) -> Any:
                ctx.set_materialize_grads(zeros)
                ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
                return args

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                answer = run(grads)
                return grads if answer is None else answer

        return list(BackwardHookFunction.apply(*tensors))

    def _replace(self, args: Any, run: Callable[..., Any], zeros: bool) -> Any:
        is_tuple = isinstance(args, tuple)
        items = list(args) if is_tuple else [args]
        places = [i for i, a in enumerate(items) if isinstance(a, Tensor) and a.requires_grad]
        if not places:
            return args, False
        every = [i for i, a in enumerate(items) if isinstance(a, Tensor)]
        replaced = self._through([items[i] for i in every], lambda grads: run(grads, len(items), every), zeros)
        for i, t in zip(every, replaced, strict=True):
            items[i] = t
        return (tuple(items) if is_tuple else items[0]), True

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, watched."""
        self.inputs = len(args)
        if not self.post:
            return args

        def run(grads: Any, total: int, places: list[int]) -> Any:
            full: list[Any] = [None] * total
            for i, g in zip(places, grads, strict=True):
                full[i] = g
            changed = tuple(full)
            for hook in self.post:
                answer = hook(self.module, changed, self.grad_output)
                if answer is not None:
                    changed = answer if isinstance(answer, tuple) else (answer,)
                    if len(changed) != total:
                        raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but expected {total}")
            return tuple(changed[i] for i in places)

        args, self.watched = self._replace(args, run, zeros=True)
        return args

    def watch_outputs(self, result: Any) -> Any:
        """The results, watched."""

        def run(grads: Any, total: int, places: list[int]) -> Any:
            full: list[Any] = [None] * total
            for i, g in zip(places, grads, strict=True):
                full[i] = g
            outer = tuple(full)
            for hook in self.pre:
                answer = hook(self.module, outer)
                if answer is not None:
                    outer = answer if isinstance(answer, tuple) else (answer,)
            self.grad_output = outer
            if not self.watched:
                for hook in self.post:
                    answer = hook(self.module, (None,) * self.inputs, outer)
                    if answer is not None and not (isinstance(answer, tuple) and all(a is None for a in answer)):
                        raise RuntimeError(
                            "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                        )
            return tuple(outer[i] for i in places)

        return self._replace(result, run, zeros=False)[0]


