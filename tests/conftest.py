"""What all tests share: a persistent compilation cache, so that programs compiled by one worker serve the others."""

import os
import tempfile
from pathlib import Path

import pytest

_cache = Path(os.environ.get("TORCHLIKE_TEST_CACHE", Path(tempfile.gettempdir()) / "torchlike-test-cache"))
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_cache))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture
def stats():
    """The engine's counters, from zero."""
    from torchlike import engine

    engine.flush()
    engine.reset_stats()
    return engine.stats
