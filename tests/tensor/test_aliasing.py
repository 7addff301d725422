"""Aliasing as torch has it: views, in-place operators, strides, versions, sharing with NumPy."""

import numpy as np

from tests.scenarios import Scenarios, error_of

scenario = Scenarios("aliasing")


def base(torch):
    return torch.arange(12.0).reshape(3, 4).clone()


@scenario
def writing_through_views(torch):
    x = base(torch)
    x[0].zero_()
    x.view(-1)[5] = 100
    x.t()[1].add_(1000)
    x[:, 2:].mul_(2)
    x[1:, ::2] = -1
    return x


@scenario
def reading_views_after_the_base_moved(torch):
    x = base(torch)
    v, w, d = x[1], x.t(), x.diagonal()
    x.mul_(10)
    x[1, 1] = 7
    return v, w, d


@scenario
def views_of_views(torch):
    x = base(torch)
    v = x.view(2, 6)[:, 1:4].t()[1:]
    v.fill_(-5)
    return x, v, v.stride(), v.storage_offset()


@scenario
def data_and_detach(torch):
    w = base(torch).requires_grad_()
    w.data -= 1.0
    w.data[0] = 0
    w.detach().mul_(2)
    return w, w._version


@scenario
def data_assignment(torch):
    x, y = torch.zeros(2), torch.ones(3)
    x.data = y
    y.add_(5)
    return x, x.shape


@scenario
def in_place_through_transpose_adds(torch):
    a = base(torch)
    a.t().add_(torch.arange(3.0))
    return a


@scenario
def expand_has_stride_zero(torch):
    x = torch.ones(3, 1)
    e = x.expand(3, 4)
    return e.stride(), e.is_contiguous(), error_of(lambda: e.add_(1)), e.contiguous().stride()


@scenario
def as_strided_windows(torch):
    x = torch.arange(6.0)
    w = x.as_strided((4, 3), (1, 1))
    x[2] = 50
    y = x[1:].as_strided((2,), (2,), 0)
    return w, w.stride(), y


@scenario
def mask_of_a_transposed_view(torch):
    x = base(torch)
    x.T[x.T > 6] = -1
    return x


@scenario
def narrow_copy(torch):
    x = base(torch)
    x.narrow(1, 1, 2).copy_(torch.tensor([[1.0, 2.0]]))
    return x


@scenario
def overlapping_names(torch):
    x = base(torch)
    y = x
    y += 1
    z = x[1]
    z += 1
    return x, y is x


@scenario
def strides(torch):
    x = torch.zeros(2, 3, 4)
    c = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    return {
        "t": x.transpose(0, 2).stride(), "p": x.permute(1, 2, 0).stride(), "sum": (x.transpose(0, 1) + 1).stride(),
        "cl": c.stride(), "cl2": (c * 2).stride(), "cl_contiguous": [c.is_contiguous(), c.is_contiguous(memory_format=torch.channels_last)],
        "clone": x.transpose(0, 1).clone().stride(), "contiguous": x.transpose(0, 1).contiguous().stride(),
        "unsqueeze": x.unsqueeze(1).stride(), "slice": x[:, ::2].stride(), "zero": torch.zeros(0, 3).stride(),
        "like": torch.zeros_like(x.transpose(0, 1)).stride(), "exp": x.unsqueeze(0).expand(5, -1, -1, -1).stride(),
        "unfold": x.unfold(2, 2, 1).stride(), "diag": x.diagonal(0, 1, 2).stride(),
    }  # fmt: skip


@scenario
def view_needs_compatible_strides(torch):
    x = base(torch)
    return [
        error_of(lambda: x.t().view(-1)), error_of(lambda: x[:, :2].view(6)), x[:, :2].reshape(6), x.t().reshape(12),
        x[:, :2].view(3, 1, 2).stride(), error_of(lambda: x.view(5, 5)), error_of(lambda: x.view(-1, -1)),
    ]  # fmt: skip


@scenario
def reshape_copies_only_when_it_must(torch):
    x = base(torch)
    x.reshape(4, 3)[0] = 9
    x.t().reshape(-1)[0] = 77
    return x


@scenario
def versions(torch):
    x = base(torch)
    seen = [x._version]
    x.add_(1)
    x[0] = 1
    v = x[1]
    v.mul_(2)
    seen += [x._version, v._version]
    y = x.clone()
    return seen, y._version


@scenario
def is_view(torch):
    x = base(torch)
    v = x[0]
    return v._is_view(), x._is_view(), v._base is x, v[0]._base is x, x.clone()._is_view()


@scenario
def data_ptr(torch):
    x = base(torch)
    return [
        x.data_ptr() == x.view(-1).data_ptr(), x[1].data_ptr() - x.data_ptr(), x.detach().data_ptr() == x.data_ptr(),
        x.clone().data_ptr() == x.data_ptr(), x.t().data_ptr() == x.data_ptr(),
    ]  # fmt: skip


@scenario
def numpy_shares_memory(torch):
    t = torch.ones(5)
    n = t.numpy()
    t.add_(1)
    after_tensor = n.tolist()
    n[0] = 10
    return after_tensor, t


@scenario
def from_numpy_shares_memory(torch):
    n = np.ones(5)
    t = torch.from_numpy(n)
    np.add(n, 1, out=n)
    first = t.clone()
    t[1] = 7
    return first, t, n.tolist(), t.dtype


@scenario
def as_tensor_shares_memory(torch):
    n = np.zeros(3, np.float32)
    t = torch.as_tensor(n)
    n[1] = 4
    u = torch.tensor(n)
    n[2] = 5
    return t, u


@scenario
def transposed_in_place(torch):
    x = base(torch)
    y = x.t_()
    return x, y is x, x.stride(), x.unsqueeze_(0).shape


@scenario
def chunk_and_split_are_views(torch):
    x = base(torch)
    a, b = x.chunk(2, 1)
    a.zero_()
    for p in x.split(2):
        p[0] += 100
    for r in x.unbind(1):
        r[2] = -3
    return x, b


@scenario
def index_put_and_item_arithmetic(torch):
    x = base(torch)
    x[torch.tensor([0, 2]), torch.tensor([1, 3])] = torch.tensor([50.0, 60.0])
    x[0, 0] += 5
    x[[1], :] *= 2
    x[:, -1] -= 1
    x[..., 0] = torch.tensor([7.0, 8.0, 9.0])
    return x


@scenario
def real_and_imag_are_views(torch):
    z = torch.tensor([1 + 2j, 3 + 4j])
    z.real[0] = 10
    z.imag.mul_(2)
    torch.view_as_real(z)[1, 0] = -1
    return z


@scenario
def set_and_resize(torch):
    x = torch.arange(4.0)
    x.resize_(2, 2)
    y = torch.zeros(1)
    y.set_(x)
    y[0, 0] = 9
    return x, y


@scenario
def copies_are_independent(torch):
    import copy

    x = base(torch)
    y, z = x.clone(), copy.deepcopy(x)
    pair = copy.deepcopy([x, x[0]])
    x.zero_()
    pair[0][0, 0] = 42
    return y, z, pair


@scenario
def casts_share_only_when_nothing_changes(torch):
    x = base(torch)
    return x.float() is x, x.to(torch.float32) is x, x.double() is x, x.to("cpu") is x, x.contiguous() is x, x.t().contiguous() is x


test_aliasing = scenario.test()
