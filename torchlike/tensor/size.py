"""``torch.Size``: the tuple that ``Tensor.shape`` is."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any


class Size(tuple):
    """A shape. Slices and sums of sizes are sizes."""

    __slots__ = ()

    def __new__(cls, iterable: Iterable[Any] = ()) -> Size:
        return tuple.__new__(cls, [n if type(n) is int else operator.index(n) for n in iterable])

    def numel(self) -> int:
        """The number of elements of a tensor with this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, other: Any) -> Any:
        return Size(tuple.__mul__(self, other))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return (Size, (tuple(self),))
