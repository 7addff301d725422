"""The text of a tensor, character for character as torch prints it.

The rules (when numbers are printed in scientific form, how wide, when a tensor is summarised, where lines break) are those
that torch 2.13 shows; ``tests/tensor/test_printing.py`` holds them against it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
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
_POWERS_OF_TWO = np.dtype(ml_dtypes.float8_e8m0fnu)
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
        self.floating = values.dtype.kind in "fV"  # ml_dtypes' numbers are of kind V
        self.whole, self.scientific, self.width = True, False, 1
        flat = values.reshape(-1)
        if not self.floating:
            self.width = max([len(str(v)) for v in flat.tolist()], default=1)
            return
        wide = flat.astype(np.float64)
        if values.dtype == _POWERS_OF_TWO:
            # torch takes this dtype's NaN for finite and its smallest power, which has the bits of zero, for zero
            finite = wide[wide != 2.0**-127]
        else:
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


def edge_items(array: Any, shape: Sequence[int]) -> Any:
    """The items at the edges, which are all that a summarised tensor shows; an array that was cut before comes back as it is.

    Only slices are taken, so that a device array can be cut where it lies.
    """
    n = options.edgeitems
    for axis, size in enumerate(shape):
        if size > 2 * n and array.shape[axis] == size:
            before = (slice(None),) * axis
            array = np.concatenate([array[(*before, slice(0, n))], array[(*before, slice(size - n, size))]], axis)
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


def _row(values: Sequence[Any], indent: int, form: Callable[[Any], str], width: int, cut: bool) -> str:
    per_line = max(1, math.floor((options.linewidth - indent) / (width + 2)))
    texts = [form(v) for v in values]
    if cut:
        half = len(texts) // 2
        texts[half:half] = [" ..." if half else "..."]
    lines = [", ".join(texts[i:i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _block(array: np.ndarray, indent: int, form: Callable[[Any], str], width: int, cut: Sequence[bool]) -> str:
    """The text of an array, with dots in the middle of each axis that was ``cut`` down to its edges."""
    if array.ndim == 0:
        return form(array.item())
    if array.ndim == 1:
        return _row(array.tolist(), indent, form, width, cut[0])
    parts = [_block(a, indent + 1, form, width, cut[1:]) for a in array]
    if cut[0]:
        half = len(parts) // 2
        parts[half:half] = ["..."]
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
        array: its elements, or their ``edge_items`` when there are more than the threshold (None on the meta device).
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
    elif not math.prod(shape):
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
        summarize = math.prod(shape) > options.threshold
        if summarize:
            array = edge_items(array, shape)
        form, width = _element_format(array)
        text = _block(array, indent, form, width, [summarize and size > 2 * options.edgeitems for size in shape])
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
