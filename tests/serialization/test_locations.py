"""``map_location`` and the registry of places."""

import io

import pytest

import torchlike as tl
from torchlike import serialization
from torchlike.serialization import locations


def tagged(location):
    """A checkpoint of ones(3) that says it was saved on a device."""
    file = io.BytesIO()
    serialization.save({"x": tl.ones(3)}, file, pickle_protocol=2)
    data = file.getvalue()
    name = location.encode()
    # the tag is the only text "cpu"; the pickle's size changes, so the archive is made anew
    import zipfile

    source = zipfile.ZipFile(io.BytesIO(data))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for record in source.namelist():
            content = source.read(record)
            if record.endswith("data.pkl"):
                content = content.replace(b"X\x03\x00\x00\x00cpu", b"X" + len(name).to_bytes(4, "little") + name)
            z.writestr(record, content)
    out.seek(0)
    return out


@pytest.fixture
def without_cuda(monkeypatch):
    monkeypatch.setattr("torchlike.serialization.bridge.device_count", lambda kind: 0)


@pytest.mark.parametrize(
    "where",
    [
        "cpu",
        b"cpu",
        tl.device("cpu"),
        {"cuda:1": "cpu"},
        lambda storage, tag: storage,
        lambda storage, tag: storage.cpu(),
    ],
)
def test_from_a_gpu_to_the_cpu(where, without_cuda):
    x = serialization.load(tagged("cuda:1"), map_location=where)["x"]
    assert x.device == tl.device("cpu") and x.tolist() == [1, 1, 1]


def test_the_callable_sees_storage_and_tag(without_cuda):
    seen = []

    def where(storage, tag):
        seen.append((storage.nbytes(), str(storage.device), tag))
        return storage

    serialization.load(tagged("cuda:1"), map_location=where)
    assert seen == [(12, "cpu", "cuda:1")]


@pytest.mark.parametrize("where", [None, "cuda", "cuda:0", {"cpu": "cuda"}, lambda storage, tag: None])
def test_an_absent_gpu(where, without_cuda):
    with pytest.raises(RuntimeError, match=r"torch.cuda.is_available\(\) is False.*map_location=torch.device\('cpu'\)"):
        serialization.load(tagged("cuda:1"), map_location=where)


def test_an_absent_gpu_among_others(monkeypatch):
    monkeypatch.setattr("torchlike.serialization.bridge.device_count", lambda kind: 1)
    with pytest.raises(RuntimeError, match=r"CUDA device 3 but torch\.cuda\.device_count"):
        serialization.load(tagged("cuda:3"))


def test_an_unknown_place():
    with pytest.raises(RuntimeError, match="tagged with nowhere"):
        serialization.load(tagged("nowhere"))


def test_meta_loads_shapes_only():
    x = serialization.load(tagged("cpu"), map_location="meta")["x"]
    assert x.is_meta and x.shape == (3,)


def test_a_place_of_the_users(monkeypatch):
    monkeypatch.setattr(locations, "_registry", list(locations._registry))
    serialization.register_package(
        5, lambda storage: None, lambda storage, tag: storage.to("cpu") if tag == "nowhere" else None
    )
    assert serialization.load(tagged("nowhere"))["x"].tolist() == [1, 1, 1]
