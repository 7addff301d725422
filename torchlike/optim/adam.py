"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torchlike.optim.optimizer import Optimizer, Update, check, check_betas, check_lr, number


class _AmsgradState(NamedTuple):
    count: Any
    mu: Any
    nu: Any
    nu_max: Any


def _scale_by_torch_amsgrad(b1: Any, b2: Any, eps: Any) -> Any:
    """AMSGrad as torch has it: the maximum of the uncorrected second moments, corrected afterwards (optax corrects before)."""
    import jax.numpy as jnp
    import optax

    def update(grads: Any, state: Any, params: Any = None) -> Any:
        count = state.count + 1
        mu = tuple(b1 * m + (1 - b1) * g for m, g in zip(state.mu, grads, strict=True))
        nu = tuple(b2 * v + (1 - b2) * g * g for v, g in zip(state.nu, grads, strict=True))
        mu, nu = (tuple(x.astype(g.dtype) for x, g in zip(t, grads, strict=True)) for t in (mu, nu))
        top = tuple(jnp.maximum(a, b) for a, b in zip(state.nu_max, nu, strict=True))
        c1, c2 = 1 - b1**count, 1 - b2**count
        scaled = tuple((m / c1 / (jnp.sqrt(t / c2) + eps)).astype(m.dtype) for m, t in zip(mu, top, strict=True))
        return scaled, _AmsgradState(count, mu, nu, top)

    return optax.GradientTransformation(lambda params: None, update)


def _transform(hyper: dict[str, Any], flags: dict[str, Any]) -> Any:
    import optax

    scale_by = _scale_by_torch_amsgrad if flags["amsgrad"] else optax.scale_by_adam
    adam = scale_by(hyper["beta1"], hyper["beta2"], eps=hyper["eps"])
    decay = [optax.add_decayed_weights(hyper["weight_decay"])] if flags["weight_decay"] else []
    first, last = ([], decay) if flags["decoupled"] else (decay, [])
    return optax.chain(*first, adam, *last, optax.scale(-hyper["lr"]))


def _pack(slots: Any, hyper: dict[str, Any], flags: dict[str, Any]) -> Any:
    import jax.numpy as jnp
    import optax

    count = jnp.asarray(hyper["step"]).astype("int32") - 1
    adam = _AmsgradState(count, *slots) if flags["amsgrad"] else optax.ScaleByAdamState(count=count, mu=slots[0], nu=slots[1])
    decay = [optax.EmptyState()] if flags["weight_decay"] else []
    first, last = ([], decay) if flags["decoupled"] else (decay, [])
    return (*first, adam, *last, optax.ScaleState())


def _unpack(state: Any) -> list[Any]:
    adam = next(s for s in state if hasattr(s, "mu"))
    return [adam.mu, adam.nu, *([adam.nu_max] if hasattr(adam, "nu_max") else [])]


_ADAM = Update("adam", ("exp_avg", "exp_avg_sq"), _transform, _pack, _unpack)
_AMSGRAD = Update("adam_amsgrad", ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), _transform, _pack, _unpack)


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015); ``weight_decay`` is added to the gradient, or decoupled with ``decoupled_weight_decay``.

    ``foreach``, ``capturable`` and ``fused`` are accepted: all parameters are always updated by one operator.
    """

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:  # fmt: skip
        check_lr(lr)
        check("epsilon value", eps >= 0.0, eps)
        check_betas(betas)
        check("weight_decay value", weight_decay >= 0.0, weight_decay)
        if differentiable:
            raise NotImplementedError(f"{type(self).__name__}(differentiable=True): the update is not part of the graph")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                                      foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("amsgrad", False), ("maximize", False), ("foreach", None), ("capturable", False), ("differentiable", False),
                                ("fused", None), ("decoupled_weight_decay", False)):  # fmt: skip
                group.setdefault(name, value)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = self._closure(closure)
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            hyper = {"lr": float(number(group["lr"])), "beta1": float(number(beta1)), "beta2": float(number(beta2)), "eps": float(group["eps"])}
            if group["weight_decay"]:
                hyper["weight_decay"] = float(group["weight_decay"])
            flags = {"amsgrad": bool(group["amsgrad"]), "weight_decay": bool(group["weight_decay"]), "maximize": bool(group["maximize"]),
                     "decoupled": bool(group["decoupled_weight_decay"])}  # fmt: skip
            self._run(_AMSGRAD if group["amsgrad"] else _ADAM, group, hyper, flags, counted=True)
        return loss


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
                 amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
