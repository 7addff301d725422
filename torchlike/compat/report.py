"""``torchlike gaps``: the porting report, which names of torch a script uses and torchlike lacks, found without running it.

What it can see are dotted names that begin with an imported module (``F.relu``, ``torch.optim.Adam``, ``from torch.nn import
Linear``). Methods of tensors cannot be seen: nothing in the text says what is a tensor.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType

from torchlike.compat.finder import ALIASED, watch
from torchlike.compat.gaps import GapModule, explain, is_gap, ours

__all__ = ["missing_names", "show"]


class _Uses(ast.NodeVisitor):
    """Collects the torch names that a module uses, with the lines where it does."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}  # a name in the script -> the dotted name it stands for
        self.lines: dict[str, int] = {}

    def _use(self, name: str, line: int) -> None:
        self.lines.setdefault(name, line)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] in ALIASED:
                self._use(alias.name, node.lineno)
                self.bound[alias.asname or alias.name.partition(".")[0]] = alias.name if alias.asname else alias.name.partition(".")[0]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0 and node.module and node.module.partition(".")[0] in ALIASED:
            for alias in node.names:
                if alias.name == "*":
                    self._use(node.module, node.lineno)
                    continue
                self._use(f"{node.module}.{alias.name}", node.lineno)
                self.bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.bound:
            self._use(".".join([self.bound[inner.id], *reversed(parts)]), node.lineno)
        else:
            self.generic_visit(node)


def _first_gap(name: str) -> str | None:
    """The shortest beginning of a dotted name that torchlike lacks; None when all of it is there."""
    parts = name.split(".")
    found: object = importlib.import_module(ours(parts[0]))
    for count in range(2, len(parts) + 1):
        here = ".".join(parts[:count])
        inner = getattr(found, parts[count - 1], None)
        if inner is None and isinstance(found, ModuleType):
            try:
                inner = importlib.import_module(ours(here))
            except ImportError:
                return here
        if inner is None or (is_gap(inner) and (count == len(parts) or not isinstance(inner, GapModule))):
            return here
        if not isinstance(inner, (ModuleType, type)):
            return None  # an object: its attributes are not torch's names
        found = inner
    return None


def missing_names(source: str) -> list[tuple[str, int]]:
    """The names that the source uses and torchlike lacks, with the line of their first use."""
    watch()
    uses = _Uses()
    uses.visit(ast.parse(source))
    found: dict[str, int] = {}
    for name, line in uses.lines.items():
        gap = _first_gap(name)
        if gap is not None:
            found.setdefault(gap, line)
    return sorted(found.items(), key=lambda item: item[1])


def show(path: str) -> int:
    """Print the report for a script; returns 1 when something is missing."""
    try:
        found = missing_names(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError) as error:
        print(f"torchlike gaps: {error}", file=sys.stderr)
        return 2
    for name, line in found:
        print(f"{path}:{line}: {explain(name)}")
    print(f"{len(found)} name(s) missing" if found else f"{path}: every name of torch that can be seen in it is there")
    return 1 if found else 0
