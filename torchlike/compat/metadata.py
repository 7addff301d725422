"""``importlib.metadata`` under the alias: torch and torchvision are "installed", with no files on disk."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, DistributionFinder
from os import PathLike
from pathlib import Path
from typing import Any

from torchlike.torch_version import __version__
from torchlike.version import vision_version

__all__ = ["MetadataFinder"]


class AliasDistribution(Distribution):
    """The metadata of a package that torchlike stands for."""

    def __init__(self, name: str, version: str, summary: str) -> None:
        self._files = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\n",
            "top_level.txt": f"{name}\n",
            "INSTALLER": "torchlike\n",
        }

    def read_text(self, filename: str | PathLike[str]) -> str | None:
        """The text of one metadata file; None when there is no such file."""
        return self._files.get(str(filename))

    def locate_file(self, path: str | PathLike[str]) -> Any:
        """Where a file of the package would be; none is listed."""
        return Path(__file__).parent / path


class MetadataFinder(DistributionFinder):
    """Stands in ``sys.meta_path`` for its ``find_distributions``; it finds no modules."""

    _packages = (
        AliasDistribution("torch", str(__version__), "PyTorch's API on JAX, by torchlike"),
        AliasDistribution("torchvision", vision_version, "torchvision's API on JAX, by torchlike"),
    )

    def find_spec(self, *args: Any) -> None:
        """Nothing: modules are the alias finder's business."""

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        """The stand-ins that the context asks for; all of them when it names none."""
        wanted = getattr(context, "name", None)
        for package in self._packages:
            if sys.modules.get(package.metadata["Name"], package) is None:  # torchlike has no part that stands for it
                continue
            if wanted is None or re.sub(r"[-_.]+", "-", wanted).lower() == package.metadata["Name"]:
                yield package


def install() -> None:
    """Answer for torch and torchvision from now on, before any other finder."""
    sys.meta_path.insert(0, MetadataFinder())


def uninstall() -> None:
    """Stop answering."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, MetadataFinder)]
