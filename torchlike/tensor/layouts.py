"""Strides of elementwise results: torch gives the result the memory order of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike.autograd.tape import Variable
from torchlike.ops.views import contiguous_strides, is_contiguous


def restride(result: Any, operands: Sequence[Any]) -> None:
    """Give ``result`` the strides that torch's TensorIterator chooses for these operands.

    All operands of the result's shape and with equal dense strides: those strides. Otherwise dimensions are ordered by the
    strides of the first operand that distinguishes them, and laid out densely in that order.
    """
    shape = result._value.aval.shape
    layouts = []
    for t in operands:
        if isinstance(t, Variable) and t._value.aval.ndim:
            size, stride, _ = t._layout()  # type: ignore[attr-defined]
            lead = len(shape) - len(size)
            if lead < 0:
                return
            full = [0] * lead + [0 if n == 1 else s for n, s in zip(size, stride, strict=True)]
            layouts.append((size, tuple(stride), full))
    if not layouts:
        return
    first = layouts[0]
    same = all(size == shape and stride == first[1] for size, stride, _ in layouts)
    if same and is_dense(shape, first[1]):
        strides = first[1]
    else:
        strides = _ordered(shape, [full for _, _, full in layouts])
    if not is_contiguous(shape, strides):
        result._strides = tuple(strides)
        result._dense = False


def is_dense(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether the elements fill their memory without gaps or overlaps, in any order of dimensions."""
    expected = 1
    for s, n in sorted((s, n) for s, n in zip(stride, size, strict=True) if n != 1):
        if s != expected:
            return False
        expected *= n
    return True


def _ordered(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[int, ...]:
    ndim = len(shape)
    order = list(range(ndim - 1, -1, -1))  # innermost first

    def swap(a: int, b: int) -> int:
        """1 when ``a`` (nearer to the inside) must move outwards past ``b``, -1 when not, 0 when they cannot be told apart."""
        for s in strides:
            if s[a] == 0 or s[b] == 0:
                continue
            if s[a] < s[b]:
                return -1
            if s[a] > s[b]:
                return 1
            if shape[a] > shape[b]:
                return 1
        return 0

    for i in range(1, ndim):
        moving = i
        for j in range(i - 1, -1, -1):
            decided = swap(order[j], order[moving])
            if decided > 0:
                order[j], order[moving] = order[moving], order[j]
                moving = j
            elif decided < 0:
                break
    result = [0] * ndim
    step = 1
    for d in order:
        result[d] = step
        step *= max(shape[d], 1)
    return tuple(result) if ndim else contiguous_strides(shape)
