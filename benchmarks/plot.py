"""The ratios of a benchmark run as a bar chart."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def plot(results: dict[str, dict[str, dict[str, Any]]], path: Path) -> None:
    """Draw torchlike's step time divided by the others'; below 1 torchlike is faster."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    others = [c for c in ("torch", "jax") if any(c in r for r in results.values())]
    figure, axes = plt.subplots(figsize=(8, 0.6 * len(results) + 1.5))
    for i, c in enumerate(others):
        ratios = [r["torchlike"]["step_ms"] / r[c]["step_ms"] if "step_ms" in r.get(c, {}) else 0 for r in results.values()]
        axes.barh([y + 0.38 * i for y in range(len(results))], ratios, height=0.36, label=f"to {c}")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(results)), list(results))
    axes.set_xlabel("torchlike's step time / the other's (below 1: torchlike is faster)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
