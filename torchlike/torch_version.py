"""``TorchVersion``: a version string that compares as versions do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchlike.version import __version__ as _release

__all__ = ["TorchVersion"]


def _parsed(version: Any) -> Any:
    """A ``packaging`` version of a string, a tuple of numbers or a version; None of anything else.

    Raises:
        InvalidVersion: the string or tuple is no version.
    """
    from packaging.version import Version

    if isinstance(version, Version):
        return version
    if isinstance(version, str):
        return Version(version)
    if isinstance(version, Iterable):
        return Version(".".join(str(part) for part in version))
    return None


class TorchVersion(str):
    """A string such as "2.13.0+torchlike" that compares with strings, tuples and versions as versions compare.

    As in torch: ``TorchVersion("1.10.0") > "1.2"``, ``> (1, 2)``; what is no version is compared as a string, which lets
    ``torch.__version__ == "parrot"`` be False rather than an error.
    """

    __slots__ = ()

    def _compare(self, other: Any, method: str) -> Any:
        from packaging.version import InvalidVersion

        try:
            parsed = _parsed(other)
            return NotImplemented if parsed is None else getattr(_parsed(str(self)), method)(parsed)
        except InvalidVersion:
            return getattr(str(self), method)(other)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "__eq__")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, "__ne__")

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "__le__")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "__ge__")

    __hash__ = str.__hash__


__version__ = TorchVersion(_release)
