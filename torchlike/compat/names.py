"""What names real torch has, read from ``known_names.txt`` when first asked: gaps need it, a running script hardly does."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable
from pathlib import Path

__all__ = ["CLASS", "EXCEPTION", "FUNCTION", "MODULE", "VALUE", "has_module", "has_submodules", "kind_of", "members", "modules", "nearest"]

CLASS, EXCEPTION, FUNCTION, MODULE, VALUE = "c", "e", "f", "m", "v"


@functools.cache
def _lines() -> dict[str, str]:
    """What each module's line says; a line is taken apart when its module is asked for."""
    text = Path(__file__).with_name("known_names.txt").read_text(encoding="utf-8")
    return {module: groups for module, _, groups in (line.partition("\t") for line in text.splitlines())}


@functools.cache
def _packages() -> frozenset[str]:
    return frozenset(module.rpartition(".")[0] for module in _lines())


@functools.cache
def members(module: str) -> dict[str, str]:
    """The names in a torch module, each with its kind; empty for a module that torch does not have."""
    groups = _lines().get(module, "").split("\t")
    return {name: group[0] for group in groups for name in group[2:].split()}


def kind_of(module: str, name: str) -> str | None:
    """The kind of ``module.name`` in torch; None when torch has no such name."""
    return members(module).get(name)


def has_module(module: str) -> bool:
    """Whether torch has the module."""
    return module in _lines()


def has_submodules(module: str) -> bool:
    """Whether torch has modules inside the module."""
    return module in _packages()


def modules() -> list[str]:
    """Every module in the table."""
    return list(_lines())


def nearest(name: str, existing: Iterable[str], count: int = 3) -> list[str]:
    """The names that are spelled most like ``name``."""
    return difflib.get_close_matches(name, [n for n in existing if not n.startswith("_")], n=count, cutoff=0.75)
