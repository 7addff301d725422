"""Recurrent layers over packed sequences, with states, dropout and second derivatives; packing and padding."""

import warnings

from tests.nn.test_module import error
from tests.scenarios import Scenarios

scenario = Scenarios("nn_recurrent", tolerance=2e-5)

KINDS = {
    "rnn": ("RNN", {"num_layers": 2}),
    "relu": ("RNN", {"nonlinearity": "relu", "bidirectional": True}),
    "lstm": ("LSTM", {"num_layers": 2}),
    "bilstm": ("LSTM", {"bidirectional": True, "proj_size": 2}),
    "gru": ("GRU", {"bias": False}),
    "bigru": ("GRU", {"bidirectional": True, "num_layers": 2}),
}


def together(states):
    return states if isinstance(states, tuple) else (states,)


def packed(torch, kind, options):
    R = torch.nn.utils.rnn
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 4, **options)
    x = torch.randn(3, 5, 3, requires_grad=True)
    answers = []
    for lengths, ordered in (([5, 3, 1], True), ([2, 5, 3], False), ([5, 5, 5], True)):
        sequence = R.pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=ordered)
        output, states = layer(sequence)
        padded, sizes = R.pad_packed_sequence(output, batch_first=True, total_length=6, padding_value=-1.0)
        states = together(states)
        loss = (padded * torch.arange(padded.numel()).reshape(padded.shape)).sum() + sum((s**2).sum() for s in states)
        grads = torch.autograd.grad(loss, [x, *layer.parameters()])
        answers.append([padded.detach(), sizes, [s.detach() for s in states], grads[0], [g.sum() / 100 for g in grads[1:]]])
    return answers


def with_states(torch, kind, options):
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 4, **options)
    rows = (2 if options.get("bidirectional") else 1) * options.get("num_layers", 1)
    h = torch.randn(rows, 2, options.get("proj_size", 4), requires_grad=True)
    state = (h, torch.randn(rows, 2, 4, requires_grad=True)) if kind == "LSTM" else h
    output, final = layer(torch.randn(5, 2, 3), state)
    grads = torch.autograd.grad(output.sum() + sum((2 * f).sum() for f in together(final)), together(state))
    return [output.detach(), [f.detach() for f in together(final)], list(grads)]


def twice(torch, kind, options):
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 4, **options).double()
    output, _ = layer(torch.randn(4, 2, 3, dtype=torch.float64))
    first = torch.autograd.grad((output**2).sum(), list(layer.parameters()), create_graph=True)
    second = torch.autograd.grad(sum((g**2).sum() for g in first), list(layer.parameters()))
    return [g.sum() for g in second]


def add(name, body, kind, options):
    def f(torch):
        return body(torch, kind, options)

    f.__name__ = f"{body.__name__}_{name}"
    scenario(f)


for _name, (_kind, _options) in KINDS.items():
    for _body in (packed, with_states, twice):
        add(_name, _body, _kind, _options)


@scenario
def dropout_between_layers(torch):
    torch.manual_seed(0)
    layer = torch.nn.LSTM(3, 4, 3, dropout=0.5, bidirectional=True)
    x = torch.randn(5, 3, 3)
    sequence = torch.nn.utils.rnn.pack_padded_sequence(x, [5, 4, 2])
    answers = [layer(x)[0].detach(), layer(sequence)[0].data.detach(), torch.rand(1)]
    layer.eval()
    return [*answers, layer(x)[0].detach(), torch.rand(1)]


@scenario
def layers(torch):
    layer = torch.nn.LSTM(2, 3, 2, bidirectional=True, proj_size=1)
    layer.flatten_parameters()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.GRU(2, 3, dropout=0.5)
    return [
        [n for n, _ in layer.named_parameters()], [len(w) for w in layer.all_weights], repr(layer), layer.double().all_weights[0][0].dtype == torch.float64,
        [str(w.message) for w in caught],
    ]  # fmt: skip


@scenario
def packing(torch):
    R = torch.nn.utils.rnn
    a, b, c = torch.arange(3.0), torch.arange(2.0) + 10, torch.arange(4.0) + 20
    p = R.pack_sequence([a, b, c], enforce_sorted=False)
    unpacked = R.unpack_sequence(p)
    padded, lengths = R.pad_packed_sequence(p, padding_value=-7)
    x = torch.arange(12.0).reshape(3, 2, 2)
    q = R.pack_padded_sequence(x, [3, 2])
    two = torch.ones(2, 2)
    return [
        list(p), unpacked, padded, lengths, list(q), p.double().data, p.is_cuda, p.to("cpu") is p, type(p).__name__, repr(p),
        R.pad_sequence([a, b, c]), R.pad_sequence([a, b], batch_first=True, padding_value=9.0), R.pad_sequence([a, c], padding_side="left"),
        R.unpad_sequence(R.pad_sequence([a, b]), torch.tensor([3, 2])), R.invert_permutation(torch.tensor([2, 0, 1])),
        error(lambda: R.pack_sequence([b, a]))[0], error(lambda: R.pack_padded_sequence(two, torch.tensor([0, 2]), enforce_sorted=False)),
        error(lambda: R.pack_padded_sequence(two, torch.tensor([2]))),
        error(lambda: R.pad_packed_sequence(p, total_length=2)), error(lambda: R.pad_sequence(3)),
        error(lambda: R.pad_sequence([a, two]))[0],
    ]  # fmt: skip


@scenario
def packing_gradient(torch):
    R = torch.nn.utils.rnn
    parts = [torch.ones(n, 2, requires_grad=True) for n in (1, 3, 2)]
    padded = R.pad_sequence(parts, batch_first=True, padding_value=5.0)
    p = R.pack_padded_sequence(padded, torch.tensor([1, 3, 2]), batch_first=True, enforce_sorted=False)
    (p.data * torch.arange(12.0).reshape(6, 2)).sum().backward()
    return [x.grad for x in parts]


test_recurrent = scenario.test()
