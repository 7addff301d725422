"""``torch.utils.cpp_extension``: C++ and CUDA sources against libtorch, which torchlike cannot build: there is no libtorch.

The names that build files read are here; building raises.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn

__all__ = ["CUDA_HOME", "BuildExtension", "CUDAExtension", "CppExtension", "check_compiler_ok_for_platform", "include_paths", "library_paths",
           "load", "load_inline"]  # fmt: skip

CUDA_HOME = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
CUDNN_HOME = os.environ.get("CUDNN_HOME") or os.environ.get("CUDNN_PATH")
ROCM_HOME = None
IS_HIP_EXTENSION = False


class ExtensionError(NotImplementedError):
    """An extension of PyTorch in C++ or CUDA was to be built."""


def _refuse(what: str) -> NoReturn:
    raise ExtensionError(
        f"{what}: torchlike has no libtorch that C++ or CUDA sources could be compiled against. What such an operator computes can be "
        "written with torch functions (they are compiled into one program), as a Pallas or Triton kernel, or in C++ through jax.ffi"
    )


def load(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: nothing can be built."""
    _refuse(f"cpp_extension.load({name!r})")


def load_inline(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: nothing can be built."""
    _refuse(f"cpp_extension.load_inline({name!r})")


def CppExtension(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: nothing can be built."""
    _refuse(f"CppExtension({name!r})")


def CUDAExtension(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: nothing can be built."""
    _refuse(f"CUDAExtension({name!r})")


class BuildExtension:
    """The build command of setuptools; making one raises."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """The same command; options make no difference to what cannot be built."""
        return cls


def include_paths(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: there are no headers."""
    _refuse("include_paths")


def library_paths(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: there are no libraries."""
    _refuse("library_paths")


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether the compiler could build extensions: no compiler can."""
    return False
