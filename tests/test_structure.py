"""The house rules that a test can hold: imports point one way, files say their subject, nothing imports torch."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "torchlike"
FILES = sorted(PACKAGE.rglob("*.py"))
# Lower layers first; a file may import from its own layer and those below it.
LAYERS = [
    ("engine",),
    ("autograd",),
    ("ops",),
    ("tensor",),
]
UPPER = len(LAYERS)
# torch has these under torch.autograd, but they are written with tensors.
ABOVE = {"autograd/functional.py", "autograd/gradcheck.py", "autograd/profiler.py", "autograd/forward_ad.py", "autograd/graph.py",
         "autograd/variable.py"}  # fmt: skip


def layer(parts):
    for i, names in enumerate(LAYERS):
        if parts and parts[0] in names:
            return i
    return UPPER


def imports_of(tree):
    """Every import in a file, also those inside functions, as dotted names below torchlike."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "torchlike" and not node.level:
            for alias in node.names:
                yield node.lineno, [*node.module.split(".")[1:], alias.name]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "torchlike":
                    yield node.lineno, alias.name.split(".")[1:]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_file(path):
    relative = path.relative_to(PACKAGE)
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), f"{relative} does not say its subject in its first line"
    # torch.nn.modules.utils and its like are names that users import
    assert str(relative) in ("nn/modules/utils.py", "distributions/utils.py") or path.name not in ("utils.py", "helpers.py", "misc.py", "common.py"), f"{relative}: a file is named after its subject"
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] not in ("torch", "torchvision") or getattr(node, "level", 0), f"{relative}:{node.lineno} imports {name}"
    if str(relative) in ABOVE:
        return
    own = layer(relative.parts)
    for line, parts in imports_of(tree):
        assert layer(parts) <= own, f"{relative}:{line} imports {'.'.join(parts)}, which is in a layer above"


def test_importing_is_cheap_and_initialises_no_backend():
    import subprocess
    import sys

    code = (
        "import time, jax; before = time.process_time(); import torchlike; spent = time.process_time() - before\n"
        "import sys; from jax._src import xla_bridge\n"
        "assert not xla_bridge._backends, 'a backend was initialised'\n"
        "assert not {'flax', 'optax', 'torch', 'triton'} & set(sys.modules), 'a heavy package was imported'\n"
        "assert not jax.config.jax_enable_x64\n"
        "print(spent)"
    )
    best = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5))
    assert best < 0.3, f"import torchlike took {best:.2f} s more than import jax"
