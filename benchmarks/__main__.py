"""``python -m benchmarks``: every workload with every contender, alternating, medians and ratios as a table, JSON and plot."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.harness import measure, table
from benchmarks.workloads import WORKLOADS


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("workloads", nargs="*", help=f"which of: {', '.join(WORKLOADS)} (default: all)")
    parser.add_argument("--contenders", default="torchlike,torch,jax")
    parser.add_argument("--rounds", type=int, default=15, help="how often the contenders take turns")
    parser.add_argument("--seconds", type=float, default=0.3, help="how long each turn lasts")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--plot", type=Path, help="write a plot of the ratios to this file (needs matplotlib)")
    args = parser.parse_args()
    results = {}
    for name in args.workloads or WORKLOADS:
        results[name] = measure(name, args.contenders.split(","), args.rounds, args.seconds)
        print(table({name: results[name]}, header=len(results) == 1), flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    if args.plot:
        from benchmarks.plot import plot

        plot(results, args.plot)


if __name__ == "__main__":
    main()
