"""``torch.backends.quantized``: the library for quantized operators; torchlike has none."""

from __future__ import annotations

from torchlike.backends.switches import Switches

__all__ = ["engine", "supported_engines"]  # noqa: F822


class _Quantized(Switches):
    supported_engines = ("none",)

    @property
    def engine(self) -> str:
        return "none"

    @engine.setter
    def engine(self, name: str) -> None:
        if name != "none":
            raise RuntimeError(f"quantized engine {name} is not there: torchlike has no quantized operators")


_Quantized.become(__name__)
