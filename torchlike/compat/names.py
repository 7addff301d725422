"""What names real torch has, read from ``known_names.txt`` when first asked: gaps need it, a running script does not.

A module is one line of the file; lines are found by searching the text, so a look-up costs no parsing of the rest.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable
from pathlib import Path

__all__ = ["CLASS", "EXCEPTION", "FUNCTION", "MODULE", "VALUE", "has_module", "kind_of", "members", "modules", "nearest"]

CLASS, EXCEPTION, FUNCTION, MODULE, VALUE = "c", "e", "f", "m", "v"


@functools.cache
def _table() -> str:
    return "\n" + Path(__file__).with_name("known_names.txt").read_text(encoding="utf-8")


@functools.cache
def members(module: str) -> dict[str, str]:
    """The names in a torch module, each with its kind; empty for a module that torch does not have."""
    text = _table()
    start = text.find(f"\n{module}\t")
    if start < 0:
        return {}
    groups = text[start + 1 : text.index("\n", start + 1)].split("\t")[1:]
    return {name: group[0] for group in groups for name in group[2:].split()}


def kind_of(module: str, name: str) -> str | None:
    """The kind of ``module.name`` in torch; None when torch has no such name."""
    return members(module).get(name)


@functools.cache
def has_module(module: str) -> bool:
    """Whether torch has the module."""
    text = _table()
    return f"\n{module}\t" in text or f"\n{module}\n" in text


@functools.cache
def has_submodules(module: str) -> bool:
    """Whether torch has modules inside the module."""
    return f"\n{module}." in _table()


def modules() -> list[str]:
    """Every module in the table."""
    return [line.partition("\t")[0] for line in _table().splitlines() if line]


def nearest(name: str, existing: Iterable[str], count: int = 3) -> list[str]:
    """The names that are spelled most like ``name``."""
    return difflib.get_close_matches(name, [n for n in existing if not n.startswith("_")], n=count, cutoff=0.75)
