"""``Module``: registration, naming, hooks, state_dict, conversion, modes, copies, repr."""

import copy
import pickle
import warnings
from collections import OrderedDict

from tests.scenarios import Scenarios

scenario = Scenarios("nn_module")


def error(f):
    """Class and text of the exception that ``f`` raises."""
    try:
        f()
    except Exception as e:
        return [type(e).__name__, str(e).replace("torchlike", "torch")]
    return "no error"


def small(torch):
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 3)
            self.tail = nn.Sequential(nn.ReLU(), nn.BatchNorm1d(3))
            self.shared = self.first
            self.scale = nn.Parameter(torch.ones(1))
            self.register_buffer("seen", torch.zeros(2), persistent=False)
            self.register_buffer("none", None)
            self.register_parameter("nothing", None)
            self.plain = torch.ones(2)

        def forward(self, x, k=1.0):
            return self.tail(self.first(x)) * self.scale * k

    torch.manual_seed(0)
    return Net()


@scenario
def names(torch):
    m = small(torch)
    return {
        "parameters": [n for n, _ in m.named_parameters()],
        "all": [n for n, _ in m.named_parameters(remove_duplicate=False)],
        "own": [n for n, _ in m.named_parameters(recurse=False)],
        "prefix": [n for n, _ in m.named_parameters("p")],
        "buffers": [n for n, _ in m.named_buffers()],
        "children": [n for n, _ in m.named_children()],
        "modules": [n for n, _ in m.named_modules()],
        "all modules": [n for n, _ in m.named_modules(remove_duplicate=False)],
        "keys": list(m.state_dict()),
        "metadata": {k: dict(v) for k, v in m.state_dict()._metadata.items()},
        "counts": [len(list(m.parameters())), len(list(m.buffers())), len(list(m.children())), len(list(m.modules()))],
        "dir": [n in dir(m) for n in ("first", "scale", "seen", "forward", "nope")],
    }


@scenario
def attributes(torch):
    m, nn = small(torch), torch.nn
    answers = [
        error(lambda: m.missing),
        error(lambda: setattr(m, "scale", torch.ones(1))),
        error(lambda: setattr(m, "first", 3)),
        error(lambda: setattr(m, "seen", 3)),
        error(lambda: m.register_buffer("scale", torch.ones(1))),
        error(lambda: m.register_buffer("a.b", torch.ones(1))),
        error(lambda: m.register_buffer("", torch.ones(1))),
        error(lambda: m.register_buffer(3, torch.ones(1))),
        error(lambda: m.register_buffer("x", 3)),
        error(lambda: m.register_parameter("x", torch.ones(1))),
        error(lambda: m.register_parameter("forward", nn.Parameter(torch.ones(1)))),
        error(lambda: m.register_parameter("x", nn.Parameter(torch.ones(1)) * 2)),
        error(lambda: m.add_module("x", 3)),
        error(lambda: m.add_module("a.b", nn.ReLU())),
        error(lambda: m.add_module("scale", nn.ReLU())),
        error(lambda: m.get_submodule("tail.7")),
        error(lambda: m.get_submodule("scale")),
        error(lambda: m.get_parameter("tail")),
        error(lambda: m.get_parameter("nope")),
        error(lambda: m.get_buffer("scale")),
        error(lambda: nn.Module()(3)),
        error(lambda: nn.Module(3)),
        error(lambda: nn.Module(a=3)),
    ]
    m.scale = None
    m.first = None
    answers.append([m.scale, m.first, [n for n, _ in m.named_parameters()], list(m.state_dict())])
    m.plain = nn.Parameter(torch.zeros(1))
    answers.append("plain" in m._parameters)
    m.seen = torch.ones(3)
    answers.append([m._buffers["seen"], "seen" in m.state_dict()])
    del m.seen
    answers.append(error(lambda: m.seen))
    del m.tail
    answers.append([n for n, _ in m.named_modules()])

    class Early(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(torch.ones(1))

    class EarlyModule(nn.Module):
        def __init__(self):
            self.w = nn.ReLU()

    answers += [error(Early), error(EarlyModule), error(lambda: m.get_submodule("").missing)]
    m.b = nn.Buffer(torch.ones(2))
    m.c = nn.Buffer(torch.ones(2), persistent=False)
    answers.append([list(m._buffers), list(m.state_dict())])
    return answers


@scenario
def replacing_kinds(torch):
    nn = torch.nn
    m = nn.Module()
    m.x = torch.ones(1)
    m.x = nn.Parameter(torch.ones(1))
    seen = [list(m._parameters), "x" in m.__dict__]
    m.y = nn.ReLU()
    m.y = nn.Parameter(torch.ones(1))
    seen.append([list(m._parameters), list(m._modules)])
    seen.append(error(lambda: setattr(m, "x", nn.ReLU())))
    return seen


@scenario
def hooks(torch):
    m, log = small(torch), []
    x = torch.ones(4, 2)
    handles = [
        m.register_forward_pre_hook(lambda mod, args: log.append(["pre", len(args)])),
        m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {**kwargs, "k": 3.0}), with_kwargs=True),
        m.register_forward_hook(lambda mod, args, out: log.append(["post", list(out.shape)])),
        m.register_forward_hook(lambda mod, args, kwargs, out: out + kwargs["k"], with_kwargs=True),
        m.register_forward_hook(lambda mod, args, out: log.append(["first", list(out.shape)]), prepend=True),
        m.first.register_forward_pre_hook(lambda mod, args: args[0] * 2),
    ]
    with_hooks = m(x)
    for h in handles:
        h.remove()
    without = m(x)
    return with_hooks.detach(), without.detach(), log, len(m._forward_hooks)


@scenario
def always_called(torch):
    m, log = torch.nn.Linear(2, 2), []
    m.register_forward_hook(lambda mod, args, out: log.append(out is None), always_call=True)
    return error(lambda: m(torch.ones(3)))[0], log


@scenario
def backward_hooks(torch):
    m, log = torch.nn.Linear(2, 3), []
    torch.nn.init.ones_(m.weight)
    x = torch.ones(4, 2, requires_grad=True)
    pre = m.register_full_backward_pre_hook(lambda mod, g: log.append(["pre", [t.tolist() for t in g]]))
    m.register_full_backward_hook(lambda mod, gi, go: log.append(["full", [None if t is None else t.tolist() for t in gi], [t.tolist() for t in go]]))
    last = m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
    m(x).sum().backward()
    changed = x.grad.clone()
    pre.remove()
    last.remove()
    x.grad = None
    m(x).mul(2).sum().backward()
    m(torch.ones(1, 2)).sum().backward()  # nothing in the input requires a gradient
    return changed, x.grad, log, m.weight.grad


@scenario
def backward_hook_kinds(torch):
    seen = []

    class Two(torch.nn.Module):
        def forward(self, a, b, c=None):
            return a * b, a + b

    m = Two()
    m.register_full_backward_hook(
        lambda mod, gi, go: seen.append([[None if g is None else g.tolist() for g in gi], [None if g is None else g.tolist() for g in go]])
    )
    a, b = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    p, _ = m(a, b)
    p.sum().backward()
    return seen, a.grad, type(p.grad_fn).__name__


@scenario
def global_hooks(torch):
    log = []
    M = torch.nn.modules.module
    handles = [
        M.register_module_forward_pre_hook(lambda m, a: log.append("pre " + type(m).__name__)),
        M.register_module_forward_hook(lambda m, a, o: log.append("post " + type(m).__name__)),
        M.register_module_full_backward_hook(lambda m, gi, go: log.append("back " + type(m).__name__)),
        M.register_module_module_registration_hook(lambda m, name, sub: log.append("module " + str(name))),
        M.register_module_parameter_registration_hook(lambda m, name, p: log.append("parameter " + name)),
        M.register_module_buffer_registration_hook(lambda m, name, b: log.append("buffer " + name)),
    ]
    try:
        net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1))
        net(torch.ones(2, 1, requires_grad=True)).sum().backward()
    finally:
        for h in handles:
            h.remove()
    net(torch.ones(2, 1))
    return log


@scenario
def state(torch):
    m, other = small(torch), small(torch)
    with torch.no_grad():
        for p in other.parameters():
            p.add_(1)
    result = m.load_state_dict(other.state_dict())
    extra = OrderedDict(other.state_dict(), more=torch.ones(1))
    del extra["scale"]
    wrong = dict(other.state_dict(), scale=torch.ones(5))
    loose = m.load_state_dict(extra, strict=False)
    return {
        "repr": repr(result),
        "values": m.state_dict(),
        "strict": error(lambda: m.load_state_dict(extra)),
        "loose": repr(loose),
        "wrong": error(lambda: m.load_state_dict(wrong)),
        "wrong loose": error(lambda: m.load_state_dict(wrong, strict=False)),
        "not a dict": error(lambda: m.load_state_dict([1])),
        "not a tensor": error(lambda: m.load_state_dict(dict(other.state_dict(), scale=3)))[0],
        "keep_vars": [t.requires_grad for t in m.state_dict(keep_vars=True).values()],
        "prefix": list(m.state_dict(prefix="a.")),
        "nested unexpected": error(lambda: m.load_state_dict(dict(other.state_dict(), **{"tail.9.w": torch.ones(1)}))),
    }


@scenario
def state_shares(torch):
    m = torch.nn.Linear(2, 2)
    s = m.state_dict()
    with torch.no_grad():
        m.weight.fill_(7)
    given = torch.full((2, 2), 3.0)
    m2 = torch.nn.Linear(2, 2)
    m2.load_state_dict({"weight": given, "bias": torch.zeros(2)}, assign=True)
    given.fill_(5)
    half = torch.nn.Linear(2, 2)
    half.load_state_dict({"weight": given.double(), "bias": torch.zeros(2).double()}, assign=True)
    copied = torch.nn.Linear(2, 2)
    copied.load_state_dict({"weight": given.double(), "bias": torch.zeros(2)})
    return s["weight"], m2.weight, m2.weight.requires_grad, str(half.weight.dtype), type(half.weight).__name__, str(copied.weight.dtype)


@scenario
def state_hooks(torch):
    log = []

    class Extra(torch.nn.Linear):
        def get_extra_state(self):
            return {"n": 3}

        def set_extra_state(self, state):
            log.append(state)

    m = Extra(1, 1)
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append(["pre", prefix, keep]))
    m.register_state_dict_post_hook(lambda mod, sd, prefix, meta: sd.update({prefix + "added": 1}))
    m.register_load_state_dict_pre_hook(lambda mod, sd, prefix, *rest: log.append(["load pre", sd.pop(prefix + "added")]))
    m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
    s = m.state_dict()
    keys = list(s)
    del s["bias"]
    answer = m.load_state_dict(s)
    plain = torch.nn.Linear(1, 1)
    return keys, repr(answer), log, error(lambda: plain.load_state_dict({**plain.state_dict(), "_extra_state": 1}))


@scenario
def scalar_from_vector(torch):
    m = torch.nn.Module()
    m.w = torch.nn.Parameter(torch.tensor(1.0))
    m.load_state_dict({"w": torch.tensor([3.0])})
    return m.w


@scenario
def conversion(torch):
    m = small(torch)
    first = m.first.weight
    m.double()
    answers = [str(m.first.weight.dtype), m.first.weight is first, str(m.tail[1].num_batches_tracked.dtype), str(m.plain.dtype)]
    m.to(torch.float32)
    answers += [str(m.seen.dtype), error(lambda: m.to(torch.int64)), m.to("cpu") is m]
    m.half()
    answers.append(str(m.scale.dtype))
    m.bfloat16()
    answers.append(str(m.scale.dtype))
    m.type(torch.float64)
    answers += [str(m.scale.dtype), str(m.tail[1].num_batches_tracked.dtype)]
    m.float()
    m(torch.ones(3, 2)).sum().backward()
    m.double()
    answers += [str(m.scale.grad.dtype), str(m.scale.dtype), m.scale.grad.requires_grad]
    m.to(torch.ones(1, dtype=torch.float32))
    answers.append(str(m.scale.dtype))
    return answers


@scenario
def meta_and_empty(torch):
    m = torch.nn.Linear(2, 3, device="meta")
    answers = [str(m.weight.device), list(m.weight.shape)]
    m.to_empty(device="cpu")
    answers += [str(m.weight.device), list(m.weight.shape), m.weight.requires_grad]
    skipped = torch.nn.utils.skip_init(torch.nn.Linear, 4, 1)
    answers += [list(skipped.weight.shape), str(skipped.weight.device), type(skipped.weight).__name__]
    return answers


@scenario
def modes(torch):
    m = small(torch)
    answers = [m.training, m.eval() is m, m.tail[1].training, m.train().tail[1].training, error(lambda: m.train(3))]
    m.requires_grad_(False)
    answers.append([p.requires_grad for p in m.parameters()])
    m.requires_grad_()
    m(torch.ones(3, 2)).sum().backward()
    m.zero_grad(set_to_none=False)
    answers.append([p.grad.tolist() for p in m.parameters()])
    m.zero_grad()
    answers.append([p.grad for p in m.parameters()])
    order = []
    m.apply(lambda mod: order.append(type(mod).__name__))
    return answers, order, m.share_memory() is m


@scenario
def copies(torch):
    m = small(torch)
    m.note = {"a": [1]}
    m(torch.ones(3, 2)).sum().backward()
    deep = copy.deepcopy(m)
    with torch.no_grad():
        m.scale.fill_(9)
    m.note["a"].append(2)
    linear = torch.nn.Linear(2, 2)
    loaded = pickle.loads(pickle.dumps(linear))
    return (
        deep.scale, deep.note, deep.shared is deep.first, type(deep.scale).__name__, deep.scale.grad is not None,
        bool((loaded.weight == linear.weight).all()), type(loaded.weight).__name__, loaded.training, repr(loaded),
    )  # fmt: skip


@scenario
def shown(torch):
    nn = torch.nn

    class Loud(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()])
            self.d = nn.ModuleDict({"x": nn.Conv2d(1, 2, 3), "y": nn.ModuleList()})
            self.p = nn.ParameterList([torch.ones(2), 3])

        def extra_repr(self):
            return "k=1\nj=2"

    return [repr(small(torch)), repr(Loud()), repr(nn.Identity()), repr(nn.Sequential()), repr(nn.ModuleList()), str(nn.ReLU(True))]


@scenario
def containers(torch):
    nn = torch.nn
    s = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 3), nn.Tanh())
    answers = [repr(s[1:3]), repr(s[-1]), error(lambda: s[7]), repr(s + nn.Sequential(nn.ReLU())), repr(s * 2), len(s)]
    del s[1]
    answers.append(list(s.state_dict()))
    s.insert(1, nn.ReLU())
    s.append(nn.Sigmoid())
    s.extend(nn.Sequential(nn.ELU()))
    answers += [repr(s), repr(s.pop(0)), list(s._modules)]
    s[0] = nn.Identity()
    answers.append(repr(s))
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    answers += [repr(named), repr(named[:1]), repr(named.a)]
    items = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    items.insert(0, nn.ELU())
    items += [nn.SELU()]
    items.extend(nn.Sequential(nn.GELU()))
    answers += [repr(items), repr(items[1:]), len(items), repr(items.pop(-1)), repr(items + [nn.ReLU()]), error(lambda: items.extend(3))]
    del items[0:2]
    answers.append(list(items._modules))
    d = nn.ModuleDict([["a", nn.ReLU()], ["b", nn.Tanh()]])
    d.update({"c": nn.ELU()})
    answers += [list(d), "a" in d, repr(d.pop("a")), len(d), [k for k, _ in d.items()], error(lambda: d["zz"]), error(lambda: d.update(3))]
    d.clear()
    answers.append(len(d))
    p = nn.ParameterList([nn.Parameter(torch.ones(1)), torch.zeros(2)])
    p.append(torch.ones(3))
    p += [torch.ones(1)]
    answers += [len(p), [type(x).__name__ for x in p], list(p.state_dict()), repr(p[1:2]), error(lambda: p[9]), repr(p)]
    q = nn.ParameterDict({"b": torch.ones(1), "a": torch.zeros(2)})
    q["c"] = nn.Parameter(torch.ones(2, 3))
    answers += [list(q), repr(q), list(q.state_dict()), repr(q.pop("a")), q.get("zz"), list(q | nn.ParameterDict({"z": torch.ones(1)}))]
    return answers


@scenario
def parameters(torch):
    nn = torch.nn
    base = torch.ones(2)
    p = nn.Parameter(base)
    base.fill_(4)
    q = nn.Parameter(torch.ones(2), requires_grad=False)
    answers = [p, q, repr(p), repr(q), isinstance(p, torch.Tensor), type(p * 2).__name__, p.is_leaf, type(p.data).__name__, type(p.detach()).__name__]
    answers += [repr(nn.Parameter()), type(copy.deepcopy(p)).__name__, type(pickle.loads(pickle.dumps(p))).__name__]
    answers += [error(lambda: nn.Parameter(torch.ones(2, dtype=torch.int64)))[0], list(nn.Parameter(torch.ones(2, dtype=torch.int64), False).shape)]
    u = nn.UninitializedParameter()
    answers += [repr(u), error(lambda: u.shape)[0], error(lambda: u * 2)[0], nn.parameter.is_lazy(u)]
    u.materialize((2, 3))
    answers += [list(u.shape), type(u).__name__, u.requires_grad]
    b = nn.Buffer(torch.ones(2))
    answers += [isinstance(b, nn.Buffer), isinstance(torch.ones(1), nn.Buffer), b.requires_grad, repr(b)]
    with torch.no_grad():
        p += 1
    answers += [p, type(p).__name__]
    return answers


@scenario
def lazy(torch):
    nn = torch.nn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        before = [repr(m), m[0].has_uninitialized_params(), error(lambda: m[0].weight.shape)[0]]
        saved = m.state_dict()
        torch.manual_seed(0)
        out = m(torch.ones(2, 3, 5, 5))
        other = nn.LazyLinear(2)
        other.load_state_dict(nn.Linear(5, 2).state_dict())
        shape = list(other.weight.shape)
        other(torch.ones(1, 5))
    return before, list(out.shape), repr(m), list(saved), m[0].weight, shape, repr(other), m[1].running_mean


test_module = scenario.test()
