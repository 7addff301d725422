"""``Optimizer``: parameter groups, state, hooks, ``state_dict``; and the one recorded operator that updates all parameters."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike import engine
from torchlike.autograd import tape
from torchlike.autograd.modes import enable_grad, no_grad
from torchlike.autograd.tape import RemovableHandle
from torchlike.engine.signature import ScalarArg
from torchlike.tensor.tensor import Tensor


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
_global_pre: OrderedDict[int, Any] = OrderedDict()
_global_post: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs before the step of every optimizer."""
    return RemovableHandle(_global_pre, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs after the step of every optimizer."""
    return RemovableHandle(_global_post, hook)


class Update:
    """A recorded operator that runs an optax transformation on a group of parameters.

    ``transform(hyper, flags)`` gives the transformation, whose hyperparameters are Python numbers or traced scalars. ``pack``
    makes its state of the torch state (a tuple of arrays for each name in ``slots``) and the step count; ``unpack`` gives
    the tuples back.
    """

    differentiable = False
    vjp_rule = None
    node = ""

    def __init__(self, name: str, slots: tuple[str, ...], transform: Callable[..., Any], pack: Callable[..., Any], unpack: Callable[..., Any]) -> None:
        self.name, self.slots, self.transform, self.pack, self.unpack = name, slots, transform, pack, unpack

    def lower(self, static: Any, args: Sequence[Any]) -> tuple[Any, ...]:
        """Operands: parameters, gradients, each slot's tensors (None before the first step), then the hyperparameters."""
        import jax.numpy as jnp
        import optax

        count, names, flags = static
        flags = dict(flags)
        columns = [tuple(args[i * count:(i + 1) * count]) for i in range(2 + len(self.slots))]
        hyper = {n: a.value if isinstance(a, ScalarArg) else a for n, a in zip(names, args[(2 + len(self.slots)) * count:], strict=True)}
        params, grads = columns[:2]
        # A traced number is a float64: as the parameters' dtype it behaves as a constant does. Step counts stay exact.
        hyper = {n: h.astype(params[0].dtype) if hasattr(h, "astype") and n != "step" else h for n, h in hyper.items()}
        grads = tuple(g.astype(p.dtype) for g, p in zip(grads, params, strict=True))
        if flags.get("maximize"):
            grads = tuple(-g for g in grads)
        slots = [tuple(jnp.zeros_like(p) if s is None else s for s, p in zip(c, params, strict=True)) for c in columns[2:]]
        updates, state = self.transform(hyper, flags).update(grads, self.pack(slots, hyper, flags), params)
        changed = optax.apply_updates(params, updates)
        kept = [x.astype(p.dtype) for column in self.unpack(state) for x, p in zip(column, params, strict=True)]
        return (*changed, *kept)

    def run(self, params: Sequence[Any], states: Sequence[dict[str, Any]], hyper: dict[str, Any], flags: dict[str, Any], device_grads: Sequence[Any]) -> None:
        """Update parameters and their states in place."""
        operands = [tape.current(p) for p in params]
        operands += device_grads
        for slot in self.slots:
            operands += [None if s.get(slot) is None else tape.current(s[slot]) for s in states]
        operands += hyper.values()
        n = len(params)
        results = engine.record(self, (n, tuple(hyper), tuple(sorted(flags.items()))), operands)[1]
        for p, v in zip(params, results, strict=False):
            p._assign(v)
        for k, slot in enumerate(self.slots, start=1):
            for s, v in zip(states, results[k * n:(k + 1) * n], strict=True):
                held = s.get(slot)
                if held is None:
                    s[slot] = Tensor._wrap(v)
                else:
                    held._assign(v)


def step_tensor(count: float) -> Tensor:
    """A step count as torch's state shows it."""
    return Tensor._from_numpy(np.array(count, np.float32))


class Optimizer:
    """Base class of all optimizers.

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts that define groups with options of their own.
        defaults: the options of groups that do not say otherwise.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._optimizer_step_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_step_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_state_dict_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_state_dict_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: OrderedDict[int, Any] = OrderedDict()
        if isinstance(params, Tensor):
            raise TypeError(f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {params.type()}")
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for g in groups:
            self.add_param_group(dict(g))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change between runs. "
                "Please use a list instead."
            )
        params = list(params)
        named = [p for p in params if isinstance(p, tuple)]
        if named:
            if len(named) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [n for n, _ in params]
            params = [p for _, p in params]
        param_group["params"] = params
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + _typename(p))
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        held = {p for g in self.param_groups for p in g["params"]}
        if not held.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    if set_to_none:
                        p._grad = None
                    else:
                        if p._grad.grad_fn is not None:
                            p._grad.detach_()
                        else:
                            p._grad.requires_grad_(False)
                        p._grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; every optimizer defines it."""
        raise NotImplementedError

    # -- state_dict ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State by parameter number, and the groups: interchangeable with torch's."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        number: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                number.setdefault(id(p), len(number))
            packed["params"] = [number[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {number[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            answer = hook(self, result)
            if answer is not None:
                result = answer
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state_dict, also one that torch saved."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            answer = hook(self, state_dict)
            if answer is not None:
                state_dict = answer
        groups, saved = self.param_groups, copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        parameter = {
            i: p for g, s in zip(groups, saved, strict=True) for i, p in zip(s["params"], g["params"], strict=True)
        }

        def convert(param: Tensor, value: Any, key: Any = None) -> Any:
            if isinstance(value, Tensor):
                if key == "step":
                    return value.detach().clone()
                value = value.detach()
                target = param.dtype if param.is_floating_point() else value.dtype
                return value.to(device=param.device, dtype=target, copy=True)
            if isinstance(value, dict):
                return {k: convert(param, v, k) for k, v in value.items()}
            if isinstance(value, (list, tuple)):
                return type(value)(convert(param, v) for v in value)
            return value

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameter:
                state[parameter[key]] = convert(parameter[key], value)
            else:
                state[key] = value
        for g, s in zip(groups, saved, strict=True):
            s["params"] = g["params"]
            if "param_names" in g and "param_names" not in s:
                s["param_names"] = g["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # -- hooks --------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs before ``step``; what it returns replaces the arguments."""
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs after ``step``."""
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    @staticmethod
    def _ordered(hooks: OrderedDict[int, Any], hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
        handle = RemovableHandle(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer)`` runs before ``state_dict``."""
        return self._ordered(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs after ``state_dict``; what it returns replaces the result."""
        return self._ordered(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs before ``load_state_dict``."""
        return self._ordered(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer)`` runs after ``load_state_dict``."""
        return self._ordered(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- for the optimizers -------------------------------------------------------------------------------------------

    def _closure(self, closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def _run(self, update: Update, group: dict[str, Any], hyper: dict[str, Any], flags: dict[str, Any], counted: bool) -> None:
        """Update the parameters of a group that have a gradient, one operator for those with the same step count."""
        buckets: dict[float, list[Any]] = {}
        state = self.state
        for p in group["params"]:
            if p._grad is None:
                continue
            count = float(state[p]["step"]) + 1 if counted and "step" in state[p] else 1.0
            buckets.setdefault(count, []).append(p)
        for count, params in buckets.items():
            states = [state[p] for p in params]
            grads = [tape.current(p._grad) for p in params]
            if counted:
                hyper = {**hyper, "step": count}
                shown = step_tensor(count)
                for s in states:
                    s["step"] = shown
            update.run(params, states, hyper, flags, grads)


def number(x: Any) -> Any:
    """A hyperparameter as a Python number (it may be a tensor)."""
    return x.item() if isinstance(x, Tensor) else x


def _typename(x: Any) -> str:
    cls = type(x)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """``step`` with the hooks around it, outside the graph; the trace ends behind it."""
    if getattr(step, "_hooked", False):
        return step

    @functools.wraps(step)
    def wrapper(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        for hook in [*_global_pre.values(), *self._optimizer_step_pre_hooks.values()]:
            answer = hook(self, args, kwargs)
            if answer is not None:
                if not (isinstance(answer, tuple) and len(answer) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {answer}.")
                args, kwargs = answer
        with no_grad():
            result = step(self, *args, **kwargs)
        for hook in [*self._optimizer_step_post_hooks.values(), *_global_post.values()]:
            hook(self, args, kwargs)
        engine.flush()
        return result

    wrapper._hooked = True  # type: ignore[attr-defined]
    return wrapper


def check(name: str, ok: bool, value: Any) -> None:
    """Torch's error for a hyperparameter out of range."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")


def check_lr(lr: Any) -> None:
    """Check a learning rate."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check("learning rate", number(lr) >= 0.0, lr)


def check_betas(betas: Iterable[float]) -> None:
    """Check Adam's two coefficients."""
    for i, b in enumerate(betas):
        if not 0.0 <= number(b) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {b}")
