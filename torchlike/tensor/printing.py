"""The text of a tensor, character for character as torch prints it.

The rules (when numbers are printed in scientific form, how wide, when a tensor is summarised, where lines break) are those
that torch 2.13 shows; ``tests/tensor/test_printing.py`` holds them against it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass
class PrintOptions:
    """What ``torch.set_printoptions`` sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = PrintOptions()
_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed: digits, when to summarise, how many items at the edges, line width, scientific form."""
    if profile is not None:
        chosen = dataclasses.asdict(_PROFILES[profile])
        del chosen["sci_mode"]
        for name, value in chosen.items():
            setattr(options, name, value)
    for name, value in (("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems), ("linewidth", linewidth)):
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The present options."""
    return dataclasses.asdict(options)


class NumberFormat:
    """One format for all numbers of a tensor: width, scientific or not, whole numbers or not."""

    def __init__(self, values: np.ndarray) -> None:
        self.floating = values.dtype.kind == "f"
        self.whole, self.scientific, self.width = True, False, 1
        flat = values.reshape(-1)
        if not self.floating:
            self.width = max([len(str(v)) for v in flat.tolist()], default=1)
            return
        wide = flat.astype(np.float64)
        finite = wide[np.isfinite(wide) & (wide != 0)]
        if finite.size == 0:
            # nothing decides the width but inf and nan
            return
        sizes = np.abs(finite)
        smallest, largest = float(sizes.min()), float(sizes.max())
        self.whole = bool((finite == np.ceil(finite)).all())
        far = largest / smallest > 1000.0 or largest > 1.0e8
        self.scientific = far or (not self.whole and smallest < 1.0e-4)
        if options.sci_mode is not None:
            self.scientific = options.sci_mode
        if self.scientific:
            self.width = max(len(f"{v:.{options.precision}e}") for v in finite.tolist())
        elif self.whole:
            self.width = max(len(f"{v:.0f}") + 1 for v in finite.tolist())
        else:
            self.width = max(len(f"{v:.{options.precision}f}") for v in finite.tolist())

    def __call__(self, value: Any) -> str:
        """A number as text of the common width."""
        if not self.floating:
            return str(value).rjust(self.width)
        if self.scientific:
            text = f"{value:{self.width}.{options.precision}e}"
        elif self.whole:
            text = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            text = f"{value:.{options.precision}f}"
        return text.rjust(self.width)


def _summary(array: np.ndarray) -> np.ndarray:
    """The items at the edges, which are all that a summarised tensor shows."""
    n = options.edgeitems
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * n:
            keep = [*range(n), *range(array.shape[axis] - n, array.shape[axis])]
            array = array.take(keep, axis=axis)
    return array


def _element_format(array: np.ndarray) -> tuple[Callable[[Any], str], int]:
    """How one element is written, and how wide it is."""
    if array.dtype.kind != "c":
        form = NumberFormat(array)
        return form, form.width
    real, imag = NumberFormat(array.real), NumberFormat(array.imag)

    def complex_text(z: complex) -> str:
        second = (imag(z.imag) + "j").lstrip()
        return real(z.real) + (second if second[0] in "+-" else "+" + second)

    return complex_text, real.width + imag.width + 1


def _row(values: Sequence[Any], indent: int, form: Callable[[Any], str], width: int, summarize: bool) -> str:
    per_line = max(1, math.floor((options.linewidth - indent) / (width + 2)))
    n = options.edgeitems
    if summarize and not n:
        texts = ["..."]
    elif summarize and len(values) > 2 * n:
        texts = [*map(form, values[:n]), " ...", *map(form, values[-n:])]
    else:
        texts = [form(v) for v in values]
    lines = [", ".join(texts[i:i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _block(array: np.ndarray, indent: int, form: Callable[[Any], str], width: int, summarize: bool) -> str:
    if array.ndim == 0:
        return form(array.item())
    if array.ndim == 1:
        return _row(array.tolist(), indent, form, width, summarize)
    n = options.edgeitems
    if summarize and len(array) > 2 * n:
        parts = (
            [_block(a, indent + 1, form, width, summarize) for a in array[:n]]
            + ["..."]
            + [_block(a, indent + 1, form, width, summarize) for a in array[len(array) - n:]]
        )
    else:
        parts = [_block(a, indent + 1, form, width, summarize) for a in array]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def tensor_repr(
    array: np.ndarray | None,
    *,
    shape: Sequence[int],
    dtype_name: str,
    default_dtype_name: str,
    device_suffix: str | None = None,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    class_name: str = "tensor",
) -> str:
    """``repr`` of a tensor.

    Args:
        array: its elements (None on the meta device).
        shape: its shape.
        dtype_name: its dtype ("float32"); ``default_dtype_name`` decides whether that is shown.
        device_suffix: the device when it is shown ("cuda:0").
        requires_grad: whether it is a leaf that requires grad, unless ``grad_fn_name`` names its node.
        class_name: what stands before the parenthesis.
    """
    prefix = f"{class_name}("
    indent = len(prefix)
    suffixes = [] if device_suffix is None else [f"device='{device_suffix}'"]
    complex_default = "complex128" if default_dtype_name == "float64" else "complex64"
    shown = dtype_name in (default_dtype_name, "int64", "bool", complex_default)
    if array is None:
        suffixes.append("size=" + str(tuple(shape)))
        if dtype_name != default_dtype_name:
            suffixes.append(f"dtype=torch.{dtype_name}")
        text = "..."
    elif array.size == 0:
        if len(shape) != 1:
            suffixes.append("size=" + str(tuple(shape)))
        if dtype_name != default_dtype_name:
            suffixes.append(f"dtype=torch.{dtype_name}")
        text = "[]"
    else:
        if not options.edgeitems:
            suffixes.append("size=" + str(tuple(shape)))
        if not shown:
            suffixes.append(f"dtype=torch.{dtype_name}")
        summarize = array.size > options.threshold
        if array.dtype.kind == "V" or array.dtype == np.float16:
            array = array.astype(np.float32)
        form, width = _element_format(_summary(array) if summarize else array)
        text = _block(array, indent, form, width, summarize)
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(prefix + text, suffixes, indent)


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    parts = [text]
    last_line = len(text) - text.rfind("\n") + 1
    for s in suffixes:
        if last_line + len(s) + 2 > options.linewidth:
            parts.append(",\n" + " " * indent + s)
            last_line = indent + len(s)
        else:
            parts.append(", " + s)
            last_line += len(s) + 2
    return "".join(parts) + ")"
