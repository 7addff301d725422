"""``torch.signal``."""

from torchlike.signal import windows

__all__ = ["windows"]
