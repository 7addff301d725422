"""One contender in a process of its own: answers ``start``, ``run SECONDS`` and ``end`` with a line of JSON each."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

from benchmarks.workloads import WORKLOADS


def main() -> None:
    """Serve the harness."""
    workload, contender = sys.argv[1:3]
    answers, sys.stdout = sys.stdout, sys.stderr
    step: Callable[[], object] | None = None
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "start":
            started = time.perf_counter()
            try:
                step = WORKLOADS[workload](contender)
                built = time.perf_counter()
                step()
                reply = {"seconds": time.perf_counter() - built, "build_seconds": built - started}
                for _ in range(3):
                    step()
            except ImportError as error:
                reply = {"error": f"not run: {error}"}
        elif command == "run":
            assert step is not None
            times = []
            end = time.perf_counter() + float(rest[0])
            while time.perf_counter() < end or len(times) < 3:
                before = time.perf_counter()
                step()
                times.append(time.perf_counter() - before)
            times.sort()
            reply = {"step": times[len(times) // 2], "steps": len(times)}
        else:
            reply = {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
