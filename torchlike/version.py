"""``torch.version``: what this build of "torch" is, and torchlike's own version.

``__version__`` is the release of PyTorch whose API is offered, with the local part ``+torchlike`` where PyTorch's own
wheels say ``+cpu`` or ``+cu130``, so that every parser of torch's versions reads it.
"""

from __future__ import annotations

import functools
import importlib.metadata
from typing import Any

torchlike_version = "0.1.0"
vision_version = "0.28.0+torchlike"

__version__ = "2.13.0+torchlike"
debug = False
git_version = f"torchlike-{torchlike_version}"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]  # noqa: F822  cuda comes from __getattr__


@functools.cache
def _cuda() -> str | None:
    """The CUDA release that JAX's plugin brings ("12.9"); None without the plugin. Initialises nothing."""
    for distribution in ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-cu13"):
        for plugin in ("jax-cuda12-plugin", "jax-cuda13-plugin"):
            try:
                importlib.metadata.version(plugin)
                return ".".join(importlib.metadata.version(distribution).split(".")[:2])
            except importlib.metadata.PackageNotFoundError:
                continue
    return None


def __getattr__(name: str) -> Any:
    if name == "cuda":
        return _cuda()
    raise AttributeError(f"module 'torch.version' has no attribute '{name}'")
