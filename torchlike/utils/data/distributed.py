"""``DistributedSampler``: each process of a group takes its own part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any

import torchlike as torch
from torchlike.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[Any]):
    """Every ``num_replicas``-th index, starting at ``rank``, of one permutation that all processes share.

    Args:
        dataset: what has the length.
        num_replicas: how many processes (default: the world size).
        rank: this process (default: its rank).
        shuffle: whether the indices are permuted, with seed ``seed + epoch``; call ``set_epoch`` before each epoch.
        seed: the same on all processes.
        drop_last: leave out the end so that all parts have one length; otherwise indices from the beginning fill it up.

    Raises:
        ValueError: the rank is outside ``[0, num_replicas)``.
        RuntimeError: a default is wanted where there is no process group.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from torchlike import distributed as dist

            if not dist.is_available():
                raise RuntimeError("Requires distributed package to be available")
            num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
            rank = dist.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(size, generator=generator).tolist()
        else:
            indices = list(range(size))
        missing = self.total_size - size
        if missing > 0:
            indices += (indices * math.ceil(missing / size))[:missing]
        part = indices[: self.total_size][self.rank :: self.num_replicas]
        if len(part) != self.num_samples:
            raise AssertionError(
                f"Number of subsampled indices ({len(part)}) does not match num_samples ({self.num_samples})"
            )
        return iter(part)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the permutation of the passes to come. Without it every epoch has the same order."""
        self.epoch = epoch
