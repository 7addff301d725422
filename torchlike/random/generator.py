"""``torch.Generator``."""

from __future__ import annotations

from torchlike.random.streams import Stream


class Generator:
    """A source of random numbers: torch's CPU stream."""

    def __init__(self, device: object = "cpu") -> None:
        self.stream = Stream()


default_generator = Generator()
