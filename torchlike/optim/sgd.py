"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.optim.optimizer import Optimizer, Update, check, check_lr, number


def _transform(hyper: dict[str, Any], flags: dict[str, Any]) -> Any:
    import optax

    parts = []
    if flags["weight_decay"]:
        parts.append(optax.add_decayed_weights(hyper["weight_decay"]))
    if flags["momentum"]:
        if flags["dampening"] and not flags["first"]:
            # d_p enters the buffer as (1 - dampening) d_p from the second step on; nesterov forbids dampening
            parts.append(optax.scale(1 - hyper["dampening"]))
        parts.append(optax.trace(hyper["momentum"], nesterov=flags["nesterov"]))
    parts.append(optax.scale(-hyper["lr"]))
    return optax.chain(*parts)


def _pack(slots: Any, hyper: dict[str, Any], flags: dict[str, Any]) -> Any:
    import optax

    states: list[Any] = []
    if flags["weight_decay"]:
        states.append(optax.EmptyState())
    if flags["momentum"]:
        if flags["dampening"] and not flags["first"]:
            states.append(optax.ScaleState())
        states.append(optax.TraceState(trace=slots[0]))
    states.append(optax.ScaleState())
    return tuple(states)


def _unpack(state: Any) -> list[Any]:
    return [s.trace for s in state if hasattr(s, "trace")]


_PLAIN = Update("sgd", (), _transform, _pack, _unpack)
_MOMENTUM = Update("sgd_momentum", ("momentum_buffer",), _transform, _pack, _unpack)


class SGD(Optimizer):
    """``v = momentum v + (1 - dampening) g; p = p - lr v`` (torch's documentation of SGD).

    ``foreach`` and ``fused`` are accepted: all parameters are always updated by one operator.
    """

    def __init__(self, params: Any, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: Any = 0, nesterov: bool = False, *,
                 maximize: bool = False, foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:  # fmt: skip
        check_lr(lr)
        check("momentum value", momentum >= 0.0, momentum)
        check("weight_decay value", number(weight_decay) >= 0.0, weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        if differentiable:
            raise NotImplementedError("SGD(differentiable=True): the update is not part of the graph")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("nesterov", False), ("maximize", False), ("foreach", None), ("differentiable", False), ("fused", None)):
                group.setdefault(name, value)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = self._closure(closure)
        for group in self.param_groups:
            momentum = group["momentum"]
            hyper = {"lr": float(number(group["lr"]))}
            if momentum:
                hyper["momentum"] = float(momentum)
            if group["dampening"]:
                hyper["dampening"] = float(group["dampening"])
            if group["weight_decay"]:
                hyper["weight_decay"] = float(number(group["weight_decay"]))
            flags = {"momentum": bool(momentum), "dampening": bool(group["dampening"]), "weight_decay": bool(group["weight_decay"]),
                     "nesterov": bool(group["nesterov"]), "maximize": bool(group["maximize"])}  # fmt: skip
            if not momentum:
                self._run(_PLAIN, group, hyper, {**flags, "first": False}, counted=False)
                continue
            fresh = [p for p in group["params"] if p._grad is not None and self.state[p].get("momentum_buffer") is None]
            seen = [p for p in group["params"] if p._grad is not None and self.state[p].get("momentum_buffer") is not None]
            for params, first in ((fresh, True), (seen, False)):
                if params:
                    # only dampening makes the first step another formula
                    self._run(_MOMENTUM, {**group, "params": params}, hyper, {**flags, "first": first and bool(group["dampening"])}, counted=False)
        return loss
