"""``nn.utils``, ``nn.parallel``, ``nn.attention``, ``nn.grad``: clipping, parametrizations, pruning, fusing, functional calls."""

import copy
import importlib
import warnings

from tests.nn.test_module import error
from tests.scenarios import Scenarios

scenario = Scenarios("nn_utils", tolerance=2e-5)


def linear(torch):
    torch.manual_seed(0)
    return torch.nn.Linear(3, 2)


def trained(torch, scale=1.0):
    m = linear(torch)
    (m(torch.ones(2, 3)).sum() * scale).backward()
    return m


@scenario
def clipping(torch):
    U = torch.nn.utils
    answers = []
    for norm in (2.0, 1, float("inf"), 0.5):
        m = trained(torch)
        answers.append([U.clip_grad_norm_(m.parameters(), 1.0, norm_type=norm), m.weight.grad, m.bias.grad])
    m = trained(torch)
    U.clip_grad_value_(m.parameters(), 1.5)
    answers += [m.weight.grad, U.get_total_norm([m.weight.grad, m.bias.grad])]
    U.clip_grads_with_norm_(m.parameters(), 1.0, torch.tensor(4.0))
    answers += [m.weight.grad, U.clip_grad_norm_(m.weight, 100.0), U.clip_grad_norm_(linear(torch).parameters(), 1.0)]
    m = trained(torch, float("inf"))
    answers.append(error(lambda: U.clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True)))
    return answers


@scenario
def vectors(torch):
    m = linear(torch)
    v = torch.nn.utils.parameters_to_vector(m.parameters())
    torch.nn.utils.vector_to_parameters(torch.arange(8.0), m.parameters())
    return v.detach(), m.weight, m.bias, error(lambda: torch.nn.utils.vector_to_parameters(3, m.parameters()))


@scenario
def old_weight_norm(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = []
        for dim in (0, 1, None):
            m = torch.nn.utils.weight_norm(linear(torch), dim=dim)
            m(torch.ones(1, 3)).sum().backward()
            answers.append([dict(m.state_dict()), m.weight.detach(), m.weight_g.grad, m.weight_v.grad])
        answers.append(error(lambda: torch.nn.utils.weight_norm(m)))
        answers += [[n for n, _ in torch.nn.utils.remove_weight_norm(m).named_parameters()], error(lambda: torch.nn.utils.remove_weight_norm(m))]
    return answers


@scenario
def old_spectral_norm(torch):
    torch.manual_seed(0)
    answers = []
    for layer, shape in ((torch.nn.Linear(3, 2), (1, 3)), (torch.nn.ConvTranspose2d(2, 3, 2), (1, 2, 3, 3))):
        m = torch.nn.utils.spectral_norm(layer, n_power_iterations=2)
        x = torch.ones(shape)
        (m(x) + m(x)).sum().backward()
        answers.append([dict(m.state_dict()), m.weight_orig.grad, m.eval()(x).detach(), {k: dict(v) for k, v in m.state_dict()._metadata.items()}])
        other = copy.deepcopy(m.state_dict())
        answers.append(repr(m.load_state_dict(other)))
    return [*answers, list(torch.nn.utils.remove_spectral_norm(m).state_dict()), error(lambda: torch.nn.utils.remove_spectral_norm(m))]


@scenario
def parametrizations(torch):
    P = torch.nn.utils.parametrizations
    torch.manual_seed(0)
    answers = []
    for make, layer in (
        (P.weight_norm, torch.nn.Linear(3, 2)),
        (P.spectral_norm, torch.nn.Conv2d(2, 3, 2)),
        (P.orthogonal, torch.nn.Linear(3, 3)),
        (lambda m: P.orthogonal(m, orthogonal_map="cayley"), torch.nn.Linear(3, 3)),
        (P.orthogonal, torch.nn.Linear(4, 2)),
        (lambda m: P.orthogonal(m, orthogonal_map="matrix_exp"), torch.nn.Linear(2, 4)),
        (lambda m: P.orthogonal(m, use_trivialization=False), torch.nn.Linear(4, 2)),
    ):
        m = make(layer)
        loss = (m.weight * torch.arange(m.weight.numel()).reshape(m.weight.shape)).sum()
        loss.backward()
        answers.append([dict(m.state_dict()), m.weight.detach(), [p.grad for p in m.parameters()], repr(m)])
    return answers


@scenario
def parametrize(torch):
    P = torch.nn.utils.parametrize
    calls = []

    class Symmetric(torch.nn.Module):
        def forward(self, x):
            calls.append(1)
            return x.triu() + x.triu(1).T

    class Twice(torch.nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, y):
            return y / 2

    class Longer(torch.nn.Module):
        def forward(self, x):
            return torch.cat([x, x])

    torch.manual_seed(0)
    m = torch.nn.Linear(2, 2)
    before = m.weight.detach().clone()
    P.register_parametrization(m, "weight", Symmetric())
    answers = [m.weight.detach(), repr(m), list(m.state_dict()), type(m).__name__, P.is_parametrized(m), P.is_parametrized(m, "bias")]
    P.register_parametrization(m, "weight", Twice())
    answers += [m.weight.detach(), P.type_before_parametrizations(m).__name__]
    calls.clear()
    with P.cached():
        m(torch.ones(1, 2))
        m(torch.ones(1, 2))
    answers += [len(calls), error(lambda: setattr(m, "weight", torch.ones(2, 2)))[0]]
    P.remove_parametrizations(m, "weight")
    answers += [m.weight, type(m).__name__, type(m.weight).__name__, repr(m)]
    n = torch.nn.Linear(2, 2)
    P.register_parametrization(n, "weight", Twice())
    kept = n.parametrizations.weight.original.detach().clone()
    n.weight = before
    answers += [kept, n.weight.detach(), n.parametrizations.weight.original, error(lambda: P.register_parametrization(n, "nope", Twice()))[0]]
    answers.append(error(lambda: P.register_parametrization(torch.nn.Linear(2, 2), "weight", Longer()))[0])
    longer = P.register_parametrization(torch.nn.Linear(2, 2), "weight", Longer(), unsafe=True)
    answers += [list(longer.weight.shape), list(copy.deepcopy(n).state_dict()), bool((copy.deepcopy(n).weight == n.weight).all())]
    P.remove_parametrizations(n, "weight", leave_parametrized=False)
    answers.append(n.weight)
    target = P.register_parametrization(torch.nn.Linear(2, 2), "weight", Twice())
    copied = P.transfer_parametrizations_and_params(target, torch.nn.Linear(2, 2))
    return [*answers, bool((copied.weight == target.weight).all()), list(copied.state_dict()), error(lambda: P.remove_parametrizations(n, "weight"))[0]]


@scenario
def pruning(torch):
    P = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    torch.manual_seed(0)
    answers = []
    for f in (
        lambda m: P.l1_unstructured(m, "weight", 0.5),
        lambda m: P.random_unstructured(m, "weight", 2),
        lambda m: P.ln_structured(m, "weight", 1, n=2, dim=1),
        lambda m: P.random_structured(m, "weight", 1, dim=0),
        lambda m: P.custom_from_mask(m, "weight", torch.tensor([[1, 0, 1], [0, 1, 1]])),
        lambda m: P.identity(m, "weight"),
    ):
        m = f(torch.nn.Linear(3, 2))
        answers.append([dict(m.state_dict()), m(torch.ones(1, 3)).detach(), m.weight.detach()])
    m = P.l1_unstructured(torch.nn.Linear(4, 4), "weight", 0.25)
    P.ln_structured(m, "weight", 0.5, n=1, dim=0)
    P.random_unstructured(m, "weight", 0.5)
    answers += [m.weight_mask, type(next(iter(m._forward_pre_hooks.values()))).__name__, P.is_pruned(m)]
    P.remove(m, "weight")
    answers += [m.weight, P.is_pruned(m), error(lambda: P.remove(m, "weight"))[0]]
    a, b = torch.nn.Linear(3, 2), torch.nn.Linear(2, 2)
    P.global_unstructured([(a, "weight"), (b, "weight")], P.L1Unstructured, amount=0.4)
    answers += [a.weight_mask, b.weight_mask]
    for amount in ("x", -1, 1.5, 100):
        answers.append(error(lambda amount=amount: P.l1_unstructured(torch.nn.Linear(2, 2), "weight", amount)))
    answers.append(error(lambda: P.ln_structured(torch.nn.Linear(2, 2), "bias", 1, n=1, dim=0))[0])
    return answers


@scenario
def fusing(torch):
    torch.manual_seed(0)
    conv, bn = torch.nn.Conv2d(2, 3, 2), torch.nn.BatchNorm2d(3)
    x = torch.randn(4, 2, 3, 3)
    for _ in range(3):
        bn(conv(x))
    conv.eval(), bn.eval()
    fused = torch.nn.utils.fuse_conv_bn_eval(conv, bn)
    lin, bn1 = torch.nn.Linear(2, 3).eval(), torch.nn.BatchNorm1d(3).eval()
    return [fused.weight, fused.bias, (fused(x) - bn(conv(x))).abs().max() < 1e-5, torch.nn.utils.fuse_linear_bn_eval(lin, bn1).weight,
            error(lambda: torch.nn.utils.fuse_conv_bn_eval(conv.train(), bn))[0]]  # fmt: skip


@scenario
def functional_calls(torch):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(1))
            self.b = self.a
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n = self.n + 1
            return x * self.a + self.b

    call = torch.nn.utils.stateless._functional_call
    m, two = Tied(), torch.full((1,), 2.0)
    given = {"a": two, "n": torch.zeros(1)}
    net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1))
    zeros = {k: torch.zeros_like(v) for k, v in net.named_parameters()}
    return [
        call(m, given, torch.ones(1)), given["n"], m.n, m.a, call(m, {"a": two}, (torch.ones(1),), tie_weights=False).detach(),
        error(lambda: call(m, {"a": two, "b": torch.ones(1)}, torch.ones(1))), error(lambda: call(m, {"a": two}, torch.ones(1), strict=True)),
        call(net, zeros, torch.ones(2, 1)), [p.sum() != 0 for p in net.parameters()][:1], error(lambda: call(m, {"a": 3}, torch.ones(1)))[0],
    ]  # fmt: skip


@scenario
def wrappers(torch):
    m = linear(torch)
    d = torch.nn.DataParallel(m)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        pass
    G = torch.nn.grad
    w, g = torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2)
    state = {"module.a": 1, "module.b": 2}
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    return [
        d(torch.ones(1, 3)).detach(), list(d.state_dict()), d.module is m, G.conv2d_input((1, 1, 3, 3), w, g),
        G.conv2d_weight(torch.ones(1, 1, 3, 3), (1, 1, 2, 2), g), list(state), torch.nn.factory_kwargs({"device": "cpu"}),
        error(lambda: torch.nn.factory_kwargs({"x": 1})), torch.nn.modules.utils._pair(2),
    ]  # fmt: skip


test_utils = scenario.test()


def test_distributed_on_one_process():
    import torchlike as torch

    m = torch.nn.Linear(2, 2)
    d = torch.nn.parallel.DistributedDataParallel(m)
    with d.no_sync():
        assert not d.require_backward_grad_sync
        d(torch.ones(1, 2)).sum().backward()
    assert d.require_backward_grad_sync and m.weight.grad is not None and list(d.state_dict()) == ["module.weight", "module.bias"]
