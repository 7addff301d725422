"""How precisely float32 products are computed: torch's switches for it, kept in one place and told to the engine.

torch has three generations of them: ``set_float32_matmul_precision``, ``allow_tf32`` and ``fp32_precision``. All write one
table here, (backend, operation) -> "ieee" | "tf32" | "bf16" | "none", where "none" asks the next wider scope: the backend,
then all.

Two differences from torch, both on the side of precision. Convolutions on a GPU are float32 until a switch asks for less
(torch: TF32 from the start, so ``cudnn.allow_tf32`` reads True there and False here). On the CPU everything is float32 always.
"""

from __future__ import annotations

from typing import Any

from torchlike.engine import signature

__all__ = ["Precision", "PrecisionOf", "effective", "get_float32_matmul_precision", "set_float32_matmul_precision"]

_WIDER = {"conv": "all", "matmul": "all", "rnn": "all"}
_BACKENDS = ("generic", "cuda", "mkldnn")
_ALLOWED = {"generic": ("none", "ieee", "tf32", "bf16"), "cuda": ("none", "ieee", "tf32"), "mkldnn": ("none", "ieee", "tf32", "bf16")}
_table = {(backend, operation): "none" for backend in _BACKENDS for operation in ("all", *_WIDER)}
_matmul = "highest"

# What the engine calls them; it passes the word on to JAX.
_FOR_ENGINE = {"ieee": "highest", "none": "highest", "tf32": "tensorfloat32", "bf16": "bfloat16"}


def effective(backend: str, operation: str) -> str:
    """The precision in force: the narrowest setting that is not "none"."""
    for place in ((backend, operation), (backend, "all"), ("generic", "all")):
        if _table[place] != "none":
            return _table[place]
    return "none"


def assign(backend: str, operation: str, value: str) -> None:
    """Set one entry of the table and tell the engine.

    Raises:
        RuntimeError: the value is none of the backend's precisions.
    """
    if value not in _ALLOWED[backend]:
        raise RuntimeError(f"Unknown precision: {value}; {backend} has {', '.join(_ALLOWED[backend])}")
    _table[backend, operation] = value
    signature.set_matmul_precision(_FOR_ENGINE[effective("cuda", "matmul")])


class Precision:
    """The attribute ``fp32_precision`` of a module or of an operation's switches."""

    def __init__(self, backend: str, operation: str = "all") -> None:
        self._place = (backend, operation)

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else effective(*self._place)

    def __set__(self, instance: Any, value: str) -> None:
        assign(*self._place, value)


class PrecisionOf:
    """The switches of one operation: ``torch.backends.cudnn.conv.fp32_precision``."""

    _place: tuple[str, str]

    def __init__(self, backend: str, operation: str) -> None:
        vars(self)["_place"] = (backend, operation)

    def __getattr__(self, name: str) -> str:
        if name != "fp32_precision":
            raise AttributeError(f"Unknown attribute {name}")
        return effective(*self._place)

    def __setattr__(self, name: str, value: str) -> None:
        if name != "fp32_precision":
            raise AttributeError(f"Unknown attribute {name}")
        assign(*self._place, value)


def set_float32_matmul_precision(precision: str) -> None:
    """How precise float32 matrix products must be: "highest" (float32), "high" or "medium" (TF32 on GPUs that have it).

    On the CPU products are float32 whatever is set. A word that is none of the three changes nothing, with a warning, as in
    torch.
    """
    global _matmul
    if precision not in ("highest", "high", "medium"):
        import warnings

        warnings.warn(f"{precision} is not one of 'highest', 'high', and 'medium'; the matmul precision is left as it was", stacklevel=2)
        return
    _matmul = precision
    assign("cuda", "matmul", "ieee" if precision == "highest" else "tf32")
    assign("mkldnn", "matmul", {"highest": "ieee", "high": "tf32", "medium": "bf16"}[precision])


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` or ``allow_tf32`` set."""
    return _matmul


def allow_tf32_in_matmul(allowed: bool) -> None:
    """``torch.backends.cuda.matmul.allow_tf32 = allowed``."""
    global _matmul
    _matmul = "high" if allowed else "highest"
    assign("cuda", "matmul", "tf32" if allowed else "ieee")
