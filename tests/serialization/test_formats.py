"""Checkpoints cross between torch and torchlike in both directions, in both formats."""

import io
import pathlib
import pickle
import types
from collections import OrderedDict

import numpy as np
import pytest

import torchlike as tl
from torchlike import serialization

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "checkpoints"
CHANNELS_LAST = np.arange(48.0).reshape(1, 3, 4, 4).tolist()


def through(obj, **options):
    """``obj`` saved and loaded by torchlike."""
    file = io.BytesIO()
    serialization.save(obj, file, **options)
    file.seek(0)
    return serialization.load(file)


def torch_reads(obj, **options):
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    serialization.save(obj, file, **options)
    file.seek(0)
    return torch.load(file)


def check_contents(c):
    """``c`` is what tests/golden/make_checkpoints.py saves."""
    for name, t in c["dtypes"].items():
        assert t.dtype is getattr(tl, name)
        assert [complex(x) for x in t.tolist()] == [0, 1, 1, 0]
    x = np.arange(24.0).reshape(2, 3, 4)
    for name, expected in {
        "base": x,
        "transposed": x.transpose(2, 1, 0),
        "strided": x[1:, ::2],
        "row": x[1, 2],
    }.items():
        t = c["views"][name]
        assert t.tolist() == expected.tolist()
        assert t.stride() == tuple(s // 8 for s in expected.strides)
    assert [c["views"][k].storage_offset() for k in c["views"]] == [0, 0, 12, 20]
    assert c["expanded"].stride() == (1, 0) and c["expanded"].tolist() == np.ones((3, 5)).tolist()
    assert c["channels_last"].stride() == (48, 1, 12, 3)
    assert c["channels_last"].tolist() == CHANNELS_LAST
    assert c["empty"].shape == (0, 3)
    assert c["scalar"].item() == 3.5 and c["scalar"].shape == ()
    assert type(c["parameter"]) is tl.nn.Parameter and c["parameter"].requires_grad and c["parameter"].is_leaf
    assert type(c["requires_grad"]) is tl.Tensor and c["requires_grad"].requires_grad
    assert c["conj"].tolist() == [1 - 2j]
    assert c["plain"] == [1, 2.5, "text", None, True, 1j, b"bytes", {3}, 10**30, (4, [5])]
    assert type(c["size"]) is tl.Size and c["size"] == (2, 3)
    assert c["dtype"] is tl.float16
    assert c["device"] == tl.device("cuda", 1)
    assert type(c["ordered"]) is OrderedDict and c["ordered"] == {"a": 1}


def check_sharing(views):
    """A write to the base shows in its views."""
    views["base"][...] = -1
    assert all(np.all(np.array(views[k].tolist()) == -1) for k in views)


@pytest.mark.parametrize("name", ["zip.pth", "legacy.pth"])
def test_reads_what_torch_wrote(name):
    c = serialization.load(GOLDEN / name)
    check_contents(c)
    check_sharing(c["views"])


@pytest.mark.parametrize(
    "options", [{}, {"_use_new_zipfile_serialization": False}, {"pickle_protocol": 4}, {"pickle_protocol": 5}]
)
def test_round_trip(options):
    c = through(serialization.load(GOLDEN / "zip.pth"), **options)
    check_contents(c)
    check_sharing(c["views"])


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
def test_torch_reads_what_we_wrote(options):
    torch = pytest.importorskip("torch")
    contents = serialization.load(GOLDEN / "zip.pth")
    if options:  # torch 2.13 cannot read these dtypes in the old format, its own files included
        contents["dtypes"] = {
            k: t for k, t in contents["dtypes"].items() if k[:4] not in ("uint", "floa") or k == "float32"
        }
    ours = torch_reads(contents, **options)
    theirs = torch.load(GOLDEN / "zip.pth")
    assert ours.keys() == theirs.keys()
    for group in ("dtypes", "views"):
        for k in ours[group]:
            t = theirs[group][k]
            assert ours[group][k].dtype == t.dtype and ours[group][k].stride() == t.stride()
            assert ours[group][k].tolist() == t.tolist()
    for k in ("expanded", "channels_last", "empty", "scalar", "parameter", "requires_grad", "conj"):
        assert torch.equal(ours[k], theirs[k]) and type(ours[k]) is type(theirs[k])
        assert ours[k].requires_grad == theirs[k].requires_grad
        assert ours[k].stride() == theirs[k].stride()
    for k in ("plain", "size", "dtype", "device", "ordered"):
        assert ours[k] == theirs[k]
    ours["views"]["base"].fill_(-1)
    assert all((v == -1).all() for v in ours["views"].values())


def test_state_of_a_training_run():
    c = serialization.load(GOLDEN / "training.pth")
    layers = ["0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias"]
    statistics = ["1.running_mean", "1.running_var", "1.num_batches_tracked"]
    assert list(c["model"]) == layers[:4] + statistics + layers[4:]
    assert c["model"]._metadata["1"] == {"version": 2}
    state = c["optimizer"]["state"][0]
    assert state["step"].item() == 1 and state["exp_avg"].shape == (4, 3)
    again = through(c)
    assert again["model"]._metadata == c["model"]._metadata
    assert again["optimizer"]["param_groups"] == c["optimizer"]["param_groups"]


def test_the_same_tensor_twice_is_one_object():
    x = tl.ones(3)
    a, b = through([x, x])
    assert a is b


def test_storages_are_written_once():
    x = tl.zeros(1000)
    file = io.BytesIO()
    serialization.save([x, x[:10], x[500:], x.view(10, 100)], file)
    assert len(file.getvalue()) < 4000 + 3000


def test_a_view_keeps_its_whole_storage():
    """As in torch: a slice saved alone brings the tensor that it is a slice of."""
    row = through(tl.arange(6).reshape(2, 3)[1])
    assert row.tolist() == [3, 4, 5] and row.storage_offset() == 3


def test_tied_parameters_stay_tied():
    p = tl.nn.Parameter(tl.ones(2, 2))
    c = through(OrderedDict(encoder=p, decoder=p, data=p.data))
    assert c["encoder"] is c["decoder"]
    c["data"][...] = 5
    assert c["encoder"].tolist() == [[5, 5], [5, 5]]


def test_loaded_views_are_no_views_for_autograd():
    c = serialization.load(GOLDEN / "zip.pth")
    assert not c["views"]["transposed"]._is_view()


def test_attributes_of_tensors():
    x = tl.ones(2)
    x.tag = "a"
    y = through(x)
    assert y.tag == "a" and y.tolist() == [1, 1]
    theirs = torch_reads(x)
    assert theirs.tag == "a"


def test_a_dtype_read_as_another_is_refused():
    x = tl.zeros(4)
    with pytest.raises(RuntimeError, match="int32"):
        serialization.save([x, x.view(tl.int32)], io.BytesIO())


def test_deep_nesting():
    nested = x = []
    for _ in range(60):
        x.append([])
        x = x[0]
    assert through(nested) == nested


class Point:
    """A user's class."""

    def __init__(self, x):
        self.x = x


def test_user_classes_need_trust_or_permission():
    file = io.BytesIO()
    serialization.save(Point(tl.ones(2)), file)
    file.seek(0)
    assert serialization.load(file, weights_only=False).x.tolist() == [1, 1]
    file.seek(0)
    assert serialization.get_unsafe_globals_in_checkpoint(file) == [f"{__name__}.Point"]
    file.seek(0)
    with serialization.safe_globals([Point]):
        assert serialization.get_safe_globals() == [Point]
        assert serialization.load(file).x.tolist() == [1, 1]
    file.seek(0)
    with pytest.raises(Exception, match="add_safe_globals"):
        serialization.load(file)


def test_big_endian_archives():
    x = tl.tensor([1.0, 2.0, 3.0])
    little, big = np.array([1, 2, 3], "<f4").tobytes(), np.array([1, 2, 3], ">f4").tobytes()
    # an archive with the order unsaid, and the default said to be big
    file = io.BytesIO()
    serialization.save(x, file, _disable_byteorder_record=True)
    data = file.getvalue().replace(little, big)
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        assert serialization.load(io.BytesIO(data)).tolist() == [1, 2, 3]
    finally:
        serialization.set_default_load_endianness(None)


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}, {"pickle_protocol": 5}])
def test_other_pickle_modules(options):
    """Anything with pickle's names: here pickle's C classes under another name."""
    names = ("Pickler", "Unpickler", "dump", "load")
    module = types.SimpleNamespace(**{name: getattr(pickle, name) for name in names})
    x = tl.arange(4.0)
    file = io.BytesIO()
    serialization.save(
        [x, x[1:], tl.nn.Parameter(x), tl.ones(2, dtype=tl.uint16)], file, pickle_module=module, **options
    )
    file.seek(0)
    y, part, parameter, ones = serialization.load(file, pickle_module=module)
    y[...] = 7
    assert part.tolist() == [7, 7, 7] and parameter.tolist() == [7] * 4 and type(parameter) is tl.nn.Parameter
    assert ones.dtype is tl.uint16


def test_whole_modules_of_torch():
    model = serialization.load(GOLDEN / "module.pth", weights_only=False)
    assert type(model) is tl.nn.Sequential and type(model[0]) is tl.nn.Linear
    state = serialization.load(GOLDEN / "training.pth")["model"]
    assert {k: v.tolist() for k, v in model.state_dict().items()} == {k: v.tolist() for k, v in state.items()}
    assert model.eval()(tl.ones(2, 3)).shape == (2, 1)


def test_whole_modules_for_torch():
    torch = pytest.importorskip("torch")
    ours = serialization.load(GOLDEN / "module.pth", weights_only=False).eval()
    file = io.BytesIO()
    serialization.save(ours, file)
    assert b"torch.nn.modules.linear\nLinear\n" in file.getvalue()
    file.seek(0)
    theirs = torch.load(file, weights_only=False)
    assert type(theirs) is torch.nn.Sequential
    np.testing.assert_allclose(theirs(torch.ones(2, 3)).tolist(), ours(tl.ones(2, 3)).tolist(), rtol=1e-5)
    file.seek(0)
    assert serialization.get_unsafe_globals_in_checkpoint(file)[0] == "torch.nn.modules.container.Sequential"
    file.seek(0)
    with serialization.safe_globals([tl.nn.Sequential, tl.nn.Linear, tl.nn.BatchNorm1d, tl.nn.ReLU]):
        assert type(serialization.load(file)) is tl.nn.Sequential


def test_functions_of_torch():
    functions = [tl.exp, tl.nn.functional.relu, tl.nn.functional.linear, tl.Tensor.exp, tl.strided]
    file = io.BytesIO()
    serialization.save(functions, file)
    file.seek(0)
    assert serialization.load(file, weights_only=False) == functions
    torch = pytest.importorskip("torch")
    file.seek(0)
    theirs = torch.load(file, weights_only=False)
    assert theirs[0] is torch.exp and theirs[2] is torch.nn.functional.linear
    assert theirs[1] in (torch.relu, torch.nn.functional.relu)
    file = io.BytesIO()
    torch.save([torch.exp, torch.nn.functional.relu, torch.nn.functional.gelu, torch.Tensor.exp], file)
    file.seek(0)
    assert serialization.load(file, weights_only=False) == [
        tl.exp,
        tl.nn.functional.relu,
        tl.nn.functional.gelu,
        tl.Tensor.exp,
    ]
