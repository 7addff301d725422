"""Fetchers: from what the sampler gave to a collated batch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from torchlike.engine import local
from torchlike.tensor.tensor import Tensor
from torchlike.utils.data._utils.collate import (
    collate_tensor_fn,
    default_collate,
    default_collate_fn_map,
    host_array,
)
from torchlike.utils.data.dataset import Subset, TensorDataset

__all__ = ["IterableFetcher", "MapFetcher"]


@contextlib.contextmanager
def host_views() -> Iterator[None]:
    """While samples are taken: rows of tensors that exist are NumPy views, which collating stacks without a program."""
    before, local.host_views = local.host_views, True
    try:
        yield
    finally:
        local.host_views = before


class MapFetcher:
    """Batches of a dataset that is read by index."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch of a list of indices, or without batching the sample of one index."""
        dataset = self.dataset
        if not self.auto_collation:
            return self.collate_fn(dataset[index])
        if self.collate_fn is default_collate and default_collate_fn_map[Tensor] is collate_tensor_fn:
            rows = _tensor_rows(dataset, index)
            if rows is not None:
                return rows
        if getattr(dataset, "__getitems__", None):
            return self.collate_fn(dataset.__getitems__(index))
        with host_views():
            samples = [dataset[i] for i in index]
        return self.collate_fn(samples)


def _tensor_rows(dataset: Any, indices: Any) -> list[Any] | None:
    """The batch of a plain ``TensorDataset`` (or ``Subset`` of one) by one ``take`` a tensor; None for other datasets.

    It is what collating the rows gives: a list of tensors. 64 rows of 784 floats take 20 us where row by row takes 400.
    """
    while type(dataset) is Subset:
        chosen = dataset.indices
        if not isinstance(indices, list) or not isinstance(chosen, (list, range)):
            return None
        indices = [chosen[i] for i in indices]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or not isinstance(indices, list) or set(map(type, indices)) != {int}:
        return None
    arrays = [host_array(t) for t in dataset.tensors]
    if any(a is None for a in arrays):
        return None
    return [Tensor._from_numpy(np.take(a, indices, axis=0)) for a in arrays]


class IterableFetcher:
    """Batches of a stream. ``StopIteration`` when it is at its end, and ever after."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.samples = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch, of as many samples as ``index`` has entries; or without batching the next sample."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = []
        for _ in index:
            try:
                with host_views():
                    batch.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self.collate_fn(batch)
