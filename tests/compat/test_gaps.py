"""Names that torch has and torchlike lacks: they import, they answer probes with no, they raise where they are used."""

import importlib
import sys
import typing
from abc import ABC

import pytest

import torchlike
from torchlike.compat import names
from torchlike.compat.finder import watch
from torchlike.compat.gaps import NotInTorchlikeError, is_gap, refuse

watch()
GAP = "torchlike.distributed.rpc"  # a module of which torchlike has nothing


def run(source):
    """The globals of a piece of source, executed."""
    scope = {}
    exec(compile(source, "<user>", "exec"), scope)
    return scope


def test_every_module_of_torch_imports():
    failures = {}
    for name in names.modules():
        if "_internal" in name or "tensorboard" in name:
            continue
        try:
            importlib.import_module("torchlike" + name.removeprefix("torch"))
        except Exception as error:
            failures[name] = repr(error)
    assert not failures


@pytest.mark.parametrize("module, name", [("torch", "quantized_gru"), ("torch.distributed.rpc", "PyRRef"), ("torch.cuda", "OutOfMemoryError"),
                                          ("torch.testing._internal.common_utils", "TestCase"), ("torch._C", "_nn"), ("torch", "Tensor")])  # fmt: skip
def test_the_table_has(module, name):
    assert names.kind_of(module, name) is not None


@pytest.mark.parametrize("module", ["torch._six", "torch.foo", "torchlike"])
def test_the_table_has_not(module):
    assert not names.has_module(module)


# How a missing name is asked for -> whether it is there. {m} is a module without the name {n}.
ASKED = [
    ("from {m} import {n}", True),
    ("from {m} import {n} as other", True),
    ("import {m} as m; m.{n}", True),
    ("import {m} as m\ndef f():\n    return m.{n}\nf()", True),
    ("import {m} as m\ndef f(x: 'm.{n}', y=m.{n}): pass", True),
    ("import {m} as m\ntable = {{m.{n}: 1}}", True),
    ("import {m} as m; assert not hasattr(m, '{n}')", True),
    ("import {m} as m; assert getattr(m, '{n}', None) is None", True),
    ("import {m} as m; getattr(m, '{n}')", False),
    ("try:\n    from {m} import {n}\nexcept ImportError:\n    raise LookupError", False),
    ("try:\n    from {m} import {n}\nexcept (ValueError, ImportError):\n    raise LookupError", False),
    ("try:\n    from {m} import {n}\nexcept ValueError:\n    pass\nexcept Exception as e:\n    raise LookupError", False),
    ("try:\n    from {m} import {n}\nexcept:\n    raise LookupError", False),
    ("try:\n    try:\n        from {m} import {n}\n    finally:\n        x = 1\nexcept ImportError:\n    raise LookupError", False),
    ("try:\n    with open(__import__('os').devnull):\n        from {m} import {n}\nexcept ImportError:\n    raise LookupError", False),
    ("def f():\n    try:\n        from {m} import {n}\n    except ImportError:\n        raise LookupError\nf()", False),
    ("import {m} as m\ntry:\n    m.{n}\nexcept AttributeError:\n    raise LookupError", False),
    ("try:\n    from {m} import {n}\nexcept ValueError:\n    raise LookupError", True),
    ("try:\n    from {m} import {n}\nfinally:\n    x = 1", True),
    ("import {m} as m\ntry:\n    m.{n}\nexcept ImportError:\n    raise LookupError", True),
    ("try:\n    x = 1\nexcept ImportError:\n    pass\nfrom {m} import {n}", True),
    ("try:\n    import no_such_module\nexcept ImportError:\n    from {m} import {n}", True),
]


@pytest.mark.parametrize("module, name", [(GAP, "PyRRef"), ("torchlike", "quantized_gru")])
@pytest.mark.parametrize("source, there", ASKED, ids=range(len(ASKED)))
def test_asking(source, there, module, name):
    source = source.format(m=module, n=name)
    if there:
        run(source)
    else:
        with pytest.raises((AttributeError, LookupError)):
            run(source)


def test_star_import():
    scope = run(f"from {GAP} import *")
    assert is_gap(scope["PyRRef"]) and is_gap(scope["remote"])


@pytest.mark.parametrize("source", [f"from {GAP} import NoSuchName", "from torchlike.nn import NoSuchName", "import torchlike.no_such_module"])
def test_names_that_torch_lacks_fail_at_once(source):
    with pytest.raises(ImportError):
        run(source)


USES = [
    "remote()", "remote('w', int)", "remote.attribute", "bool(remote)", "remote[0]", "list(remote)",
    "PyRRef()", "PyRRef.attribute", "class Mine(PyRRef): pass\nMine(3)", "class Mine(PyRRef): pass\nMine.attribute",
    "import pickle; pickle.dumps(remote)",
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_use_raises_with_the_full_name(use):
    with pytest.raises(NotImplementedError, match=r"torch\.distributed\.rpc\.(remote|PyRRef)") as caught:
        run(f"from {GAP} import remote, PyRRef\n{use}")
    assert isinstance(caught.value, NotInTorchlikeError)
    assert "docs/known-gaps.md" in str(caught.value)


def test_classes_can_stand_where_classes_stand():
    scope = run(f"from {GAP} import PyRRef, RRef, remote\nfrom torchlike.cuda import OutOfMemoryError")
    missing = scope["PyRRef"]
    assert not isinstance(3, missing)
    assert not isinstance(torchlike.ones(1), (missing, int))

    class Mine(missing, ABC):
        pass

    assert issubclass(Mine, missing)
    assert not issubclass(int, missing)
    assert typing.Union[missing, int] and (missing | None) and typing.List[missing]  # noqa: UP006
    assert typing.Union[scope["remote"], None] and (scope["remote"] | int) and (int | scope["remote"])
    assert missing[int] is missing
    assert len({missing: 1, scope["remote"]: 2}) == 2
    with pytest.raises(ValueError):
        try:
            raise ValueError
        except scope["OutOfMemoryError"]:
            pytest.fail("caught by a class that nothing raises")


def test_a_name_has_one_placeholder():
    first, second = run(f"from {GAP} import remote as a"), run(f"from {GAP} import remote as b")
    assert first["a"] is second["b"]


def test_gap_modules():
    module = importlib.import_module(GAP)
    assert "remote" in dir(module)
    assert "torch.distributed.rpc" in repr(module)
    assert module.__spec__.name == GAP
    assert sys.modules[GAP] is module


def test_the_message_names_what_is_near():
    with pytest.raises(NotImplementedError, match=r"torch\.nn\.functional\.\w*relu"):
        refuse("torch.nn.functional.rrelu9")
    with pytest.raises(NotImplementedError, match="collectives"):
        run(f"from {GAP} import remote; remote()")
