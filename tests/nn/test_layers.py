"""Every kind of layer: default initialisation after ``manual_seed``, result, gradients, ``repr``; options and errors."""

import warnings

import pytest

from tests.nn.test_module import error
from tests.scenarios import Scenarios

scenario = Scenarios("nn_layers", tolerance=2e-5)

# name: (constructor arguments, keywords, shape of the input)
LAYERS = {
    "Linear": [((3, 4), {}, (2, 3)), ((3, 4), {"bias": False}, (3,))],
    "Bilinear": [((3, 4, 2), {}, [(5, 3), (5, 4)])],
    "Conv1d": [((2, 4, 3), {"stride": 2, "padding": 1}, (1, 2, 7)), ((2, 2, 3), {"padding": 2, "padding_mode": "circular"}, (1, 2, 7))],
    "Conv2d": [((2, 4, 3), {"groups": 2}, (1, 2, 6, 6)), ((2, 4, (1, 3)), {"padding": "same", "dilation": 2}, (2, 6, 6)),
               ((2, 3, 3), {"padding": (1, 2), "padding_mode": "reflect", "bias": False}, (1, 2, 5, 5))],
    "Conv3d": [((1, 2, 2), {}, (1, 1, 3, 3, 3))],
    "ConvTranspose1d": [((2, 3, 3), {"stride": 2, "output_padding": 1}, (1, 2, 4))],
    "ConvTranspose2d": [((2, 4, 3), {"stride": 2, "padding": 1, "groups": 2}, (1, 2, 4, 4))],
    "ConvTranspose3d": [((1, 1, 2), {}, (1, 1, 2, 2, 2))],
    "BatchNorm1d": [((3,), {}, (4, 3)), ((3,), {"momentum": None}, (4, 3, 2)), ((3,), {"affine": False, "track_running_stats": False}, (4, 3))],
    "BatchNorm2d": [((3,), {"eps": 1e-3, "bias": False}, (2, 3, 2, 2))],
    "InstanceNorm1d": [((3,), {"affine": True, "track_running_stats": True}, (2, 3, 5))],
    "InstanceNorm2d": [((3,), {}, (3, 4, 4))],
    "LayerNorm": [((4,), {}, (2, 4)), (((2, 4),), {"bias": False}, (3, 2, 4))],
    "GroupNorm": [((2, 4), {}, (2, 4, 3))],
    "RMSNorm": [((4,), {}, (2, 4))],
    "LocalResponseNorm": [((3,), {}, (1, 4, 2, 2))],
    "CrossMapLRN2d": [((3,), {}, (1, 6, 2, 2))],
    "PReLU": [((3,), {}, (2, 3))],
    "GELU": [((), {}, (5,)), (("tanh",), {}, (5,))],
    "ELU": [((0.5,), {}, (5,))],
    "Hardtanh": [((-0.5, 0.5), {}, (5,))],
    "Softplus": [((2, 1), {}, (5,))],
    "GLU": [((), {}, (2, 4))],
    "Softmax": [((1,), {}, (2, 4))],
    "LogSoftmax": [((1,), {}, (2, 4))],
    "Softmin": [((1,), {}, (2, 4))],
    "Softmax2d": [((), {}, (1, 3, 2, 2))],
    "Threshold": [((0.1, 20), {}, (5,))],
    "MaxPool1d": [((2,), {}, (1, 2, 6))],
    "MaxPool2d": [((3, 2, 1), {"ceil_mode": True}, (1, 2, 6, 6))],
    "AvgPool2d": [((3, 2), {"padding": 1, "count_include_pad": False}, (1, 2, 6, 6))],
    "AvgPool1d": [((2,), {}, (1, 2, 6))],
    "LPPool2d": [((2, 3), {}, (1, 2, 6, 6))],
    "AdaptiveAvgPool2d": [(((None, 2),), {}, (1, 2, 5, 6)), ((3,), {}, (1, 2, 5, 7))],
    "AdaptiveMaxPool1d": [((3,), {}, (1, 2, 7))],
    "ZeroPad2d": [((1,), {}, (1, 2, 3, 3))],
    "ReflectionPad1d": [(((2, 1),), {}, (1, 2, 4))],
    "ReplicationPad2d": [((1,), {}, (1, 2, 3, 3))],
    "CircularPad1d": [((1,), {}, (1, 2, 3))],
    "ConstantPad1d": [((1, 3.5), {}, (1, 2, 3))],
    "PixelShuffle": [((2,), {}, (1, 4, 2, 2))],
    "PixelUnshuffle": [((2,), {}, (1, 1, 4, 4))],
    "ChannelShuffle": [((2,), {}, (1, 4, 2, 2))],
    "Upsample": [((), {"scale_factor": 2, "mode": "bilinear"}, (1, 2, 3, 3)), ((5,), {}, (1, 2, 3))],
    "UpsamplingBilinear2d": [((), {"scale_factor": 2}, (1, 2, 3, 3))],
    "Unfold": [((2,), {}, (1, 2, 3, 3))],
    "Fold": [(((3, 3), 2), {}, (1, 8, 4))],
    "Flatten": [((), {}, (2, 3, 4))],
    "Unflatten": [((1, (2, 2)), {}, (3, 4))],
    "CosineSimilarity": [((), {}, [(2, 3), (2, 3)])],
    "PairwiseDistance": [((), {"keepdim": True}, [(2, 3), (2, 3)])],
    "MultiheadAttention": [((4, 2), {"batch_first": True}, [(2, 3, 4)] * 3),
                           ((4, 2), {"kdim": 3, "vdim": 5, "add_bias_kv": True, "add_zero_attn": True}, [(2, 1, 4), (3, 1, 3), (3, 1, 5)])],
    "TransformerEncoderLayer": [((4, 2, 8, 0.0), {"batch_first": True}, (2, 3, 4)), ((4, 2, 8, 0.0), {"norm_first": True, "activation": "gelu"}, (3, 2, 4))],
    "TransformerDecoderLayer": [((4, 2, 8, 0.0), {}, [(3, 2, 4), (5, 2, 4)])],
    "Transformer": [((4, 2, 1, 1, 8, 0.0), {}, [(3, 2, 4), (4, 2, 4)])],
    "RNN": [((3, 4, 2), {}, (5, 2, 3)), ((3, 4), {"nonlinearity": "relu", "batch_first": True}, (2, 5, 3))],
    "LSTM": [((3, 4), {}, (5, 3)), ((3, 4, 2), {"bidirectional": True, "proj_size": 2, "bias": False}, (5, 2, 3))],
    "GRU": [((3, 4, 2), {"bidirectional": True}, (5, 2, 3))],
    "LSTMCell": [((3, 4), {}, (2, 3))],
    "GRUCell": [((3, 4), {}, (3,))],
    "RNNCell": [((3, 4), {"nonlinearity": "relu"}, (2, 3))],
}  # fmt: skip


def run(torch, name, args, kwargs, shapes):
    """A layer made and called after fixed seeds: everything that it shows."""
    torch.manual_seed(3)
    layer = getattr(torch.nn, name)(*args, **kwargs)
    drawn = torch.rand(1)  # the stream is where torch's is
    torch.manual_seed(4)
    inputs = [torch.randn(s, requires_grad=True) for s in (shapes if isinstance(shapes, list) else [shapes])]
    results = []

    def collect(x):
        if isinstance(x, torch.Tensor):
            results.append(x)
        else:
            for y in x:
                collect(y)

    collect(layer(*inputs))
    sum((r * torch.arange(r.numel()).reshape(r.shape).sub(1.5)).sum() for r in results).backward()
    return {
        "repr": repr(layer),
        "state": layer.state_dict(),
        "drawn": drawn,
        "results": [r.detach() for r in results],
        "gradients": [x.grad for x in inputs],
        "parameter gradients": {n: p.grad for n, p in layer.named_parameters()},
    }


def add(name, i, args, kwargs, shapes):
    def f(torch):
        return run(torch, name, args, kwargs, shapes)

    f.__name__ = f"{name}_{i}"
    scenario(f)


for _name, _cases in LAYERS.items():
    for _i, _case in enumerate(_cases):
        add(_name, _i, *_case)


@scenario
def losses(torch):
    nn = torch.nn
    torch.manual_seed(0)
    x, y = torch.randn(4, 3, requires_grad=True), torch.randn(4, 3)
    classes = torch.tensor([0, 2, 1, 2])
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0])
    cases = {
        "l1": (nn.L1Loss(), x, y),
        "mse": (nn.MSELoss(reduction="sum"), x, y),
        "huber": (nn.HuberLoss(delta=0.5), x, y),
        "smooth": (nn.SmoothL1Loss(beta=0.5, reduction="none"), x, y),
        "ce": (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]), label_smoothing=0.1), x, classes),
        "ce ignore": (nn.CrossEntropyLoss(ignore_index=2), x, classes),
        "ce probabilities": (nn.CrossEntropyLoss(), x, y.softmax(1)),
        "nll": (nn.NLLLoss(reduction="none"), x.log_softmax(1), classes),
        "bce": (nn.BCELoss(), x.sigmoid(), y.sigmoid()),
        "bce logits": (nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0])), x, y.sigmoid()),
        "kl": (nn.KLDivLoss(reduction="batchmean"), x.log_softmax(1), y.softmax(1)),
        "poisson": (nn.PoissonNLLLoss(full=True), x, y.abs()),
        "gauss": (nn.GaussianNLLLoss(), x, y, y.abs() + 0.1),
        "hinge": (nn.HingeEmbeddingLoss(), x, signs[:, None].expand(4, 3)),
        "soft margin": (nn.SoftMarginLoss(), x, signs[:, None].expand(4, 3)),
        "multi margin": (nn.MultiMarginLoss(p=2), x, classes),
        "multilabel": (nn.MultiLabelSoftMarginLoss(), x, (y > 0).float()),
        "multilabel margin": (nn.MultiLabelMarginLoss(), x, torch.tensor([[0, -1, 1], [2, 1, -1], [0, 1, 2], [1, -1, 0]])),
        "cosine": (nn.CosineEmbeddingLoss(margin=0.2), x, y, signs),
        "ranking": (nn.MarginRankingLoss(margin=0.1), x[:, 0], y[:, 0], signs),
        "triplet": (nn.TripletMarginLoss(swap=True), x, y, y.flip(0)),
        "triplet distance": (nn.TripletMarginWithDistanceLoss(distance_function=nn.functional.cosine_similarity), x, y, y.flip(0)),
        "old": (nn.MSELoss(size_average=False), x, y),
    }
    answers = {}
    for name, (loss, *args) in cases.items():
        value = loss(*args)
        (gradient,) = torch.autograd.grad(value.sum(), x)
        answers[name] = [value.detach(), gradient, repr(loss)]
    return answers


@scenario
def embeddings(torch):
    nn = torch.nn
    torch.manual_seed(1)
    e = nn.Embedding(5, 3, padding_idx=-1)
    e(torch.tensor([[0, 4], [1, 0]])).sum().backward()
    frozen = nn.Embedding.from_pretrained(torch.arange(6.0).reshape(3, 2))
    normed = nn.Embedding(4, 2, max_norm=1.0)
    with torch.no_grad():
        normed.weight.mul_(5)
    normed(torch.tensor([1, 3]))
    bag = nn.EmbeddingBag(5, 3, mode="sum")
    return (
        e.weight, e.weight.grad, repr(e), frozen(torch.tensor([2])), frozen.weight.requires_grad, normed.weight, repr(bag),
        bag(torch.tensor([1, 2, 4]), torch.tensor([0, 2])).detach(), error(lambda: nn.Embedding(3, 2, padding_idx=5)),
    )  # fmt: skip


@scenario
def batch_norm_state(torch):
    m = torch.nn.BatchNorm1d(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    seen = []
    for _ in range(2):
        m(x)
        seen.append([m.running_mean.clone(), m.running_var.clone(), m.num_batches_tracked.clone()])
    m.eval()
    seen.append(m(x).detach())
    old = {k: v for k, v in m.state_dict().items() if k != "num_batches_tracked"}
    seen.append(repr(torch.nn.BatchNorm1d(2).load_state_dict(old)))
    seen.append(repr(torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.Sequential(m))))
    seen.append(error(lambda: m(torch.ones(2, 2, 2, 2))))
    seen.append(error(lambda: torch.nn.BatchNorm2d(2)(torch.ones(2, 2))))
    seen.append(error(lambda: torch.nn.BatchNorm1d(2)(torch.ones(1, 2)))[0])
    return seen


@scenario
def dropout(torch):
    torch.manual_seed(0)
    x = torch.ones(2, 4, 3)
    m = torch.nn.Dropout(0.4)
    answers = [m(x), torch.nn.Dropout1d(0.5)(x), torch.nn.AlphaDropout(0.3)(x), m.eval()(x), repr(m), error(lambda: torch.nn.Dropout(2))]
    return [*answers, torch.nn.Dropout2d(0.5)(torch.ones(2, 3, 2, 2)), torch.rand(1)]


@scenario
def attention_options(torch):
    torch.manual_seed(0)
    m = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    x = torch.randn(2, 3, 4)
    padding = torch.tensor([[False, False, True], [False, False, False]])
    causal = torch.nn.Transformer.generate_square_subsequent_mask(3)
    answers = [m(x, x, x, need_weights=False)[1], m(x, x, x, average_attn_weights=False)[1].detach()]
    answers += [t.detach() for t in m(x, x, x, key_padding_mask=padding, attn_mask=causal == float("-inf"))]
    answers += [m(x, x, x, attn_mask=causal, is_causal=True, need_weights=False)[0].detach(), causal]
    m2 = torch.nn.MultiheadAttention(4, 2, dropout=0.5)
    answers.append(m2(x[0], x[0], x[0])[0].detach())
    return [*answers, error(lambda: torch.nn.MultiheadAttention(5, 2)), error(lambda: torch.nn.MultiheadAttention(0, 2))]


@scenario
def encoder_padding(torch):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        m = torch.nn.TransformerEncoder(layer, 2)
        x = torch.randn(2, 3, 4)
        padding = torch.tensor([[False, False, True], [False, False, False]])
        m.eval()
        with torch.no_grad():
            dropped = m(x, src_key_padding_mask=padding)
        with_gradient = m(x, src_key_padding_mask=padding).detach()
        ragged = m(x, src_key_padding_mask=padding.flip(1)).detach()
    return dropped, with_gradient[:, :2], ragged[:, 1:]


@scenario
def adaptive_softmax(torch):
    torch.manual_seed(0)
    m = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6], div_value=2.0)
    x, y = torch.randn(5, 8, requires_grad=True), torch.tensor([0, 4, 11, 2, 7])
    out, loss = m(x, y)
    loss.backward()
    return [
        out.detach(), loss.detach(), x.grad, m.log_prob(x).detach(), m.predict(x), repr(m), m.head.weight.grad,
        error(lambda: m(x, y + 5))[0], error(lambda: torch.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [6, 3])),
    ]  # fmt: skip


@scenario
def transposed_sizes(torch):
    m = torch.nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = torch.ones(1, 1, 3, 3)
    return [list(m(x, output_size=(8, 8)).shape), error(lambda: m(x, output_size=(9, 9)))[0]]


@scenario
def wrong_arguments(torch):
    nn = torch.nn
    return [
        error(lambda: nn.Conv2d(3, 4, 2, groups=2)),
        error(lambda: nn.Conv2d(4, 3, 2, groups=2)),
        error(lambda: nn.Conv2d(2, 4, 2, groups=0)),
        error(lambda: nn.Conv2d(2, 4, 2, padding="full"))[0],
        error(lambda: nn.Conv2d(2, 4, 2, padding="same", stride=2)),
        error(lambda: nn.Conv2d(2, 4, 2, padding_mode="x"))[0],
        error(lambda: nn.ConvTranspose2d(2, 4, 2, padding_mode="reflect")),
        error(lambda: nn.GroupNorm(3, 4)),
        error(lambda: nn.Linear(2, 3)(torch.ones(3)))[0],
        error(lambda: nn.Hardtanh(2, 1))[0],
        error(lambda: nn.LSTM(2, 3, proj_size=5)),
        error(lambda: nn.GRU(2, 3, proj_size=1)),
        error(lambda: nn.RNN(2, 3, nonlinearity="x")),
        error(lambda: nn.LSTM(2.0, 3)),
        error(lambda: nn.LSTM(2, 3, dropout=2)),
        error(lambda: nn.LSTM(2, 3)(torch.ones(2, 2, 4))),
        error(lambda: nn.LSTM(2, 3)(torch.ones(2, 2, 2), (torch.ones(1, 1, 3), torch.ones(1, 2, 3)))),
        error(lambda: nn.LSTM(2, 3)(torch.ones(2, 2, 2), (torch.ones(2, 3), torch.ones(2, 3)))),
        error(lambda: nn.GRU(2, 3)(torch.ones(2, 2), torch.ones(1, 1, 3))),
        error(lambda: nn.GRU(2, 3)(torch.ones(2))),
        error(lambda: nn.GRU(2, 3)(torch.ones(2, 2, 2).double())),
        error(lambda: nn.LSTMCell(2, 3)(torch.ones(1, 1, 2))),
        error(lambda: nn.GRUCell(2, 3)(torch.ones(1, 4)))[0],
        error(lambda: nn.TransformerEncoderLayer(4, 2, activation="x")),
        error(lambda: nn.Unflatten(1.0, (2, 2)))[0],
        error(lambda: nn.PixelShuffle(2)(torch.ones(1, 3, 2, 2)))[0],
    ]


test_layer = scenario.test()


@pytest.mark.parametrize("name", ["reduce", "size_average"])
def test_legacy_loss_arguments_warn(name):
    import torchlike

    with pytest.warns(UserWarning, match=name):
        torchlike.nn.MSELoss(**{name: False})
