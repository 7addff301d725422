"""Counters of what the engine did, and the log that explains compilations (``TORCHLIKE_LOG=compile``)."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_PACKAGE = str(Path(__file__).resolve().parent.parent)

log = logging.getLogger("torchlike.compile")


@dataclass
class Stats:
    """Totals since the start or the last ``reset_stats``."""

    recorded: int = 0
    misses: int = 0
    inferences: int = 0
    flushes: int = 0
    compilations: int = 0
    compile_seconds: float = 0.0
    traces: list[dict[str, Any]] = field(default_factory=list)


counters = Stats()


def stats() -> dict[str, Any]:
    """What the engine did so far.

    ``recorded`` operators, ``misses`` (steps never taken before), ``inferences`` (shape rules run), ``flushes``,
    ``compilations``, ``compile_seconds``, and ``traces``: for each compiled program its number of operators, the user's
    line at which it ended, its seconds, and how often it ran.
    """
    return asdict(counters)


def reset_stats() -> None:
    """Set every counter to zero (what is compiled stays)."""
    counters.__dict__.update(Stats().__dict__)


def user_line() -> str:
    """``file:line`` of the innermost frame outside torchlike."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_PACKAGE, "<torchlike")):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "<unknown>"


def configure_log() -> None:
    """Print the compile log to stderr when ``TORCHLIKE_LOG`` names it."""
    if "compile" in os.environ.get("TORCHLIKE_LOG", "").split(","):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("[torchlike] %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)


configure_log()
