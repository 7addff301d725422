"""The alias in processes that a running program starts through ``multiprocessing``.

A forked child has it from its parent. A spawned one starts a fresh interpreter, reads the parent's "preparation data" and
only then imports the program: an object put among that data installs the alias while it is unpickled. The fork server forks
children that read the same data; it must not import the program itself before that.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from torchlike.compat import alias, cache, tracebacks

__all__ = ["arrive", "inherit_alias"]


_PARENT_FOLDER = str(Path(__file__).resolve().parents[2])
# Run before the child knows its parent's sys.path; torchlike may be found only there.
_ON_ARRIVAL = f"""
import sys
sys.path.append({_PARENT_FOLDER!r})
from torchlike.compat import children
children.arrive()
"""


class _InstallOnArrival:
    """Installs the alias in the process that unpickles it."""

    def __reduce__(self) -> Any:
        return (exec, (_ON_ARRIVAL,))


def arrive() -> None:
    """What ``run`` sets up, in a child."""
    alias.install()
    cache.keep_programs()
    inherit_alias()
    tracebacks.hide_frames()


_prepared_by_python = spawn.get_preparation_data


def _preparation_data(name: str) -> dict[str, Any]:
    return {"torchlike": _InstallOnArrival(), **_prepared_by_python(name)}


def inherit_alias() -> None:
    """Give the alias to children that this process will start."""
    spawn.get_preparation_data = _preparation_data
    # Python 3.14's default way to start; without this it would import the program in a server that has no alias.
    multiprocessing.set_forkserver_preload(["torchlike"])
