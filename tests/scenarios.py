"""Scenarios: short programs that are run on torch and on torchlike, and must give the same answers.

A scenario is a function of the library. Its answer (tensors, numbers, strings, exceptions' classes) is compared with that of
real torch where it is installed, else with the recorded one in ``golden/NAME.json`` (``python -m tests.golden.record``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"
try:
    import torch
except ImportError:
    torch = None


def plain(x: Any) -> Any:
    """An answer as JSON data."""
    if type(x).__name__ in ("Tensor", "Parameter"):
        return {"shape": list(x.shape), "dtype": str(x.dtype), "numbers": plain(x.detach().tolist()), "requires_grad": x.requires_grad}
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, float) and not math.isfinite(x):
        return repr(x)
    if isinstance(x, complex):
        return [plain(x.real), plain(x.imag)]
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    return str(x)


def error_of(f: Callable[[], Any]) -> str:
    """The class of the exception that ``f`` raises; "no error" when it raises none."""
    try:
        f()
    except Exception as error:
        return type(error).__name__
    return "no error"


def same(mine: Any, theirs: Any, tolerance: float, where: str = "answer") -> None:
    """Assert that two plain answers agree: numbers within the tolerance, the rest exactly."""
    if isinstance(theirs, dict):
        assert isinstance(mine, dict) and mine.keys() == theirs.keys(), f"{where}: {mine} instead of {theirs}"
        for k in theirs:
            same(mine[k], theirs[k], tolerance, f"{where}.{k}")
    elif isinstance(theirs, list):
        assert isinstance(mine, list) and len(mine) == len(theirs), f"{where}: {mine} instead of {theirs}"
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            same(a, b, tolerance, f"{where}[{i}]")
    elif isinstance(theirs, float) and isinstance(mine, (int, float)) and not isinstance(mine, bool):
        assert math.isclose(mine, theirs, rel_tol=tolerance, abs_tol=tolerance), f"{where}: {mine} instead of {theirs}"
    else:
        assert mine == theirs and type(mine) is type(theirs), f"{where}: {mine!r} instead of {theirs!r}"


class Scenarios:
    """The scenarios of one test file."""

    def __init__(self, name: str, tolerance: float = 1e-5) -> None:
        self.name, self.tolerance = name, tolerance
        self.all: dict[str, Callable[[Any], Any]] = {}

    def __call__(self, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Decorator: add a scenario."""
        assert f.__name__ not in self.all, f"{f.__name__} is there twice"
        self.all[f.__name__] = f
        return f

    def record(self) -> None:
        """Write torch's answers to the golden file."""
        answers = {name: plain(f(torch)) for name, f in self.all.items()}
        (GOLDEN / f"{self.name}.json").write_text(json.dumps(answers, indent=0) + "\n")

    def test(self) -> Callable[[str], None]:
        """The parametrized test function."""

        @pytest.mark.parametrize("name", list(self.all))
        def check(name: str) -> None:
            import torchlike

            f = self.all[name]
            expected = plain(f(torch)) if torch is not None else json.loads((GOLDEN / f"{self.name}.json").read_text())[name]
            same(plain(f(torchlike)), json.loads(json.dumps(expected)), self.tolerance)

        return check
