"""``torch.backends.cpu``: the processor."""

from __future__ import annotations

import functools
import platform

__all__ = ["get_cpu_capability"]


@functools.cache
def get_cpu_capability() -> str:
    """The widest vector unit that XLA can use here, in torch's words: "DEFAULT", "NO AVX", "AVX2", "AVX512", "VSX", "Z VECTOR"."""
    machine = platform.machine().lower()
    if machine in ("ppc64le", "s390x"):
        return "VSX" if machine == "ppc64le" else "Z VECTOR"
    if machine not in ("x86_64", "amd64"):
        return "DEFAULT"
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            features = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        return "DEFAULT"
    return "AVX512" if "avx512f" in features else "AVX2" if "avx2" in features else "NO AVX"
