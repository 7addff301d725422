"""A crafted file never runs code. The pickles here are written opcode by opcode."""

import contextlib
import io
import os
import pickle
import struct
import zipfile

import pytest

import torchlike as tl
from torchlike import serialization


def archive(pickled, records=()):
    """A checkpoint around a pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        for name, data in records:
            z.writestr(f"archive/{name}", data)
        z.writestr("archive/version", "3\n")
    file.seek(0)
    return file


def op_global(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def short(s):
    return b"\x8c" + bytes([len(s)]) + s.encode()


P2, P4 = b"\x80\x02", b"\x80\x04"
ran = []


def canary(*args):
    """What no file may reach."""
    ran.append(args)


HERE = __name__
ATTACKS = {
    "os.system": P2 + op_global("os", "system") + text("true") + b"\x85R.",
    "posix.system": P2 + op_global("posix", "system") + text("true") + b"\x85R.",
    "os below a package": P2 + op_global("os.path", "join") + b")R.",
    "eval": P2 + op_global("builtins", "eval") + text("1") + b"\x85R.",
    "eval by its Python 2 name": P2 + op_global("__builtin__", "eval") + text("1") + b"\x85R.",
    "exec": P2 + op_global("builtins", "exec") + text("1") + b"\x85R.",
    "getattr": P2
    + op_global("builtins", "getattr")
    + op_global("collections", "OrderedDict")
    + text("__init__")
    + b"\x86R.",
    "a function of this test": P2 + op_global(HERE, "canary") + b")R.",
    "subprocess": P2 + op_global("subprocess", "Popen") + text("true") + b"\x85R.",
    "importlib": P2 + op_global("importlib", "import_module") + text("os") + b"\x85R.",
    "torch function": P2 + op_global("torch", "load") + text("x") + b"\x85R.",
    "torch serialization internals": P2 + op_global("torch.serialization", "os.system") + text("true") + b"\x85R.",
    "dotted name": P4 + short("collections") + short("OrderedDict.__class__") + b"\x93)R.",
    "stack global": P4 + short("os") + short("system") + b"\x93" + short("true") + b"\x85R.",
    "stack global with a dotted name": P4
    + short("torch")
    + short("serialization.os.system")
    + b"\x93"
    + short("true")
    + b"\x85R.",
    "stack global of numbers": P4 + b"K\x01K\x02\x93.",
    "stack global of bytes": P4 + b"C\x02osC\x06system\x93.",
    "inst": P2 + b"(" + text("true") + b"ios\nsystem\n.",
    "obj": P2 + b"(" + op_global("os", "system") + text("true") + b"o.",
    "extension registry": P2 + b"\x82\x01.",
    "text persistent id": P2 + b"Pstorage\n.",
    "call of a string": P2 + text("os.system") + b")R.",
    "call of a dtype": P2 + op_global("torch", "float32") + b")R.",
    "call of a tensor class": P2 + op_global("torch", "Tensor") + b"J\x00\xca\x9a;\x85R.",
    "call of a storage class": P2 + op_global("torch.storage", "UntypedStorage") + b"J\x00\xca\x9a;\x85R.",
    "new of a function": P2 + op_global("torch._utils", "_rebuild_tensor_v2") + b")\x81.",
    "new of a string": P2 + text("x") + b")\x81.",
    "arguments that are no tuple": P2 + op_global("collections", "OrderedDict") + b"]R.",
    "build of a class": P2 + op_global("collections", "OrderedDict") + b"}" + text("x") + b"K\x01sb.",
    "build of a device": P2
    + op_global("torch", "device")
    + text("cpu")
    + b"\x85R}"
    + text("type")
    + text("x")
    + b"sb.",
    "build of an ordered dict with slots": P2
    + op_global("collections", "OrderedDict")
    + b")RN}"
    + text("x")
    + b"K\x01s\x86b.",
    "append to a set": P2 + op_global("builtins", "set") + b")RK\x01a.",
    "append to a string": P2 + text("x") + b"K\x01a.",
    "item of a class": P2 + op_global("collections", "OrderedDict") + text("x") + b"K\x01s.",
    "codec of the file's choice": P2 + op_global("_codecs", "encode") + text("x") + text("rot13") + b"\x86R.",
    "bytearray of a size": P2 + op_global("builtins", "bytearray") + b"J\x00\xca\x9a;\x85R.",
    "nested call": P2
    + op_global("torch._tensor", "_rebuild_from_type_v2")
    + b"("
    + op_global("collections", "OrderedDict")
    + op_global("torch", "Tensor")
    + b")}tR.",
    "state over internals": P2
    + op_global("torch._tensor", "_rebuild_from_type_v2")
    + b"("
    + op_global("torch._utils", "_rebuild_meta_tensor_no_storage")
    + op_global("torch", "Tensor")
    + b"("
    + op_global("torch", "float32")
    + b"))\x89t}"
    + text("_value")
    + b"K\x01stR.",
    "layout by attribute": P2 + op_global("torch.serialization", "_get_layout") + text("torch.os") + b"\x85R.",
    "persistent id of another kind": P2
    + b"("
    + text("module")
    + op_global("collections", "OrderedDict")
    + text("f")
    + b"tQ.",
    "persistent id that is no tuple": P2 + b"K\x05Q.",
    "storage without a record": P2
    + b"("
    + text("storage")
    + op_global("torch", "FloatStorage")
    + text("0")
    + text("cpu")
    + b"K\x04tQ.",
    "storage outside the archive": P2
    + b"("
    + text("storage")
    + op_global("torch", "FloatStorage")
    + text("../../version")
    + text("cpu")
    + b"K\x04tQ.",
    "storage of a class that is none": P2
    + b"("
    + text("storage")
    + op_global("collections", "OrderedDict")
    + text("0")
    + text("cpu")
    + b"K\x04tQ.",
    "tensor of a list": P2 + op_global("torch._utils", "_rebuild_tensor_v2") + b"(]K\x00))\x89" + b"}tR.",
    "memo that is empty": P2 + b"h\x05.",
    "stack that is empty": P2 + b"R.",
    "mark that is missing": P2 + b"t.",
    "announced text longer than the file": P2 + b"X\xff\xff\xff\x7fabc.",
    "announced number longer than the file": P2 + b"\x8b\xff\xff\xff\x7f\x01.",
    "no end": P2 + b"K\x01",
    "two objects": P2 + b"K\x01K\x02.",
    "protocol 99": b"\x80\x63K\x01.",
    "unhashable key": P2 + b"}]K\x01s.",
    "odd items": P2 + b"}(K\x01u.",
    "not a pickle": b"hello world",
}
STORAGE_CLASS_IS_FINE = ("storage without a record", "storage outside the archive")


@pytest.mark.parametrize("name", ATTACKS)
def test_refused(name, monkeypatch):
    for module, function in (("os", "system"), ("posix", "system"), ("subprocess", "Popen")):
        monkeypatch.setattr(f"{module}.{function}", canary)
    with pytest.raises((pickle.UnpicklingError, RuntimeError)) as caught:
        serialization.load(archive(ATTACKS[name]))
    assert not ran
    if name not in STORAGE_CLASS_IS_FINE and caught.type is pickle.UnpicklingError:
        assert "Weights only load failed" in str(caught.value)


@pytest.mark.parametrize("name", ATTACKS)
def test_refused_in_the_old_format(name, monkeypatch):
    monkeypatch.setattr("os.system", canary)
    head = b"".join(pickle.dumps(x, 2) for x in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        serialization.load(io.BytesIO(head + ATTACKS[name] + pickle.dumps([], 2)))
    assert not ran


def test_looking_for_unsafe_names_runs_nothing(monkeypatch):
    monkeypatch.setattr("os.system", canary)
    assert serialization.get_unsafe_globals_in_checkpoint(archive(ATTACKS["os.system"])) == ["os.system"]
    assert not ran


def test_blocked_modules_stay_blocked():
    with (
        serialization.safe_globals([(canary, "os.system")]),
        pytest.raises(pickle.UnpicklingError, match="whose module os is blocked"),
    ):
        serialization.load(archive(ATTACKS["os.system"]))
    assert not ran


def test_the_error_says_what_was_blocked_and_how_to_allow_it():
    with pytest.raises(pickle.UnpicklingError) as caught:
        serialization.load(archive(ATTACKS["subprocess"]))
    message = str(caught.value)
    assert "GLOBAL subprocess.Popen was not an allowed global by default" in message
    assert "torch.serialization.add_safe_globals([subprocess.Popen])" in message
    assert "trust the source" in message


def test_a_geometry_outside_the_storage_is_refused():
    torch_file = archive(
        P2
        + op_global("torch._utils", "_rebuild_tensor_v2")
        + b"(("
        + text("storage")
        + op_global("torch", "FloatStorage")
        + text("0")
        + text("cpu")
        + b"K\x04tQK\x02K\x03\x85K\x01\x85\x89"
        + op_global("collections", "OrderedDict")
        + b")RtR.",
        [("data/0", b"\0" * 16)],
    )
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
        serialization.load(torch_file)


MALFORMED = {
    "negative offset": b"J\xff\xff\xff\xffK\x01\x85K\x01\x85",
    "negative stride": b"K\x00K\x01\x85J\xff\xff\xff\xff\x85",
    "fewer strides than sizes": b"K\x00K\x01\x85)",
    "a size that is text": b"K\x00X\x01\x00\x00\x00a\x85K\x01\x85",
}


@pytest.mark.parametrize("numbers", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_geometry_is_refused(numbers):
    file = archive(
        P2
        + op_global("torch._utils", "_rebuild_tensor_v2")
        + b"(("
        + text("storage")
        + op_global("torch", "FloatStorage")
        + text("0")
        + text("cpu")
        + b"K\x04tQ"
        + numbers
        + b"\x89"
        + op_global("collections", "OrderedDict")
        + b")RtR.",
        [("data/0", b"\0" * 16)],
    )
    with pytest.raises(RuntimeError, match="malformed tensor"):
        serialization.load(file)


def test_random_damage_gives_errors_of_torchs_classes():
    file = io.BytesIO()
    serialization.save({"a": tl.ones(3), "b": [1, "x", (2.5, None)], "c": tl.float32}, file)
    good = file.getvalue()
    begin = good.index(b"\x80\x02")
    rng = __import__("random").Random(0)
    for _ in range(300):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            data[begin + rng.randrange(300)] = rng.randrange(256)
        with contextlib.suppress(pickle.UnpicklingError, RuntimeError):
            serialization.load(io.BytesIO(bytes(data)))


def test_weights_only_with_a_pickle_module_is_refused():
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        serialization.load(archive(P2 + b"K\x01."), pickle_module=pickle, weights_only=True)


def test_environment_decides(monkeypatch):
    file = archive(P2 + op_global(HERE, "canary") + b")R.")
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"):
        serialization.load(file)
    assert ran == [()]
    ran.clear()
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="both were set"):
        serialization.load(file)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        serialization.load(file, weights_only=False)
    assert not ran and os.environ
