"""``torch.memory_format`` and ``torch.layout`` objects."""

from __future__ import annotations

from typing import Any


class _Named:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        return (_by_name, (self.name,))


class memory_format(_Named):
    """How the dimensions are ordered in memory."""

    __slots__ = ()


class layout(_Named):
    """How the elements are stored."""

    __slots__ = ()


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")

_ALL = {x.name: x for x in (contiguous_format, preserve_format, channels_last, channels_last_3d, strided, sparse_coo,
                            sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged)}  # fmt: skip


def _by_name(name: str) -> Any:
    return _ALL[name]


def strides_of(format: memory_format, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of a new tensor in a memory format; None when contiguous."""
    if format is channels_last or format is channels_last_3d:
        wanted = 4 if format is channels_last else 5
        if len(shape) != wanted:
            raise RuntimeError(f"required rank {wanted} tensor to use {format.name} format")
        order = (0, *range(2, wanted), 1)
        strides, step = [0] * wanted, 1
        for d in reversed(order):
            strides[d] = step
            step *= max(shape[d], 1)
        return tuple(strides)
    return None
