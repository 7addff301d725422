"""What real torch has: its modules and their names, read from ``known_names.txt`` (written by ``make_tables.py``)."""

from __future__ import annotations

import functools
from pathlib import Path

FILE = Path(__file__).with_name("known_names.txt")
_KINDS = {"c": "class", "e": "class", "f": "function", "m": "module", "v": "value"}


@functools.cache
def _lines() -> dict[str, str]:
    """The line of each module; split only when the module is asked for."""
    lines = {}
    for line in FILE.read_text().splitlines():
        module, _, rest = line.partition("\t")
        lines[module.rstrip("*")] = rest
    return lines


@functools.cache
def names_of(module: str) -> dict[str, str]:
    """The public names of a torch module and their kinds ("class", "function", "value", "module")."""
    names = {}
    for group in filter(None, _lines().get(module, "").split("\t")):
        kind, _, rest = group.partition(":")
        names.update(dict.fromkeys(rest.split(), _KINDS[kind]))
    return names


def kind_of(module: str, name: str) -> str | None:
    """What ``module.name`` is in torch; None when torch has no such name."""
    return names_of(module).get(name)


def has_module(module: str) -> bool:
    """Whether torch has a module of that name."""
    return module in _lines()
