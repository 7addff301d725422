"""``torch.cuda`` and its like where there is no such device, and hints to compilers that are not there: what libraries ask first."""

import pytest

import torchlike
from torchlike import _dynamo, accelerator, compiler, cpu, cuda, distributed, fx, jit, mps, mtia, xpu
from torchlike.engine.device import devices_of
from torchlike.utils import cpp_extension

no_gpu = pytest.mark.skipif(bool(devices_of("cuda")), reason="this machine has a GPU")

# Expressions in torch -> what torch 2.13 answers on a machine without accelerators (a class: it raises that).
WITHOUT = [
    ("cuda.is_available()", False),
    ("cuda.is_initialized()", False),
    ("cuda.device_count()", 0),
    ("cuda.current_device()", AssertionError),
    ("cuda.get_device_name()", AssertionError),
    ("cuda.get_device_capability()", AssertionError),
    ("cuda.get_device_properties(0)", AssertionError),
    ("cuda.synchronize()", AssertionError),
    ("cuda.init()", AssertionError),
    ("cuda.mem_get_info()", AssertionError),
    ("cuda.get_rng_state()", AssertionError),
    ("cuda.initial_seed()", AssertionError),
    ("cuda.set_device(-1)", None),
    ("cuda.empty_cache()", None),
    ("cuda.memory_allocated()", 0),
    ("cuda.max_memory_allocated()", 0),
    ("cuda.memory_reserved()", 0),
    ("dict(cuda.memory_stats())", {}),
    ("cuda.is_bf16_supported()", False),
    ("cuda.manual_seed(1)", None),
    ("cuda.manual_seed_all(1)", None),
    ("cuda.get_arch_list()", []),
    ("cuda.get_rng_state_all()", []),
    ("accelerator.is_available()", False),
    ("accelerator.current_accelerator()", None),
    ("accelerator.device_count()", 0),
    ("accelerator.synchronize()", RuntimeError),
    ("accelerator.current_device_index()", RuntimeError),
    ("accelerator.empty_cache()", RuntimeError),
    ("xpu.is_available()", False),
    ("xpu.device_count()", 0),
    ("xpu.empty_cache()", None),
    ("xpu.manual_seed_all(1)", None),
    ("mps.device_count()", 0),
    ("mps.manual_seed(1)", None),
    ("mtia.is_available()", False),
    ("mtia.device_count()", 0),
    ("cpu.is_available()", True),
    ("cpu.device_count()", 1),
    ("cpu.current_device()", "cpu"),
    ("cpu.synchronize()", None),
]


def answer(library, expression):
    try:
        return eval(expression, vars(library))
    except Exception as error:
        return type(error)


@no_gpu
@pytest.mark.parametrize("expression, expected", WITHOUT)
def test_without_accelerators(expression, expected):
    for module in (accelerator, cpu, cuda, mps, mtia, xpu):
        assert module  # imported: attributes of torchlike
    assert answer(torchlike, expression) == expected
    try:
        import torch
    except ImportError:
        return
    if not torch.cuda.is_available():
        assert answer(torch, expression) == expected


def test_hints_to_compilers():
    def f(x):
        return x

    class Net(torchlike.nn.Module):
        pass

    for decorator in (jit.script, jit.export, jit.unused, jit.ignore, jit.ignore(drop=True), jit.script_if_tracing, fx.wrap, compiler.disable, compiler.compile,
                      compiler.compile(mode="max-autotune", dynamic=True), compiler.disable(recursive=False), compiler.allow_in_graph, compiler.assume_constant_result, _dynamo.disable):  # fmt: skip
        assert decorator(f) is f
    assert isinstance(jit.script(Net()), Net)
    with pytest.raises(TypeError, match="speed"):
        compiler.compile(f, speed=3)
    assert fx.wrap("len") == "len"
    assert jit.annotate(list[int], [1]) == [1] and jit.isinstance([1], list[int]) and not jit.isinstance(1, (list[int], str))
    assert not (jit.is_scripting() or jit.is_tracing() or compiler.is_compiling() or compiler.is_exporting() or _dynamo.is_compiling())
    assert not distributed.is_available()


def test_what_needs_a_script_is_a_gap():
    for name in ("save", "load", "trace"):
        assert not hasattr(jit, name)
    with pytest.raises(NotImplementedError, match=r"torch\.jit\.save"):
        from torchlike.jit import save

        save(None, "file")


def test_extensions_cannot_be_built():
    for build in (lambda: cpp_extension.load("ext", ["ext.cpp"]), lambda: cpp_extension.load_inline("ext", ""), lambda: cpp_extension.CUDAExtension("ext", []),
                  cpp_extension.BuildExtension):  # fmt: skip
        with pytest.raises(NotImplementedError, match="libtorch"):
            build()
    assert cpp_extension.BuildExtension.with_options(use_ninja=False)


def test_config():
    import torchlike.__config__ as config

    assert "USE_MKL=OFF" in config.show() and "TORCH_VERSION=2.13.0" in config.show()
    assert "threads" in config.parallel_info()
