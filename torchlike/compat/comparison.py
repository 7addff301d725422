"""``torchlike compare``: one script under real torch and under torchlike, side by side."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


@dataclass
class Outcome:
    """What a run printed and cost."""

    name: str
    lines: list[str]
    errors: str
    status: int
    first_output: float
    total: float
    peak_mb: float


def _run(name: str, command: list[str]) -> Outcome:
    started = time.perf_counter()
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None and process.stderr is not None
    lines, first = [], 0.0
    for line in process.stdout:
        first = first or time.perf_counter() - started
        lines.append(line.rstrip("\n"))
    errors = process.stderr.read()
    status = process.wait()
    peak = max(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, before)
    return Outcome(name, lines, errors, status, first, time.perf_counter() - started, peak / 1024)


def closeness(a: str, b: str) -> float | None:
    """The largest relative difference of the numbers in two lines; None when more than the numbers differs."""
    if _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
        return None
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    return max((abs(float(x) - float(y)) / max(abs(float(x)), abs(float(y)), 1e-30) for x, y in pairs), default=0.0)


def compare(script: str, args: list[str]) -> int:
    """Run, print what differs; 0 when both ended well and every line is equal or differs in numbers by less than 1 %."""
    if importlib.util.find_spec("torch") is None:
        print("torchlike compare: real torch is not installed here (pip install torch)", file=sys.stderr)
        return 2
    runs = [_run("torch", [sys.executable, script, *args]), _run("torchlike", [sys.executable, "-m", "torchlike", "run", script, *args])]
    theirs, mine = runs
    agree = theirs.status == mine.status == 0
    equal = 0
    for op, i1, i2, j1, j2 in difflib.SequenceMatcher(a=theirs.lines, b=mine.lines, autojunk=False).get_opcodes():
        if op == "equal":
            equal += i2 - i1
            continue
        for k in range(max(i2 - i1, j2 - j1)):
            a = theirs.lines[i1 + k] if i1 + k < i2 else ""
            b = mine.lines[j1 + k] if j1 + k < j2 else ""
            near = closeness(a, b)
            agree &= near is not None and near < 0.01
            print(f"  torch      {a}\n  torchlike  {b}" + (f"\n             numbers differ by {near:.1e}" if near is not None else ""))
    print(f"{equal} of {max(len(theirs.lines), len(mine.lines))} lines are equal")
    print(f"{'':<12}{'status':>7}{'first output':>14}{'total':>9}{'peak memory':>13}")
    for r in runs:
        print(f"{r.name:<12}{r.status:>7}{r.first_output:>12.2f} s{r.total:>7.2f} s{r.peak_mb:>10.0f} MB")
    for r in runs:
        if r.status:
            print(f"--- {r.name}'s errors\n{r.errors.strip()[-2000:]}")
    return 0 if agree else 1
