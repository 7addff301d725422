"""What each torch operator computes: pure functions on jax arrays, one declaration each."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

# The rooms, by family. An operator is found by its declaration in one of them.
FAMILIES = (
    "elementwise", "comparison", "bitwise", "complex", "special", "reduction", "activation", "joining", "indexing",
    "indexing_ops", "sorting", "matmul", "linalg", "fft", "signal", "convolution", "pooling", "normalization", "loss",
    "attention", "vision", "recurrent", "embedding", "optimizers", "creation",
)  # fmt: skip


def modules() -> list[ModuleType]:
    """The modules that declare operators."""
    return [importlib.import_module(f"torchlike.ops.{n}") for n in FAMILIES if importlib.util.find_spec(f"torchlike.ops.{n}")]
