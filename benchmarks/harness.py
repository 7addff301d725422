"""The harness: one process a contender, taking turns, so that neither warms the other's caches nor fights for its threads."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from typing import Any

THREADS = 2


def measure(workload: str, contenders: list[str], rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """For each contender: median step (ms), time to first step (s), peak memory (MB), number of steps."""
    running: dict[str, subprocess.Popen[str]] = {}
    results: dict[str, dict[str, Any]] = {}
    try:
        for c in contenders:
            running[c] = _start(workload, c)
            first = _ask(running[c], "start")
            if "error" in first:
                results[c] = first
                running.pop(c).kill()
            else:
                results[c] = {"first_step_s": first["seconds"], "turns": []}
        for _ in range(rounds):
            for c, process in running.items():
                results[c]["turns"].append(_ask(process, f"run {seconds}")["step"])
        for c, process in running.items():
            turns = results[c].pop("turns")
            results[c]["step_ms"] = statistics.median(turns) * 1e3
            results[c]["quartiles_ms"] = [q * 1e3 for q in statistics.quantiles(turns, n=4)] if len(turns) > 1 else []
            results[c].update(_ask(process, "end"))
    finally:
        for process in running.values():
            process.kill()
    return results


def _start(workload: str, contender: str) -> subprocess.Popen[str]:
    env = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.worker", workload, contender],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip


def _ask(process: subprocess.Popen[str], command: str) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(command + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    return json.loads(answer) if answer else {"error": f"the process ended ({process.wait()})"}


def table(results: dict[str, dict[str, dict[str, Any]]], header: bool = True) -> str:
    """The figures as text: milliseconds, and torchlike's ratio to the others."""
    lines = []
    if header:
        lines.append(f"{'workload':<22}{'contender':<12}{'step ms':>10}{'ratio':>8}{'first s':>9}{'peak MB':>9}")
    for name, by_contender in results.items():
        own = by_contender.get("torchlike", {}).get("step_ms")
        for c, r in by_contender.items():
            if "error" in r:
                lines.append(f"{name:<22}{c:<12}  {r['error']}")
                continue
            ratio = f"{own / r['step_ms']:.2f}" if own and c != "torchlike" else ""
            lines.append(f"{name:<22}{c:<12}{r['step_ms']:>10.3f}{ratio:>8}{r['first_step_s']:>9.2f}{r['peak_mb']:>9.0f}")
    return "\n".join(lines)
