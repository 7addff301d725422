"""``torch.hub`` without a network: local repositories, cached repositories, files by URL."""

import hashlib
from urllib.error import URLError

import pytest

import torchlike
from tests.compat.programs import check
from torchlike import hub

HUBCONF = """
dependencies = ["torch", "json"]
import torch
from layers_of_this_repo import Net
def net(size, bias=True):
    "A net of one layer."
    return Net(size, bias)
def _hidden():
    pass
"""
LAYERS = """
from torch import nn
class Net(nn.Module):
    def __init__(self, size, bias):
        super().__init__()
        import torch.nn.functional
        self.layer = nn.Linear(size, size, bias)
"""
OFFLINE = "https://host.invalid/weights-0123abcd.pth"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "layers_of_this_repo.py").write_text(LAYERS)
    return folder


def test_local(repository):
    check(f"""
import torchlike, sys
from torchlike import hub
net = hub.load({str(repository)!r}, "net", 3, source="local", bias=False)
assert isinstance(net, torchlike.nn.Module) and net.layer.bias is None
for model, error in (("nonsense", RuntimeError), (3, ValueError)):
    try:
        hub.load({str(repository)!r}, model, source="local")
    except error:
        continue
    raise AssertionError(model)
""")


def test_a_cached_repository_needs_no_network(repository, home):
    folder = home / "hub" / "someone_nets_main"
    folder.parent.mkdir(parents=True)
    repository.rename(folder)
    check("""
import torchlike
from torchlike import hub
assert hub.list("someone/nets", trust_repo=True) == ["Net", "net"]
assert hub.help("someone/nets:main", "net") == "A net of one layer."
assert isinstance(hub.load("someone/nets", "net", 2, verbose=False), torchlike.nn.Module)
""", TORCH_HOME=str(home))  # fmt: skip


def test_trust(repository, home, monkeypatch):
    folder = home / "hub" / "someone_nets_main"
    folder.parent.mkdir(parents=True)
    repository.rename(folder)
    asked = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "n")
    with pytest.raises(Exception, match="Untrusted repository"):
        hub.load("someone/nets:main", "net", 2)
    assert "someone/nets" in asked[0]


@pytest.mark.parametrize("source, name", [("ftp", "a/b"), ("github", "nets"), ("github", "/nets")])
def test_bad_names(source, name, home):
    with pytest.raises(ValueError):
        hub.load(name, "net", source=source)


def test_weights_by_url(tmp_path, home, capsys):
    weights = {"a": torchlike.arange(3), "b": torchlike.ones(2)}
    torchlike.save(weights, tmp_path / "weights.pth")
    url = (tmp_path / "weights.pth").as_uri()
    loaded = hub.load_state_dict_from_url(url, progress=False)
    assert loaded["a"].tolist() == [0, 1, 2]
    assert (home / "hub" / "checkpoints" / "weights.pth").exists()
    (tmp_path / "weights.pth").unlink()
    assert hub.load_state_dict_from_url(url)["b"].tolist() == [1, 1]  # from the cache
    assert capsys.readouterr().err.count("Downloading") == 1


def test_hashes(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    digest = hashlib.sha256(b"content").hexdigest()
    url = (tmp_path / "file").as_uri()
    hub.download_url_to_file(url, str(tmp_path / "copy"), digest[:8], progress=False)
    assert (tmp_path / "copy").read_bytes() == b"content"
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file(url, str(tmp_path / "other"), "0000", progress=False)
    assert {f.name for f in tmp_path.iterdir()} == {"file", "copy"}


def test_offline_says_where_to_put_the_file(home, monkeypatch):
    def refuse(*args, **kwargs):
        raise URLError("no route")

    monkeypatch.setattr(hub, "urlopen", refuse)
    with pytest.raises(URLError) as caught:
        hub.load_state_dict_from_url(OFFLINE)
    assert str(home / "hub" / "checkpoints" / "weights-0123abcd.pth") in str(caught.value) and "offline" in str(caught.value)
    with pytest.raises(URLError, match="offline"):
        hub.load("someone/elses:main", "net", trust_repo=True)


def test_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert hub.get_dir() == "/somewhere/hub"
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/torch/hub"
    monkeypatch.setattr(hub, "_hub_dir", None)
    hub.set_dir(tmp_path)
    assert hub.get_dir() == str(tmp_path)
