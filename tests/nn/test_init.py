"""``nn.init``: torch's numbers from the same seed; errors and warnings."""

import warnings

from tests.nn.test_module import error
from tests.scenarios import Scenarios

scenario = Scenarios("nn_init", tolerance=1e-6)


@scenario
def streams(torch):
    I = torch.nn.init  # noqa: E741
    torch.manual_seed(0)
    fill = {
        "uniform": lambda t: I.uniform_(t, -1, 2),
        "normal": lambda t: I.normal_(t, 1, 2),
        "trunc": lambda t: I.trunc_normal_(t, std=2.0, a=-1.0, b=1.5),
        "trunc narrow": lambda t: I.trunc_normal_(t, std=1.0, a=1.0, b=1.5),
        "xavier uniform": lambda t: I.xavier_uniform_(t, gain=2.0),
        "xavier normal": I.xavier_normal_,
        "kaiming uniform": lambda t: I.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu"),
        "kaiming normal": lambda t: I.kaiming_normal_(t, a=0.1),
        "constant": lambda t: I.constant_(t, 3.5),
        "ones": I.ones_,
        "zeros": I.zeros_,
        "sparse": lambda t: I.sparse_(t, 0.4),
        "eye": I.eye_,
    }
    answers = {}
    for name, f in fill.items():
        t = torch.empty(4, 6, requires_grad=True)
        answers[name] = [f(t) is t, t]
    answers["dirac"] = [I.dirac_(torch.empty(4, 2, 3)), I.dirac_(torch.empty(4, 2, 3, 3), groups=2), I.dirac_(torch.empty(2, 2, 3, 3, 3))]
    answers["conv"] = I.kaiming_uniform_(torch.empty(2, 3, 2, 2))
    answers["after"] = torch.rand(1)
    g = torch.Generator().manual_seed(5)
    answers["generator"] = [I.uniform_(torch.empty(3), generator=g), I.kaiming_normal_(torch.empty(2, 3), generator=g)]
    return answers


@scenario
def orthogonal(torch):
    torch.manual_seed(0)
    return [torch.nn.init.orthogonal_(torch.empty(s), gain=2.0) for s in ((3, 5), (5, 3), (4, 4), (2, 3, 2))]


@scenario
def gains_and_errors(torch):
    I = torch.nn.init  # noqa: E741
    names = ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        I.kaiming_uniform_(torch.empty(0, 3))
        I.trunc_normal_(torch.empty(2), mean=10.0)
        I.uniform(torch.empty(2))
    return [
        [I.calculate_gain(n) for n in names], I.calculate_gain("leaky_relu", 0.3), error(lambda: I.calculate_gain("swish")),
        error(lambda: I.calculate_gain("leaky_relu", "x")), error(lambda: I.xavier_uniform_(torch.empty(3))),
        error(lambda: I.kaiming_normal_(torch.empty(2, 2), mode="fan")), error(lambda: I.eye_(torch.empty(2))),
        error(lambda: I.dirac_(torch.empty(2, 2))), error(lambda: I.dirac_(torch.empty(3, 2, 2), groups=2)),
        error(lambda: I.orthogonal_(torch.empty(2))), error(lambda: I.sparse_(torch.empty(2), 0.1)), [w.category.__name__ for w in caught],
    ]  # fmt: skip


test_init = scenario.test()
