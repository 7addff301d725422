"""The tape against torch: backward, grad, hooks, Function, modes, errors."""

import gc
import sys

from tests.scenarios import Scenarios, error_of

scenario = Scenarios("autograd")


@scenario
def simple_backward(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * x * 2.0 + x.exp()).sum()
    y.backward()
    return x.grad, y.grad_fn.name(), y.is_leaf, x.is_leaf


@scenario
def gradients_accumulate(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 2).sum().backward()
    held = x.grad
    (x * 3).sum().backward()
    return x.grad, held is x.grad


@scenario
def broadcasting_is_summed(torch):
    x = torch.ones(3, 1, requires_grad=True)
    y = torch.ones(4, requires_grad=True)
    (x * y * 2).sum().backward()
    return x.grad, y.grad


@scenario
def non_scalar_needs_gradient(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    first = error_of(lambda: y.backward())
    y.backward(torch.tensor([1.0, 10.0, 100.0]))
    return first, x.grad, error_of(lambda: (x * 2).backward(torch.ones(2)))


@scenario
def backward_twice(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    again = error_of(lambda: y.backward())
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    w = (x + 1).sum()
    w.backward()
    return again, x.grad, error_of(lambda: w.backward())


@scenario
def double_backward(torch):
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    (g,) = torch.autograd.grad((x**3 + x.sin()).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), x)
    return g, h, g.requires_grad


@scenario
def create_graph_accumulates_differentiably(torch):
    x = torch.tensor([2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    (g * g).sum().backward()
    return g, x.grad


@scenario
def grad_of_unused(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    out = (x * 2).sum()
    missing = error_of(lambda: torch.autograd.grad(out, [x, y], retain_graph=True))
    gx, gy = torch.autograd.grad(out, [x, y], allow_unused=True, retain_graph=True)
    zx, zy = torch.autograd.grad(out, [x, y], materialize_grads=True)
    return missing, gx, gy, zx, zy


@scenario
def grad_of_intermediate(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    z = (y * y).sum()
    return torch.autograd.grad(z, [y, x])


@scenario
def backward_inputs(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (x * y).sum().backward(inputs=[x])
    return x.grad, y.grad


@scenario
def batched_grads(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    return torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True)


@scenario
def leaf_errors(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    return [
        error_of(lambda: x.add_(1)),
        error_of(lambda: x[0].mul_(2)),
        error_of(lambda: torch.ones(2, dtype=torch.int64, requires_grad=True)),
        error_of(lambda: torch.tensor([1, 2]).requires_grad_()),
        error_of(lambda: y.requires_grad_(False)),
        error_of(lambda: torch.ones(2).backward()),
        error_of(lambda: x.numpy()),
        error_of(lambda: torch.ones(2).register_hook(print)),
    ]


@scenario
def saved_value_modified(torch):
    def modified_result():
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.add_(1)
        y.sum().backward()

    def modified_operand():
        x = torch.ones(3, requires_grad=True)
        w = torch.ones(3)
        y = x * w
        w.mul_(2)
        y.sum().backward()

    def harmless():
        x = torch.ones(3, requires_grad=True)
        y = x + 1
        y.mul_(2)
        y.sum().backward()

    return error_of(modified_result), error_of(modified_operand), error_of(harmless)


@scenario
def in_place_is_differentiable(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y.mul_(3)
    y[0] = 0
    y[1:].add_(x[:2])
    (y * y).sum().backward()
    return x.grad, y.grad_fn.name()


@scenario
def views_follow_their_base(torch):
    x = torch.ones(4, requires_grad=True)
    b = x * 1
    v = b[1:3]
    b.mul_(2)
    before = v.grad_fn.name()
    (v * v).sum().backward()
    return x.grad, v, before


@scenario
def detach_shares(torch):
    x = torch.ones(2, requires_grad=True)
    d = x.detach()
    d[0] = 5
    return x, d.requires_grad, x._version == d._version


@scenario
def modes(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []
    with torch.no_grad():
        seen.append((x * 2).requires_grad)
        with torch.enable_grad():
            seen.append((x * 2).requires_grad)
    torch.set_grad_enabled(False)
    seen.append(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        seen.append((x * 2).requires_grad)

    @torch.no_grad()
    def f():
        return (x * 2).requires_grad

    @torch.no_grad
    def g():
        return (x * 2).requires_grad

    @torch.no_grad()
    def generate():
        yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    items = []
    for item in generate():
        items.append((item, torch.is_grad_enabled()))
    with torch.inference_mode():
        i = x * 2
        seen.append(i.is_inference())
        seen.append(torch.is_inference_mode_enabled())
    return seen, f(), g(), items, i.requires_grad, torch.is_grad_enabled()


@scenario
def mode_survives_exceptions(torch):
    try:
        with torch.no_grad():
            raise ValueError
    except ValueError:
        pass
    return torch.is_grad_enabled()


@scenario
def tensor_hooks(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g + 1)
    (y * 5).sum().backward()
    first = x.grad.tolist()
    handle.remove()
    (x * 3).sum().backward()
    return seen, first, x.grad


@scenario
def retained_grad(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad, y.retains_grad, x.retains_grad


@scenario
def post_accumulate_hook(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    (x * 3).sum().backward()
    return seen


@scenario
def node_hooks(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = (x * 3).sum()
    y.grad_fn.register_hook(lambda gi, go: seen.append((len(gi), go[0].tolist())))
    y.grad_fn.register_prehook(lambda go: (go[0] * 2,))
    y.backward()
    return seen, x.grad


@scenario
def next_functions(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    f = y.grad_fn
    chain = []
    while f is not None:
        chain.append(f.name())
        f = f.next_functions[0][0] if f.next_functions else None
    return [n.split("::")[-1] for n in chain]


def _square(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale=1.0):
            ctx.save_for_backward(x)
            ctx.scale = scale
            return x * x * scale

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x * ctx.scale, None

    return Square


@scenario
def function(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    square = _square(torch)
    y = square.apply(x, 3.0)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return y, y.grad_fn.name(), g, h


@scenario
def function_setup_context(torch):
    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(a, b):
            return a * b, a + b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, g, unused):
            a, b = ctx.saved_tensors
            return g * b if ctx.needs_input_grad[0] else None, g * a if ctx.needs_input_grad[1] else None

    a, b = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0])
    p, s = Mul.apply(a, b)
    p.sum().backward()
    return p, s, a.grad, b.grad


@scenario
def function_dirty_and_once(torch):
    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 7

    x = torch.ones(2, requires_grad=True)
    y = x * 1
    z = AddOne.apply(y)
    z.sum().backward()
    (g,) = torch.autograd.grad(AddOne.apply(x * 1).sum(), x, create_graph=True)
    return z is y, y, x.grad, error_of(lambda: g.sum().backward())


@scenario
def function_wrong_count(torch):
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, g

    x = torch.ones(2, requires_grad=True)
    return error_of(lambda: Bad.apply(x).sum().backward())


@scenario
def saved_output_of_function(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    x = torch.tensor([0.5], requires_grad=True)
    (g,) = torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


@scenario
def complex_gradients_are_conjugate(torch):
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * z * (2 - 1j)).abs().sum().backward()
    return z.grad


@scenario
def grad_setter(torch):
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.tensor([5.0, 6.0])
    (x * 1).sum().backward()
    wrong = error_of(lambda: setattr(x, "grad", torch.ones(3)))
    del x.grad
    return wrong, x.grad


@scenario
def several_results(torch):
    x = torch.tensor([[3.0, 1.0], [2.0, 4.0]], requires_grad=True)
    values, indices = x.max(1)
    values.sum().backward()
    return x.grad, indices, indices.requires_grad


@scenario
def deep_graph(torch):
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(10000):
        y = y + 1.0
    y.backward()
    return x.grad


def test_a_graph_leaves_no_garbage():
    import torchlike as torch

    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            ((x * 2).exp() + x[0]).sum().backward()
        before = sys.getrefcount(None)
        assert gc.collect() < 50, "no cycles through nodes or tensors"
        del before
    finally:
        gc.enable()


def test_anomaly_mode_names_the_forward_line(capsys):
    import pytest

    import torchlike as torch

    x = torch.zeros(1, requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = (x.sqrt() * 0.0).sum()
        with pytest.raises(RuntimeError, match="nan values"):
            y.backward()
    assert "test_backward.py" in capsys.readouterr().err


test_autograd = scenario.test()
