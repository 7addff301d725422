"""``torch.version``: what torchlike says it is."""

from __future__ import annotations

import importlib.metadata
import re
from typing import Any


class TorchVersion(str):
    """A version that compares as versions do, also with strings and tuples."""

    __slots__ = ()

    @staticmethod
    def _key(v: Any) -> tuple[int, ...]:
        if isinstance(v, (tuple, list)):
            return tuple(int(n) for n in v)
        public = str(v).partition("+")[0]
        return tuple(int(n) for n in re.findall(r"\d+", re.split(r"[a-zA-Z]", public)[0]))

    def _pair(self, other: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        a, b = self._key(self), self._key(other)
        n = max(len(a), len(b))
        return a + (0,) * (n - len(a)), b + (0,) * (n - len(b))

    def __lt__(self, other: Any) -> bool:
        a, b = self._pair(other)
        return a < b

    def __le__(self, other: Any) -> bool:
        a, b = self._pair(other)
        return a <= b

    def __gt__(self, other: Any) -> bool:
        a, b = self._pair(other)
        return a > b

    def __ge__(self, other: Any) -> bool:
        a, b = self._pair(other)
        return a >= b

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and not isinstance(other, TorchVersion):
            return str.__eq__(self, other) or self._pair(other)[0] == self._pair(other)[1] and "+" not in other
        a, b = self._pair(other)
        return a == b

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion("2.13.0+torchlike")
vision_version = TorchVersion("0.28.0+torchlike")
debug = False
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
git_version = "torchlike"


def package_version() -> str:
    """The version of the torchlike package."""
    try:
        return importlib.metadata.version("torchlike")
    except importlib.metadata.PackageNotFoundError:
        return "0.1.0 (not installed)"
