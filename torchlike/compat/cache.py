"""Where compiled programs are kept between runs, and switching that on for a process that is ours."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
import time
from pathlib import Path

import jax
import jaxlib

__all__ = ["cache_folder", "keep_programs", "make_room"]

# As environment variables too, for the processes that the program starts. Small programs pay as well: they are many, and
# XLA needs 10 to 100 ms for the least of them.
_SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
# JAX never removes anything by itself.
_LIMIT = 4 * 2**30


def user_cache() -> Path:
    """The folder where this system keeps caches of the user's programs."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _machine() -> str:
    """A name for what compiled code depends on: jaxlib and the processor's features.

    Home folders are shared between machines, and code compiled for one processor may not run on another.
    """
    features = platform.processor()
    if sys.platform == "linux":
        try:
            with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
                features = next((line for line in file if line.startswith(("flags", "Features"))), features)
        except OSError:
            pass
    digest = hashlib.sha256(features.encode()).hexdigest()[:8]
    return f"jaxlib-{jaxlib.__version__}-{platform.machine()}-{digest}"


def cache_folder() -> Path | None:
    """The folder for compiled programs: below TORCHLIKE_CACHE_DIR, or the user's cache folder; None when that is set to ""."""
    chosen = os.environ.get("TORCHLIKE_CACHE_DIR")
    if chosen == "":
        return None
    return (Path(chosen) if chosen else user_cache() / "torchlike") / "programs" / _machine()


def make_room(folder: Path, limit: int = _LIMIT) -> None:
    """Remove the programs that were not used for longest until at most three quarters of ``limit`` bytes are in use.

    Looks at most once a day, and does nothing below the limit.
    """
    stamp = folder / "last-look"
    if stamp.exists() and time.time() - stamp.stat().st_mtime < 24 * 3600:
        return
    stamp.touch()
    files = sorted(((entry.stat(), entry.path) for entry in os.scandir(folder) if entry.is_file()), key=lambda file: file[0].st_atime)
    used = sum(status.st_size for status, _ in files)
    if used <= limit:
        return
    for status, path in files:
        if used <= limit * 3 // 4:
            break
        with contextlib.suppress(OSError):  # another process was faster
            os.remove(path)
            used -= status.st_size


def keep_programs() -> Path | None:
    """Have JAX keep compiled programs on disk, unless the user configured a cache in JAX; returns the folder in use."""
    configured = jax.config.jax_compilation_cache_dir
    if configured is not None:
        return Path(configured)
    folder = cache_folder()
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        make_room(folder)
    except OSError:  # a read-only home: run without
        return None
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    for name, value in _SETTINGS.items():
        if name.upper() not in os.environ:
            os.environ[name.upper()] = str(value)
            jax.config.update(name, value)
    return folder
