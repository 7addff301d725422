"""Writes known_names.txt: which modules real torch has, and the public names in each. Run it where real torch is installed:

    python torchlike/compat/make_tables.py [torchvision]

One line a module: its name, then groups ``kind:name name ...`` separated by
tabs. Kinds: ``c`` class, ``e`` exception class, ``f`` function, ``m`` submodule that is there without being imported, ``v``
any other value. The file is the only thing that torchlike takes from torch: names, no code.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

TABLES = {"torch": Path(__file__).with_name("known_names.txt"), "torchvision": Path(__file__).with_name("known_vision_names.txt")}
# Private trees of compiler internals and tests: nobody imports what lies deeper than this many dots (0: nothing of it).
DEPTH = {
    "torch._vendor": 0, "torch._native": 0, "torch._lazy": 0, "torch._numpy": 0, "torch._strobelight": 0, "torch._awaits": 0,
    "torch._inductor": 2, "torch._dynamo": 2, "torch._functorch": 2, "torch._higher_order_ops": 2, "torch._export": 2,
    "torch._prims": 1, "torch._refs": 1, "torch._decomp": 1, "torch.testing._internal": 3, "torch.onnx._internal": 3,
    "torch.ao.quantization.fx": 3, "torch.distributed.tensor": 3, "torch.distributed._shard": 3, "torch.fx.experimental": 3,
    "torch.export._internal": 0, "torch.distributed.elastic": 4, "torch.fx.passes": 3, "torch.distributed.pipelining": 3,
}  # fmt: skip
SKIPPED = ("torch.testing._internal.common_methods_invocations", "torch.testing._internal.opinfo", "torch._meta_registrations",
           "torch.testing._internal.common_modules", "torch._inductor.lowering")  # fmt: skip
# Modules with a name like Python's own.
DUNDER = ("torch.__config__", "torch.__future__")
# Real names that ``dir()`` does not show: namespaces that are filled when they are asked.
DYNAMIC = {"torch": "m:__config__ __future__ _dynamo _export _inductor onnx", "torch.ops": "f:import_module load_library\tv:torchvision"}


def wanted(module: str) -> bool:
    """Whether the module belongs in the table."""
    if ("__" in module and module not in DUNDER) or ".test." in module or module.endswith(("_test", "conftest")):
        return False
    if module.startswith(SKIPPED):
        return False
    return all(module.count(".") <= dots for tree, dots in DEPTH.items() if f"{module}.".startswith(f"{tree}."))


def kind_of(value: Any) -> str:
    """The table's letter for an object."""
    if inspect.ismodule(value):
        return "m"
    if inspect.isclass(value):
        return "e" if issubclass(value, BaseException) else "c"
    return "f" if callable(value) else "v"


def belongs(module: ModuleType, name: str, value: Any, root: str) -> bool:
    """Whether a name is the package's own: not one that the module imported from elsewhere, nor a typing leftover."""
    if name.startswith("__"):
        return False
    if inspect.ismodule(value):
        return value.__name__ == f"{module.__name__}.{name}"
    home = getattr(value, "__module__", None)
    if not isinstance(home, str):  # constants, and functions written in C
        return not name.startswith("TYPE_CHECKING")
    if home.partition(".")[0] != root:
        return type(value).__module__.partition(".")[0] == root or home in ("builtins", module.__name__)
    if not any(part.startswith("_") for part in module.__name__.split(".")) or module.__name__.startswith("torch._C"):
        return True
    return home.startswith(module.__name__) and (not name.startswith("_") or (home == module.__name__ and home.count(".") <= 2))


def names_of(module: ModuleType, root: str) -> dict[str, list[str]]:
    """The module's names by kind."""
    found: dict[str, list[str]] = {}
    inner = vars(module).get("m")
    if inspect.ismodule(inner) and inner.__name__ == module.__name__:  # torch.backends: properties around a module
        found = names_of(inner, root)
        properties = [name for name, value in vars(type(module)).items() if hasattr(type(value), "__set__") and not name.startswith("_")]
        found["v"] = sorted({*found.get("v", ()), *properties})
        return found
    exported = set(vars(module).get("__all__", ()))
    for name in sorted({*dir(module), *exported}):
        try:
            value = getattr(module, name)
        except Exception:  # lazy names that need what this machine lacks
            continue
        if name in exported or belongs(module, name, value, root):
            found.setdefault(kind_of(value), []).append(name)
    return found


def names_in_source(path: str) -> dict[str, list[str]]:
    """The same from the text of a module that cannot be imported here: what it defines at its top level."""
    found: dict[str, list[str]] = {}
    try:
        body = ast.parse(Path(path).read_text(encoding="utf-8")).body
    except SyntaxError:  # written for a later Python
        return found
    for node in body:
        if isinstance(node, ast.ClassDef):
            found.setdefault("e" if node.name.endswith(("Error", "Exception")) else "c", []).append(node.name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.setdefault("f", []).append(node.name)
        elif isinstance(node, ast.Assign):
            found.setdefault("v", []).extend(t.id for t in node.targets if isinstance(t, ast.Name) and not t.id.startswith("__"))
    return {kind: sorted(set(names)) for kind, names in found.items()}


def modules_under(root: ModuleType) -> Iterator[str]:
    """Every module of the package, found on disk without importing; then those that exist only in memory."""
    pending = [(root.__name__, list(root.__path__))]
    while pending:
        package, folders = pending.pop()
        for entry in pkgutil.iter_modules(folders):
            name = f"{package}.{entry.name}"
            yield name
            if entry.ispkg:
                pending.append((name, [str(Path(folder) / entry.name) for folder in folders]))
    yield from [name for name in sys.modules if name.startswith(f"{root.__name__}.")]


def make(root_name: str) -> str:
    """The table's text."""
    root = importlib.import_module(root_name)
    eager = {name: names_of(module, root_name) for name, module in list(sys.modules.items())
             if (name.partition(".")[0] == root_name and inspect.ismodule(module)) or name == "torch.ops"}  # fmt: skip
    lines = []
    for name in sorted({root_name, *modules_under(root)}):
        if not wanted(name):
            continue
        names = eager.get(name)
        if names is None:
            try:
                with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                    names = names_of(importlib.import_module(name), root_name)
            except BaseException:  # needs a library or a device that is not here; some exit
                path = Path(root.__path__[0], *name.split(".")[1:])
                source = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
                names = names_in_source(str(source)) if source.exists() else {}
        groups = [f"{kind}:{' '.join(names[kind])}" for kind in sorted(names)]
        lines.append("\t".join([name, DYNAMIC.get(name, ""), *groups]).replace("\t\t", "\t").rstrip())
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    which = sys.argv[1] if len(sys.argv) > 1 else "torch"
    TABLES[which].write_text(make(which), encoding="utf-8")
    print(f"{TABLES[which].name}: {len(TABLES[which].read_text().splitlines())} modules, {TABLES[which].stat().st_size} bytes")
