"""``torchlike info``: versions, devices, and where compiled programs are kept."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

import jax

from torchlike.compat import cache
from torchlike.version import __version__, torchlike_version

__all__ = ["show"]

_PACKAGES = ("jax", "jaxlib", "numpy", "flax", "optax", "jax-cuda12-plugin", "jax-cuda13-plugin", "jax-triton", "torch")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _size(folder: Path) -> str:
    files = [f for f in folder.rglob("*") if f.is_file()] if folder.is_dir() else []
    return f"{len(files)} files, {sum(f.stat().st_size for f in files) / 2**20:.1f} MiB"


def rows() -> list[tuple[str, str]]:
    """What is shown, as (subject, text). Asks JAX for its devices, and so initialises its backends."""
    folder = cache.keep_programs()
    found = [("torchlike", f"{torchlike_version}, the API of torch {__version__.partition('+')[0]}"),
             ("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")]  # fmt: skip
    found += [(package, _version(package)) for package in _PACKAGES]
    for device in jax.devices():
        found.append(("device", f"{device} ({device.device_kind})"))
    if jax.default_backend() != "cpu":
        found.append(("device", str(jax.devices("cpu")[0])))
    found.append(("cache", f"{folder} ({_size(folder)})" if folder else "off"))
    return found


def show() -> None:
    """Print it."""
    for subject, text in rows():
        print(f"{subject:<18} {text}")
