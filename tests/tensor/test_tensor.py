"""Creation, dtypes, promotion, indexing, conversion: what scripts do with a tensor all day."""

import copy
import pickle

import numpy as np

from tests.scenarios import Scenarios, error_of

scenario = Scenarios("tensor")


@scenario
def creation(torch):
    return [
        torch.tensor(3), torch.tensor(2.5), torch.tensor(True), torch.tensor([1, 2]), torch.tensor([[1.0], [2]]), torch.tensor([]),
        torch.tensor(1 + 2j), torch.tensor([True, False]), torch.tensor(np.arange(3, dtype=np.int16)), torch.tensor(np.float64(2)),
        torch.tensor([1, 2], dtype=torch.float64), torch.tensor([1.9, -1.9], dtype=torch.int32), torch.tensor((1, 2.5)),
        torch.tensor([torch.tensor(1), torch.tensor(2)]), torch.tensor([[True, 2]]), torch.as_tensor([1.0]), torch.scalar_tensor(3),
        torch.zeros(2, 3), torch.ones((2,)), torch.full((2, 2), 7), torch.full((1,), 2.5), torch.full((1,), True), torch.eye(2, 3),
        torch.zeros(2, dtype=torch.bool), torch.empty(0).shape, torch.zeros(()).shape,
    ]  # fmt: skip


@scenario
def ranges(torch):
    return [
        torch.arange(5), torch.arange(1, 4), torch.arange(1, 2, 0.3), torch.arange(5, 0, -2), torch.arange(0, 1, 0.1, dtype=torch.float64),
        torch.linspace(0, 1, 5), torch.linspace(3, -2, 4), torch.linspace(0, 10, 1), torch.logspace(0, 2, 3), torch.arange(3.0),
        torch.linspace(0, 9, 4, dtype=torch.int64), torch.arange(0), error_of(lambda: torch.arange(0, 5, -1)),
    ]  # fmt: skip


@scenario
def likes_and_news(torch):
    x = torch.zeros(2, 3, dtype=torch.float64)
    return [
        torch.ones_like(x), torch.zeros_like(x, dtype=torch.int32), torch.full_like(x, 3), torch.empty_like(x).shape,
        x.new_zeros(2), x.new_ones((1, 2)), x.new_full((2,), 5), x.new_tensor([1, 2]), x.new_empty(3).dtype,
    ]  # fmt: skip


@scenario
def legacy_constructors(torch):
    return [
        torch.FloatTensor([1, 2]), torch.LongTensor([[1], [2]]), torch.FloatTensor(2, 3).shape, torch.Tensor([1, 2]), torch.Tensor(2).shape,
        torch.ByteTensor([1, 0]), torch.BoolTensor([True]), isinstance(torch.zeros(1), torch.FloatTensor),
        isinstance(torch.zeros(1), torch.LongTensor), torch.zeros(1).type(), torch.zeros(1).type(torch.LongTensor),
        torch.zeros(1).type("torch.DoubleTensor"), torch.DoubleTensor([1]).dtype,
    ]  # fmt: skip


@scenario
def creation_errors(torch):
    return [
        error_of(lambda: torch.tensor([[1, 2], [3]])), error_of(lambda: torch.tensor("a")), error_of(lambda: torch.tensor([None])),
        error_of(lambda: torch.zeros(-1)), error_of(lambda: torch.from_numpy([1])), error_of(lambda: torch.tensor([1, "a"])),
        error_of(lambda: torch.tensor(2**70)), error_of(lambda: torch.tensor(300, dtype=torch.uint8)),
        error_of(lambda: torch.zeros(2).view(3)), error_of(lambda: torch.device("nonsense")),
    ]  # fmt: skip


@scenario
def promotion(torch):
    i, f, d, b, h = (torch.ones(2, dtype=t) for t in (torch.int32, torch.float32, torch.float64, torch.bool, torch.float16))
    zero = torch.tensor(2.5, dtype=torch.float64)
    pairs = [i + 1, i + 1.5, f + 1, f * zero, i * zero, b + b, b + 1, b * 2.0, h + f, h * 2, h + zero, i / 2, i // 2, d + f, i + b, i * 1j, f**2, 2**i]
    return [str(p.dtype) for p in pairs], str(torch.result_type(i, 1.5)), str(torch.promote_types(torch.int8, torch.uint8)), torch.can_cast(torch.float32, torch.int32)


@scenario
def division(torch):
    x = torch.tensor([7, -7, 3])
    return [x / 2, x // 2, x % 3, torch.div(x, 2, rounding_mode="trunc"), torch.div(x, 2, rounding_mode="floor"), -7.0 // torch.tensor(2.0), torch.fmod(x, 3),
            torch.remainder(torch.tensor([-3.5, 3.5]), 2), torch.tensor([1.0, -1.0, 0.0]) / 0]  # fmt: skip


@scenario
def overflow_wraps(torch):
    return [torch.tensor([200], dtype=torch.uint8) + 100, torch.tensor([127], dtype=torch.int8) + 1, torch.tensor([2**62]) * 4, -torch.tensor([1], dtype=torch.uint8)]


@scenario
def basic_indexing(torch):
    x = torch.arange(24).reshape(2, 3, 4)
    return [
        x[0], x[-1, 1], x[:, 1], x[..., 0], x[1, ..., 2], x[:, None].shape, x[0, :, ::2], x[:, 1:3, -1], x[True].shape, x[False].shape,
        x[()].shape, x[None, 0, ..., None].shape, x[slice(None), 2], x[1][2][3], x[:, -2:], x[5:].shape,
    ]  # fmt: skip


@scenario
def advanced_indexing(torch):
    x = torch.arange(24).reshape(2, 3, 4)
    i, j = torch.tensor([0, 1, 1]), torch.tensor([2, 0, 1])
    return [
        x[i], x[i, j], x[:, j], x[i, :, j].shape, x[i, j, 0], x[[0, 1], [1, 2]], x[:, [0, 2]], x[torch.tensor([[0], [1]]), j].shape,
        x[x > 20], x[x[:, :, 0] > 5].shape, x[torch.tensor([True, False])], x[:, torch.tensor([True, False, True]), 1], x[torch.tensor(1)],
        x[..., torch.tensor([-1])], x[np.array([1, 0])].shape, x[i.to(torch.int32)].shape, x[torch.tensor([], dtype=torch.int64)].shape,
        x[[True, False]].shape, x[None, i].shape, x[0, i.clamp(max=1), 1:3].shape, x[[[0, 1], [1, 0]]].shape,
    ]  # fmt: skip


@scenario
def index_assignment(torch):
    x = torch.zeros(3, 4)
    x[0] = 1
    x[1, 2] = 2.5
    x[:, 0] = torch.tensor([7.0, 8.0, 9.0])
    x[x == 0] = -1
    x[[0, 2], [1, 3]] = torch.tensor([5.0, 6.0])
    x[torch.tensor([True, False, True])] *= 2
    x[1:, 1:3] = torch.ones(2)
    x[2] = torch.arange(4)
    x[..., -1] += 0.5
    m = torch.tensor([True, False, True, False])
    x[1, m] = torch.tensor([100.0, 200.0])
    return x


@scenario
def index_errors(torch):
    x = torch.zeros(2, 3)
    return [
        error_of(lambda: x[2]), error_of(lambda: x[0, 0, 0]), error_of(lambda: x[torch.tensor([5])]), error_of(lambda: x[0.5]),
        error_of(lambda: x[..., ...]), error_of(lambda: x[::-1]), error_of(lambda: x[torch.tensor([True])]), error_of(lambda: torch.tensor(1)[0]),
        error_of(lambda: x["a"]), error_of(lambda: x.__setitem__(0, [1, 2, 3])), error_of(lambda: x.__setitem__(0, torch.zeros(2))),
        error_of(lambda: x[torch.tensor([0.5])]),
    ]  # fmt: skip


@scenario
def gradients_through_indexing(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (x[0, 1] * 2 + x[:, [0, 0]].sum() + x[x > 3].sum() + x[1:, ::2].prod()).backward()
    y = torch.zeros(4)
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    y[1:3] = w
    y[torch.tensor([0])] = w[0]
    (y * y).sum().backward()
    return x.grad, w.grad


@scenario
def python_protocol(torch):
    x = torch.tensor([[1, 2], [3, 4]])
    return [
        len(x), [r.tolist() for r in x], 3 in x, 9 in x, bool(torch.tensor(0)), int(torch.tensor(3.7)), float(torch.tensor(2)), [10, 20, 30][torch.tensor(1)],
        x.tolist(), torch.tensor(1.5).item(), x == x.clone(), (x == 1).any(), hash(x) == hash(x), error_of(lambda: bool(x)), error_of(lambda: x.item()),
        error_of(lambda: len(torch.tensor(1))), error_of(lambda: iter(torch.tensor(1))), f"{torch.tensor(2.5):.2f}", list(torch.Size([2, 3])), repr(x.shape),
        x.shape == (2, 2), x.size(0), x.size(-1), x.ndim, x.numel(), x.nelement(), x.element_size(), x.nbytes, x.dim(),
    ]  # fmt: skip


@scenario
def reflected_operators(torch):
    x = torch.tensor([1.0, 2.0])
    return [1 + x, 1 - x, 2 * x, 2 / x, 2**x, 3 // x, 5 % x, -x, +x, abs(-x), ~torch.tensor([True, False]), x @ x, x > 1, x <= 1, x != 1,
            torch.tensor([5]) & 3, 6 | torch.tensor([1]), torch.tensor([1]) << 2, 8 >> torch.tensor([1]), torch.tensor([True]) ^ True]  # fmt: skip


@scenario
def casts(torch):
    x = torch.tensor([1.7, -1.7, 0.0])
    return [
        x.int(), x.long(), x.bool(), x.double(), x.half(), x.to(torch.uint8 if False else torch.int8), x.to(dtype=torch.float64, copy=True),
        x.type_as(torch.zeros(1, dtype=torch.int64)), x.to(torch.zeros(1, dtype=torch.float64)), x.bfloat16().float(), x.to("cpu"), x.cpu(),
        torch.tensor([1 + 1j]).abs(), x.to(torch.complex64),
    ]  # fmt: skip


@scenario
def numpy_interoperation(torch):
    x = torch.tensor([[1.0, 2.0]])
    return [
        np.asarray(x).tolist(), np.add(x.numpy(), 1).tolist(), np.array(x).dtype.name, x.numpy().dtype.name, (np.float64(2) * x).dtype, np.sin(np.zeros(2)).tolist(),
        torch.from_numpy(np.ones((2, 2), np.float32)) * 2, (x + np.ones((1, 2), np.float32)), x * np.float32(2), torch.tensor(np.array(3)),
    ]  # fmt: skip


@scenario
def pickling(torch):
    x = torch.arange(3.0).requires_grad_()
    y = pickle.loads(pickle.dumps(x))
    z = copy.copy(x)
    return y, y.requires_grad, z, pickle.loads(pickle.dumps(torch.float32)) is torch.float32, pickle.loads(pickle.dumps(torch.Size([2]))) == (2,)


@scenario
def sizes(torch):
    s = torch.Size([2, 3])
    return [s.numel(), s + (4,), s[1:], s[0], isinstance(s, tuple), repr(s), str(s[:1]), list(s) + [1], type(s[:1]).__name__, type(s + (1,)).__name__]


@scenario
def limits(torch):
    f, i = torch.finfo(torch.float32), torch.iinfo(torch.int8)
    return [f.eps, f.max, f.min, f.tiny, f.bits, f.dtype, repr(f), i.max, i.min, i.bits, repr(i), torch.finfo(torch.bfloat16).eps, torch.finfo(torch.float16).max,
            error_of(lambda: torch.finfo(torch.int32)), error_of(lambda: torch.iinfo(torch.float32)), torch.finfo().dtype]  # fmt: skip


@scenario
def devices(torch):
    d = torch.device("cuda:1")
    return [str(d), d.type, d.index, repr(torch.device("cpu")), torch.device("cuda", 0) == torch.device("cuda:0"), str(torch.zeros(1).device), torch.zeros(1).is_cuda,
            torch.zeros(1, device="meta").shape, str(torch.zeros(2, device=torch.device("meta")).device), hash(d) == hash(torch.device("cuda:1"))]  # fmt: skip


@scenario
def default_dtype(torch):
    torch.set_default_dtype(torch.float64)
    try:
        seen = [torch.tensor(1.5), torch.zeros(1), torch.arange(2) / 2, torch.get_default_dtype(), torch.ones(1, dtype=torch.int32) * 1.5]
    finally:
        torch.set_default_dtype(torch.float32)
    return seen, torch.tensor(1.5).dtype, error_of(lambda: torch.set_default_dtype(torch.int32))


@scenario
def in_place_checks(torch):
    x, i = torch.ones(2), torch.ones(2, dtype=torch.int64)
    return [error_of(lambda: i.add_(1.5)), error_of(lambda: x.add_(torch.ones(3, 2))), error_of(lambda: i.div_(2)), i.mul_(3), x.add_(torch.ones(1)), x.copy_(i), error_of(lambda: x.copy_(torch.ones(3)))]


@scenario
def shapes(torch):
    x = torch.arange(6).reshape(2, 3)
    return [
        x.flatten(), x.unsqueeze(-1).shape, x.view(3, 2), x.T, x.squeeze().shape, torch.zeros(1, 2, 1).squeeze(0).shape, torch.zeros(1, 2, 1).squeeze((0, 2)).shape,
        x.expand(2, 2, 3).shape, x.movedim(0, 1).shape, x.unflatten(1, (3, 1)).shape, x.ravel(), x.swapaxes(0, 1).shape, [c.shape for c in x.split([1, 2], 1)],
        [c.shape for c in x.chunk(2)], [c.shape for c in x.tensor_split(2, 1)], x.unbind(1)[0], torch.broadcast_shapes((2, 1), (3,)), x.narrow(1, 1, 2), x.mT.shape,
        x.view(-1, 1).shape, x.reshape(1, -1).shape, torch.atleast_2d(torch.tensor(1)).shape, x.select(1, -1), x.diagonal(), x.permute(1, 0).shape, x.unfold(1, 2, 1),
        error_of(lambda: x.expand(3, 3)), error_of(lambda: x.transpose(0, 5)), error_of(lambda: x.permute(0, 0)), error_of(lambda: x.squeeze(7)),
    ]  # fmt: skip


test_tensor = scenario.test()
