"""Optimizers and schedules against torch: twenty steps with each option, resuming from torch's own state."""

import numpy as np

from tests.scenarios import Scenarios, error_of

scenario = Scenarios("optim", tolerance=5e-6)


def parameters(torch):
    a = torch.linspace(-1, 1, 6).reshape(2, 3).clone().requires_grad_()
    b = torch.tensor([0.5, -0.25], requires_grad=True)
    return [a, b]


def run(torch, make, steps=20, schedule=None):
    params = parameters(torch)
    optimizer = make(torch, params)
    scheduler = schedule(torch, optimizer) if schedule else None
    rates = []
    for i in range(steps):
        optimizer.zero_grad()
        a, b = params
        loss = ((a * a).sum() * 0.5 - (a.sum(1) * b).sum() + (b**4).sum() + 0.1 * i * a.mean())
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
            rates.append(scheduler.get_last_lr())
    return [params, rates, sorted(optimizer.state_dict()["state"].get(0, {}))]


OPTIMIZERS = {
    "sgd": lambda t, p: t.optim.SGD(p, lr=0.05),
    "sgd_momentum": lambda t, p: t.optim.SGD(p, lr=0.05, momentum=0.9),
    "sgd_nesterov": lambda t, p: t.optim.SGD(p, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.01),
    "sgd_dampening": lambda t, p: t.optim.SGD(p, lr=0.05, momentum=0.9, dampening=0.3),
    "sgd_maximize": lambda t, p: t.optim.SGD(p, lr=0.01, momentum=0.5, maximize=True),
    "adam": lambda t, p: t.optim.Adam(p, lr=0.05),
    "adam_options": lambda t, p: t.optim.Adam(p, lr=0.03, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.02),
    "adam_amsgrad": lambda t, p: t.optim.Adam(p, lr=0.05, amsgrad=True),
    "adamw": lambda t, p: t.optim.AdamW(p, lr=0.05, weight_decay=0.1),
    "adamw_amsgrad": lambda t, p: t.optim.AdamW(p, lr=0.05, amsgrad=True, maximize=True),
    "groups": lambda t, p: t.optim.Adam([{"params": [p[0]], "lr": 0.1}, {"params": [p[1]], "weight_decay": 0.1}], lr=0.01),
    "tensor_lr": lambda t, p: t.optim.SGD(p, lr=t.tensor(0.05)),
}
SCHEDULES = {
    "step": lambda t, o: t.optim.lr_scheduler.StepLR(o, 3, 0.5),
    "multistep": lambda t, o: t.optim.lr_scheduler.MultiStepLR(o, [2, 5, 5], 0.3),
    "exponential": lambda t, o: t.optim.lr_scheduler.ExponentialLR(o, 0.9),
    "cosine": lambda t, o: t.optim.lr_scheduler.CosineAnnealingLR(o, 7, 0.001),
    "lambda": lambda t, o: t.optim.lr_scheduler.LambdaLR(o, lambda e: 1 / (1 + e)),
    "multiplicative": lambda t, o: t.optim.lr_scheduler.MultiplicativeLR(o, lambda e: 0.95),
    "linear": lambda t, o: t.optim.lr_scheduler.LinearLR(o, 0.25, 1.0, 6),
    "constant": lambda t, o: t.optim.lr_scheduler.ConstantLR(o, 0.5, 4),
    "sequential": lambda t, o: t.optim.lr_scheduler.SequentialLR(
        o, [t.optim.lr_scheduler.ConstantLR(o, 0.1, 3), t.optim.lr_scheduler.ExponentialLR(o, 0.9)], [3]
    ),
}
for _name, _make in OPTIMIZERS.items():
    scenario.all[_name] = lambda torch, make=_make: run(torch, make)
for _name, _schedule in SCHEDULES.items():
    scenario.all[f"schedule_{_name}"] = lambda torch, s=_schedule: run(torch, OPTIMIZERS["sgd_momentum"], schedule=s)


@scenario
def plateau(torch):
    optimizer = torch.optim.SGD(parameters(torch), lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.1)
    seen = []
    for metric in (1.0, 0.9, 0.95, 0.96, 0.97, 0.5, 0.6, 0.7, 0.8):
        scheduler.step(metric)
        seen.append(optimizer.param_groups[0]["lr"])
    return seen


@scenario
def errors(torch):
    p = parameters(torch)
    return [
        error_of(lambda: torch.optim.SGD(p, lr=-1)), error_of(lambda: torch.optim.SGD([], lr=1)), error_of(lambda: torch.optim.SGD(p[0], lr=1)),
        error_of(lambda: torch.optim.SGD(p, lr=1, nesterov=True)), error_of(lambda: torch.optim.Adam(p, betas=(1.0, 0.9))),
        error_of(lambda: torch.optim.SGD([p[0] * 2], lr=1)), error_of(lambda: torch.optim.SGD([{"params": p}, {"params": p}], lr=1)),
        error_of(lambda: torch.optim.lr_scheduler.StepLR(3, 1)), repr(torch.optim.SGD(p, lr=0.1)), repr(torch.optim.AdamW(p)),
    ]  # fmt: skip


@scenario
def hooks_and_closure(torch):
    p = parameters(torch)
    optimizer = torch.optim.SGD(p, lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(lambda o, a, k: seen.append("pre"))
    optimizer.register_step_post_hook(lambda o, a, k: seen.append("post"))

    def closure():
        optimizer.zero_grad()
        loss = (p[0] ** 2).sum()
        loss.backward()
        seen.append("closure")
        return loss

    loss = optimizer.step(closure)
    optimizer.zero_grad(set_to_none=False)
    return seen, loss, p, p[0].grad


@scenario
def own_optimizer(torch):
    class Plain(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-group["lr"])
                    self.state[p]["seen"] = self.state[p].get("seen", 0) + 1

    p = parameters(torch)
    optimizer = Plain(p, 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        ((p[0] ** 2).sum() + (p[1] ** 2).sum()).backward()
        optimizer.step()
    return p, optimizer.state[p[0]]["seen"]


test_optim = scenario.test()


def test_a_run_saved_by_torch_resumes_here_and_the_reverse():
    import pytest

    torch = pytest.importorskip("torch", reason="exchanges state with real torch, which is not installed")
    import torchlike

    def steps(lib, params, optimizer, n):
        for _ in range(n):
            optimizer.zero_grad()
            ((params[0] ** 2).sum() * 0.3 + (params[1] ** 3).sum()).backward()
            optimizer.step()

    def carry(state, source, target):
        def convert(x):
            if isinstance(x, source.Tensor):
                return target.tensor(np.array(x.detach().tolist(), np.float32))
            if isinstance(x, dict):
                return {k: convert(v) for k, v in x.items()}
            if isinstance(x, list):
                return [convert(v) for v in x]
            return x

        return convert(state)

    for make in (OPTIMIZERS["adam"], OPTIMIZERS["sgd_momentum"], OPTIMIZERS["adamw_amsgrad"]):
        for first, second in ((torch, torchlike), (torchlike, torch)):
            p = parameters(first)
            o = make(first, p)
            steps(first, p, o, 5)
            q = [second.tensor(np.array(x.tolist(), np.float32)).requires_grad_() for x in p]
            r = make(second, q)
            r.load_state_dict(carry(o.state_dict(), first, second))
            steps(first, p, o, 5)
            steps(second, q, r, 5)
            for x, y in zip(p, q, strict=True):
                np.testing.assert_allclose(np.array(y.tolist()), np.array(x.tolist()), rtol=1e-5, atol=1e-6)


def test_a_changing_learning_rate_compiles_once(stats):
    import torchlike as torch

    p = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    for i in range(12):
        optimizer.zero_grad()
        (p * p).sum().backward()
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (1 + i)
        optimizer.step()
    assert stats()["compilations"] <= 3, "the first step, the steps with constants, the steps with inputs"
