"""``torchlike.install()``: torch's names for torchlike's modules, in a whole process and for some importers."""

import sys

import pytest

from tests.compat.programs import check, python

EVERYWHERE = """
import sys
import torchlike
from torchlike.compat import install, uninstall
install()
install()

import torch, torch.nn.functional, torch.utils.data as data
import torch.nn as nn
from torch.optim import SGD
assert torch is torchlike and sys.modules["torch"] is torchlike
assert torch.nn.functional is torchlike.nn.functional is sys.modules["torch.nn.functional"]
assert data is torchlike.utils.data and SGD is torchlike.optim.SGD
assert torchlike.nn.__spec__.name == torchlike.nn.__name__ == "torchlike.nn"  # its own name and spec stay
assert isinstance(nn.Linear(2, 2), torchlike.nn.Module)

# names that are torchlike's alone are not torch's
for name in ("torch.tensor", "torch.engine", "torch.compat", "torch._six", "torchaudio", "torchtext"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise AssertionError(name)
assert callable(torch.tensor)
# a module of which torchlike has nothing: a probe says no, an attribute or an import gives it
assert not hasattr(torch, "quantization") and getattr(torch, "quantization", None) is None
assert torch.quantization is __import__("torch.quantization").quantization

import importlib.util, importlib.metadata
assert importlib.util.find_spec("torch") and importlib.util.find_spec("torch.nn.functional")
assert importlib.util.find_spec("torchaudio") is None and importlib.util.find_spec("torch.no_such") is None
version = importlib.metadata.version("torch")
assert version == str(torch.torch_version.__version__) == torch.version.__version__
assert tuple(int(n) for n in version.split("+")[0].split(".")) == (2, 13, 0)
from packaging.version import Version
assert Version(version) >= Version("2.13")
assert importlib.metadata.distribution("Torch").metadata["Name"] == "torch"
assert importlib.metadata.version("numpy")
assert [d.name for d in importlib.metadata.distributions()].count("torch") >= 1

uninstall()
assert not [name for name in sys.modules if name.partition(".")[0] in ("torch", "torchvision", "torchaudio")]
try:
    import torch
    assert torch is not torchlike
except ModuleNotFoundError:
    pass
print("done")
"""

SCOPED = """
import sys, types
import torchlike
from torchlike.compat import install, uninstall

def importer(name, source, file=None):
    scope = {"__name__": name, "__file__": file}
    exec(source, scope)
    return scope

install(["mine", "other.part"])
install("third")
source = '''
import torch
import torch.nn.functional
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
def later():
    import torch.optim
    return torch
'''
for name in ("mine", "mine.layers", "other.part", "third"):
    scope = importer(name, source)
    assert scope["torch"] is torchlike and scope["F"] is torchlike.nn.functional and scope["nn"] is torchlike.nn
    assert scope["DataLoader"] is torchlike.utils.data.DataLoader
    assert scope["later"]() is torchlike

real = '''
try:
    import torch
    from torch import nn
except ModuleNotFoundError:
    torch = None
'''
found = [importer(name, real)["torch"] for name in ("other", "minerva", "__main__")]
assert all(module is not torchlike for module in found)
if found[0] is not None:  # both live in this process and compute
    torch = found[0]
    assert sys.modules["torch"] is torch and torch.nn is not torchlike.nn
    a, b = torch.arange(6.0).reshape(2, 3), torchlike.arange(6.0).reshape(2, 3)
    assert (a @ a.T).tolist() == (b @ b.T).tolist()
    assert type(a) is not type(b)
    # an alias for all would mix the two
    try:
        install()
    except RuntimeError as error:
        assert "importers" in str(error)
    else:
        raise AssertionError("installed over real torch")

uninstall()
assert importer("mine", real)["torch"] is not torchlike
import builtins
assert type(builtins.__import__).__name__ == "builtin_function_or_method"
print("done")
"""


def test_everywhere():
    assert "done" in check(EVERYWHERE)


def test_for_some_importers():
    assert "done" in check(SCOPED)


def test_importing_torchlike_leaves_torch_alone():
    source = """
import importlib.util
before = importlib.util.find_spec("torch")
import torchlike, sys
after = importlib.util.find_spec("torch")
assert (before and before.origin) == (after and after.origin)
assert "torch" not in sys.modules
"""
    check(source)


def test_the_alias_reads_files_lazily():
    source = """
import torchlike
from torchlike.compat import install
install()
import sys, torch
heavy = {"torchlike.compat.compare", "torchlike.compat.report", "torchlike.compat.runner", "flax", "optax", "packaging.version"} & set(sys.modules)
assert not heavy, heavy
from jax._src import xla_bridge
assert not xla_bridge._backends
"""
    check(source)


@pytest.mark.skipif(sys.platform == "win32", reason="paths")
def test_modules_of_a_package_that_imports_torch(tmp_path):
    package = tmp_path / "mymodel"
    package.mkdir()
    (package / "__init__.py").write_text("from .layers import Net\n")
    (package / "layers.py").write_text("import torch\nclass Net(torch.nn.Module):\n    pass\n")
    source = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import torchlike
from torchlike.compat import install
install(["mymodel"])
import mymodel
assert issubclass(mymodel.Net, torchlike.nn.Module)
"""
    done = python("-c", source)
    assert done.returncode == 0, done.stderr


SHOWN = """
import io, pickle, zipfile
import torchlike
own = {cls: cls.__module__ for cls in (torchlike.nn.Linear, torchlike.Tensor)}
from torchlike.compat import install, uninstall
install()
import torch
assert repr(type(torch.ones(2))) == "<class 'torch.Tensor'>"
for cls, module in {
    torch.nn.Linear: "torch.nn.modules.linear", torch.nn.Parameter: "torch.nn.parameter", torch.optim.SGD: "torch.optim.sgd", torch.Size: "torch",
    torch.utils.data.DataLoader: "torch.utils.data.dataloader", torch.device: "torch",
}.items():
    assert cls.__module__ == module, cls
    assert getattr(__import__(module, fromlist=["x"]), cls.__name__) is cls

import inspect, typing
assert "class Linear" in inspect.getsource(torch.nn.Linear)
typing.get_type_hints(torch.nn.Linear)

file = io.BytesIO()
torch.save(torch.nn.Linear(2, 2), file)
archive = zipfile.ZipFile(file)
data = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
assert b"torch.nn.modules.linear" in data and b"torchlike" not in data
file.seek(0)
assert isinstance(torch.load(file, weights_only=False), torch.nn.Linear)
assert isinstance(pickle.loads(pickle.dumps(torch.nn.Linear(2, 2))), torch.nn.Linear)

uninstall()
assert {cls: cls.__module__ for cls in own} == own
assert isinstance(pickle.loads(pickle.dumps(torchlike.nn.Linear(2, 2))), torchlike.nn.Linear)
print("done")
"""


def test_classes_say_that_they_are_torchs():
    assert "done" in check(SHOWN)
