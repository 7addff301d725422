"""``torch.backends`` and ``torch.version``: what libraries ask, and switches that can be set."""

import contextlib

import pytest

import torchlike
from torchlike import torch_version, version
from torchlike.backends import precision
from torchlike.engine import signature

backends = torchlike.backends


@pytest.fixture(autouse=True)
def defaults():
    """Leave precision as it was."""
    table = dict(precision._table)
    yield
    torchlike.backends.precision.set_float32_matmul_precision("highest")
    precision._table.update(table)


# What is set -> what it reads afterwards, and the engine's precision.
SWITCHES = [
    ("cudnn.benchmark", True, None),
    ("cudnn.deterministic", True, None),
    ("cudnn.enabled", False, None),
    ("cudnn.benchmark_limit", 3, None),
    ("mkldnn.enabled", False, None),
    ("opt_einsum.strategy", "greedy", None),
    ("opt_einsum.enabled", False, None),
    ("cuda.matmul.allow_fp16_reduced_precision_reduction", False, None),
    ("cuda.matmul.allow_bf16_reduced_precision_reduction", False, None),
    ("cuda.matmul.allow_tf32", True, "tensorfloat32"),
    ("cuda.matmul.allow_tf32", False, "highest"),
    ("cuda.matmul.fp32_precision", "tf32", "tensorfloat32"),
    ("cuda.matmul.fp32_precision", "ieee", "highest"),
    ("fp32_precision", "tf32", "tensorfloat32"),
    ("cudnn.allow_tf32", True, "highest"),
    ("cudnn.conv.fp32_precision", "tf32", "highest"),
    ("mkldnn.matmul.fp32_precision", "bf16", "highest"),
]


def owner(path):
    *parts, name = path.split(".")
    found = backends
    for part in parts:
        found = getattr(found, part)
    return found, name


@pytest.mark.parametrize("path, value, engine", SWITCHES)
def test_switch(path, value, engine):
    place, name = owner(path)
    before = getattr(place, name)
    setattr(place, name, value)
    try:
        assert getattr(place, name) == value
        assert engine is None or signature.matmul_precision() == engine
    finally:
        setattr(place, name, before)


# What is refused -> the error, which is torch's.
REFUSED = [
    ("cudnn.benchmark", 3, RuntimeError),
    ("cudnn.enabled", "yes", RuntimeError),
    ("cuda.matmul.fp32_precision", "half", RuntimeError),
    ("fp32_precision", "half", RuntimeError),
    ("opt_einsum.strategy", "best", ValueError),
    ("quantized.engine", "fbgemm", RuntimeError),
    ("cuda.matmul.nonsense", True, AttributeError),
]


@pytest.mark.parametrize("path, value, error", REFUSED)
def test_refused(path, value, error):
    libraries = [backends]
    with contextlib.suppress(ImportError):
        import torch

        if path not in ("quantized.engine", "opt_einsum.strategy"):  # torch has the one, and checks the other when it is used
            libraries.append(torch.backends)
    for library in libraries:
        *parts, name = path.split(".")
        place = library
        for part in parts:
            place = getattr(place, part)
        with pytest.raises(error):
            setattr(place, name, value)


@pytest.mark.parametrize("word, tf32", [("high", True), ("medium", True), ("highest", False)])
def test_set_float32_matmul_precision(word, tf32):
    precision.set_float32_matmul_precision(word)
    assert precision.get_float32_matmul_precision() == word
    assert backends.cuda.matmul.allow_tf32 is tf32
    with pytest.warns(UserWarning, match="perfect"):
        precision.set_float32_matmul_precision("perfect")
    assert precision.get_float32_matmul_precision() == word


def test_flags():
    backends.cudnn.benchmark = True
    with backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
        assert (backends.cudnn.benchmark, backends.cudnn.deterministic) == (False, True)
    assert (backends.cudnn.benchmark, backends.cudnn.deterministic) == (True, False)
    assert backends.cudnn.set_flags(_benchmark=False)[:2] == (True, True)
    with backends.cuda.sdp_kernel(enable_math=False):
        assert not backends.cuda.math_sdp_enabled() and backends.cuda.flash_sdp_enabled()
    assert backends.cuda.math_sdp_enabled()
    with backends.opt_einsum.flags(strategy="optimal"):
        assert backends.opt_einsum.strategy == "optimal"


def test_what_is_not_there_says_so():
    for name in ("mkl", "mkldnn", "mps", "openmp", "nnpack", "kleidiai", "cusparselt"):
        assert getattr(backends, name).is_available() is False
    assert backends.cpu.get_cpu_capability() in ("DEFAULT", "NO AVX", "AVX2", "AVX512", "VSX", "Z VECTOR")
    with pytest.raises(RuntimeError, match="MPS"):
        backends.mps.is_macos_or_newer(14, 0)


OTHERS = ["1.2", "2.13", "2.13.0", "2.14.0a0", (1, 2), (2, 13), (3,), [2, 0], "2.13.0+torchlike", "parrot", None, 5]
COMPARISONS = ["__eq__", "__lt__", "__le__", "__gt__", "__ge__"]


def test_versions_compare_as_torchs():
    ours = torch_version.TorchVersion
    expected = {  # what torch 2.13 answers
        "1.2": (False, False, False, True, True), "2.13": (False, False, False, True, True), (3,): (False, True, True, False, False),
        "2.14.0a0": (False, True, True, False, False), "2.13.0+cpu": (True, False, True, False, True),
        "parrot": (False, True, True, False, False), None: (NotImplemented,) * 5,
    }  # fmt: skip
    for other, answers in expected.items():
        assert tuple(getattr(ours("2.13.0+cpu"), c)(other) for c in COMPARISONS) == answers
    try:
        from torch.torch_version import TorchVersion
    except ImportError:
        return
    for other in OTHERS:
        for comparison in COMPARISONS:
            assert getattr(ours("2.13.0+cpu"), comparison)(other) == getattr(TorchVersion("2.13.0+cpu"), comparison)(other), (other, comparison)


def test_the_version_parses():
    from packaging.version import Version

    assert tuple(map(int, version.__version__.split("+")[0].split("."))) == (2, 13, 0)
    assert Version(version.__version__) >= Version("2.13.0") and Version(version.__version__).release == (2, 13, 0)
    assert isinstance(torch_version.__version__, str) and torch_version.__version__ >= "2.1" and torch_version.__version__ > (1, 9)
    assert hash(torch_version.__version__) == hash(str(torch_version.__version__))
    assert version.cuda is None or version.cuda[:2].isdigit()
    assert version.hip is None and version.debug is False
