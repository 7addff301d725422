"""``ChannelShuffle``."""

from __future__ import annotations

from torchlike.nn import functional as F
from torchlike.nn.modules.module import Module
from torchlike.tensor.tensor import Tensor


class ChannelShuffle(Module):
    """Channels ``(*, g, C / g, H, W)`` in the order ``(*, C / g, g, H, W)``."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
