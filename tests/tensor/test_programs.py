"""Random short programs of views, in-place writes and arithmetic, run on torch and on torchlike.

After every step every live tensor is compared: numbers, shape, strides, version, requires_grad, and at the end the gradients.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import torchlike

torch = pytest.importorskip("torch", reason="compares with real torch, which is not installed")

# A step is (kind, which tensor, numbers that choose the details); both libraries run the same source.
step = st.tuples(
    st.sampled_from(
        ["view", "t", "select", "narrow", "slice", "expand", "unsqueeze", "diagonal", "add", "mul", "add_", "mul_", "fill_", "copy_",
         "setitem", "setscalar", "mask", "detach", "clone", "sin", "sum", "chunk", "as_strided", "data", "iadd_item", "permute"]
    ),  # fmt: skip
    st.integers(0, 7),
    st.integers(0, 5),
    st.integers(0, 5),
)


def run_step(lib, kind, x, other, a, b):
    """One step; the new tensor, or None for a step that only writes."""
    n = x.dim()
    d = a % n if n else 0
    if kind == "view":
        return x.reshape(-1) if a % 2 else x.view(x.shape[::-1]) if x.is_contiguous() else x.reshape(x.shape[::-1])
    if kind == "t":
        return x.transpose(0, n - 1) if n else x
    if kind == "permute":
        return x.permute(*range(n - 1, -1, -1)) if n else x
    if kind == "select":
        return x.select(d, b % x.shape[d]) if n and x.shape[d] else x
    if kind == "narrow":
        return x.narrow(d, 0, max(x.shape[d] - b % 2, 0)) if n else x
    if kind == "slice":
        return x[b % 2 :: 1 + a % 2] if n else x
    if kind == "expand":
        return x.unsqueeze(0).expand(2, *x.shape)
    if kind == "unsqueeze":
        return x.unsqueeze(d)
    if kind == "diagonal":
        return x.diagonal(b % 2, 0, n - 1) if n >= 2 else x
    if kind == "add":
        return x + 0.5 * (1 + b)
    if kind == "mul":
        return x * other if other.shape == x.shape else x * 1.5
    if kind == "sin":
        return lib.sin(x)
    if kind == "sum":
        return x.sum(d) if n else x.sum()
    if kind == "clone":
        return x.clone()
    if kind == "detach":
        return x.detach()
    if kind == "data":
        return x.data
    if kind == "chunk":
        return x.chunk(2, d)[-1] if n and x.shape[d] and not x.requires_grad else x
    if kind == "as_strided":
        return x.as_strided((2, 2), (1, 1)) if x.numel() and x.untyped_storage().nbytes() >= 4 * (x.storage_offset() + 3) else x
    if kind == "add_":
        x.add_(0.25 * (1 + b))
    elif kind == "mul_":
        x.mul_(other if other.shape == x.shape else 0.5)
    elif kind == "fill_":
        x.fill_(float(b))
    elif kind == "copy_":
        x.copy_(other if other.shape == x.shape else other.sum())
    elif kind == "setitem" and n:
        x[a % x.shape[0] if x.shape[0] else slice(None)] = 1.0 + b
    elif kind == "setscalar":
        x[...] = float(a)
    elif kind == "iadd_item" and n and x.shape[0]:
        x[b % x.shape[0]] += 1.0
    elif kind == "mask":
        x[x > 1.0] = float(b)
    return None


def describe(t):
    t_ = t.detach()
    return {
        "numbers": np.array(t_.tolist()), "shape": tuple(t.shape), "stride": tuple(t.stride()), "version": t._version,
        "requires_grad": t.requires_grad, "contiguous": t.is_contiguous(), "leaf": t.is_leaf,
    }  # fmt: skip


def attempt(lib, kind, tensors, i, a, b):
    x, other = tensors[i % len(tensors)], tensors[(i + 1) % len(tensors)]
    try:
        made = run_step(lib, kind, x, other, a, b)
    except (RuntimeError, IndexError) as error:
        return type(error), None
    return None, made


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(step, min_size=1, max_size=8), st.booleans())
def test_random_programs_agree(steps, grad):
    state = {}
    for lib in (torch, torchlike):
        leaf = lib.arange(6, dtype=lib.float32).reshape(2, 3).clone()
        if grad:
            leaf.requires_grad_()
        state[lib] = [leaf, leaf * 1.0]
    for kind, i, a, b in steps:
        outcome = {lib: attempt(lib, kind, state[lib], i, a, b) for lib in state}
        assert outcome[torch][0] == outcome[torchlike][0], f"{kind}: {outcome}"
        for lib, (_, made) in outcome.items():
            if made is not None and len(state[lib]) < 8:
                state[lib].append(made)
        for k, (mine, theirs) in enumerate(zip(state[torchlike], state[torch], strict=True)):
            got, wanted = describe(mine), describe(theirs)
            np.testing.assert_allclose(got.pop("numbers"), wanted.pop("numbers"), rtol=1e-5, atol=1e-6, err_msg=f"after {kind}, tensor {k}")
            assert got == wanted, f"after {kind}, tensor {k}"
    if not grad:
        return
    grads = {}
    for lib, tensors in state.items():
        last = [t for t in tensors if t.requires_grad][-1]
        try:
            last.sum().backward()
            grads[lib] = None if tensors[0].grad is None else np.array(tensors[0].grad.tolist())
        except RuntimeError as error:
            grads[lib] = type(error)
    if isinstance(grads[torch], np.ndarray):
        np.testing.assert_allclose(grads[torchlike], grads[torch], rtol=1e-5, atol=1e-6)
    else:
        assert grads[torch] == grads[torchlike]
