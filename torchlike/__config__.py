"""``torch.__config__``: what this "torch" is built with."""

from __future__ import annotations

import os

import jaxlib
import numpy as np

from torchlike.backends import cpu, cuda
from torchlike.version import __version__, torchlike_version

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The parts, one a line, with the build settings that programs search for at the end."""
    settings = {"TORCH_VERSION": __version__.partition("+")[0], "USE_CUDA": int(cuda.is_built()), "USE_MKL": "OFF", "USE_MKLDNN": "OFF",
                "USE_OPENMP": "OFF", "USE_DISTRIBUTED": "OFF"}  # fmt: skip
    lines = [f"torchlike {torchlike_version}", f"jaxlib {jaxlib.__version__}", f"NumPy {np.__version__}", f"CPU capability usage: {cpu.get_cpu_capability()}",
             f"Build settings: {', '.join(f'{name}={value}' for name, value in settings.items())}"]  # fmt: skip
    return "PyTorch's API built on:\n" + "".join(f"  - {line}\n" for line in lines)


def parallel_info() -> str:
    """How many threads there are to compute with."""
    return f"XLA's thread pool: {os.cpu_count()} threads\n"
