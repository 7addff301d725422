"""``torchlike compare``: one program under real torch and under torchlike, with the lines of output that differ."""

from __future__ import annotations

import difflib
import importlib.util
import math
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

__all__ = ["compare"]

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])|\bnan\b|[-+]?\binf\b")


@dataclass
class Run:
    """What a program did."""

    status: int = 0
    first_output: float | None = None
    seconds: float = 0.0
    peak_bytes: int | None = None
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _run(command: Sequence[str]) -> Run:
    """Run a command and watch it."""
    run = Run()
    started = time.perf_counter()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace",
                               env=environment)  # fmt: skip

    def read(stream: IO[str], lines: list[str]) -> None:
        for line in stream:
            if run.first_output is None and lines is run.lines:
                run.first_output = time.perf_counter() - started
            lines.append(line.rstrip("\n"))

    readers = [threading.Thread(target=read, args=pair) for pair in ((process.stdout, run.lines), (process.stderr, run.errors))]
    for reader in readers:
        reader.start()
    if hasattr(os, "wait4"):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = run.status = os.waitstatus_to_exitcode(status)
        run.peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    else:
        run.status = process.wait()
    run.seconds = time.perf_counter() - started
    for reader in readers:
        reader.join()
    return run


def numbers(line: str) -> list[float]:
    """The numbers in a line of output."""
    return [float(n) for n in _NUMBER.findall(line)]


def _words(line: str) -> str:
    """A line without its numbers: what must be equal for two lines to be about the same thing."""
    return re.sub(r"\s+", " ", _NUMBER.sub("#", line))


def difference(a: str, b: str) -> float:
    """The largest relative difference between the numbers of two lines with the same words."""
    worst = 0.0
    for x, y in zip(numbers(a), numbers(b), strict=True):
        if x == y or (math.isnan(x) and math.isnan(y)):
            continue
        size = max(abs(x), abs(y))
        worst = max(worst, abs(x - y) / size if math.isfinite(x - y) else math.inf)
    return worst


def pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Which line of the left answers which of the right; None where there is none."""
    matcher = difflib.SequenceMatcher(None, [_words(s) for s in left], [_words(s) for s in right], autojunk=False)
    for tag, i0, i1, j0, j1 in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(range(i0, i1), range(j0, j1), strict=True)
        else:
            yield from ((i, None) for i in range(i0, i1))
            yield from ((None, j) for j in range(j0, j1))


def _row(label: str, a: Any, b: Any) -> str:
    return f"{label:<16}{a!s:>14}{b!s:>14}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"


def _memory(value: int | None) -> str:
    return "-" if value is None else f"{value / 2**20:.0f} MiB"


def _show_output(torch: Run, own: Run) -> tuple[int, int]:
    """Print the lines that differ; returns how many differ in numbers only, and how many in words."""
    in_numbers = in_words = 0
    worst = 0.0
    for i, j in pairs(torch.lines, own.lines):
        if i is not None and j is not None:
            if torch.lines[i] == own.lines[j]:
                continue
            far = difference(torch.lines[i], own.lines[j])
            worst = max(worst, far)
            in_numbers += 1
            print(f"line {i + 1:<5} torch      {torch.lines[i]}")
            print(f"           torchlike  {own.lines[j]}    (relative difference {far:.1e})")
        else:
            in_words += 1
            print(f"line {i + 1:<5} torch only {torch.lines[i]}" if i is not None else f"line {(j or 0) + 1:<5} torchlike only {own.lines[j or 0]}")
    same = len(torch.lines) - in_numbers - sum(i is not None and j is None for i, j in pairs(torch.lines, own.lines))
    largest = f" (largest relative difference {worst:.1e})" if in_numbers else ""
    print(f"{len(torch.lines)} lines of output: {same} the same, {in_numbers} differ in numbers{largest}, {in_words} in words\n")
    return in_numbers, in_words


def compare(program: Sequence[str]) -> int:
    """Run a program on both and print the comparison.

    Args:
        program: A script and its arguments, or "-m", a module and its arguments.

    Returns:
        0 when both left with the same status and their lines of output differ in numbers at most; 1 otherwise; 2 when
        real torch is not installed.
    """
    if importlib.util.find_spec("torch") is None:
        print("torchlike compare needs PyTorch itself in this environment: pip install torch", file=sys.stderr)
        return 2
    print(f"running {' '.join(program)} on torch ...", flush=True)
    torch = _run([sys.executable, *program])
    print("running it on torchlike ...\n", flush=True)
    own = _run([sys.executable, "-m", "torchlike", "run", *program])
    _, in_words = _show_output(torch, own)
    print(_row("", "torch", "torchlike"))
    print(_row("exit status", torch.status, own.status))
    print(_row("first output", _seconds(torch.first_output), _seconds(own.first_output)))
    print(_row("total time", _seconds(torch.seconds), _seconds(own.seconds)))
    print(_row("peak memory", _memory(torch.peak_bytes), _memory(own.peak_bytes)))
    for name, run in (("torch", torch), ("torchlike", own)):
        if run.status != 0:
            print(f"\n{name} ended with status {run.status}:", *run.errors[-20:], sep="\n  ")
    return 0 if torch.status == own.status and in_words == 0 else 1
