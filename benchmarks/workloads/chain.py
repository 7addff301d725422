"""A chain of 100 small operators: what an operator costs in Python. Divide the step by 100 for microseconds an operator."""

from __future__ import annotations

from collections.abc import Callable

LENGTH = 100


def _torch(contender: str):
    if contender == "torchlike":
        import torchlike

        return torchlike, torchlike.engine.flush
    if contender == "torch":
        import torch

        torch.set_num_threads(2)
        return torch, lambda: None
    raise ImportError("an eager chain has no hand-written JAX form")


def build_plain(contender: str) -> Callable[[], object]:
    """Without autograd, the flush included."""
    torch, flush = _torch(contender)
    x = torch.ones(8)

    def step():
        y = x
        for _ in range(LENGTH):
            y = y + x
        flush()
        return y

    return step


def build_grad(contender: str) -> Callable[[], object]:
    """Forward and backward, the flush included."""
    torch, flush = _torch(contender)
    x, w = torch.ones(8), torch.ones(8, requires_grad=True)

    def step():
        w.grad = None
        y = w
        for _ in range(LENGTH):
            y = y * x
        y.sum().backward()
        flush()
        return w.grad

    return step
