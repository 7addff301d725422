"""Running small programs in processes of their own, as the tests of this folder need."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(*arguments, cwd=None, **environment):
    """Run the interpreter; the finished process, with its output as text."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PYTHONPATH": path, **environment})  # fmt: skip


def check(source, **environment):
    """Run a program that must succeed; what it printed."""
    done = python("-c", source, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
