"""``DataLoader``: batches of a dataset, in order, fetched when asked for or by workers ahead of time."""

from __future__ import annotations

import functools
import itertools
import math
import multiprocessing
import os
import queue
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import torchlike as torch
from torchlike import engine
from torchlike.utils.data._utils.collate import default_collate, default_convert
from torchlike.utils.data._utils.fetch import IterableFetcher, MapFetcher
from torchlike.utils.data._utils.pin_memory import pin_memory
from torchlike.utils.data._utils.worker import Ended, WorkerError, get_worker_info, start_worker
from torchlike.utils.data.dataset import Dataset, IterableDataset
from torchlike.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)


class _DatasetKind:
    """How a dataset is read."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> Any:
        """The fetcher for a kind of dataset."""
        cls = MapFetcher if kind == _DatasetKind.Map else IterableFetcher
        return cls(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[None]):
    """None for ever: a stream decides itself what comes next, and when it is at its end."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T_co]):
    """An iterable of batches of a dataset.

    Workers are threads at present: ``num_workers`` of them fetch and collate ahead, batch ``i`` by worker
    ``i % num_workers``, and batches come in the sampler's order. Reading files, decoding images and NumPy release the
    interpreter, so that they run side by side; Python code of a dataset does not. Each worker has a shallow copy of the
    dataset, the seed that torch gives it (``get_worker_info().seed``) and its own default generator for torch's random
    functions; the streams of Python's ``random`` and of ``numpy.random`` are shared with the main thread. A trace
    ends at each next batch.

    Args:
        dataset: by index (``__getitem__``), or a stream (``IterableDataset``).
        batch_size: samples a batch; None turns batching off.
        shuffle: a new random order in each epoch.
        sampler: an iterable of indices.
        batch_sampler: an iterable of lists of indices; instead of ``batch_size``, ``shuffle``, ``sampler``,
            ``drop_last``.
        num_workers: how many workers; 0 fetches in the loop itself.
        collate_fn: list of samples -> batch (default: ``default_collate``; without batching ``default_convert``).
        pin_memory: call ``pin_memory()`` of tensors and of batches of other types, where there is an accelerator.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a worker's batch; 0 waits for ever.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: checked as torch does; threads need none.
        generator: the source of the order and of the base seed.
        prefetch_factor: batches that each worker fetches ahead (default 2).
        persistent_workers: keep the workers, and their copies of the dataset, from one epoch to the next.
        pin_memory_device: ignored, as in torch.
        in_order: False gives batches as soon as they are there.

    Raises:
        ValueError: arguments that exclude each other.
    """

    _iterator: Any = None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order

        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            for option, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {option} option, but got "
                        f"{option}={value}"
                    )
        else:
            self._dataset_kind = _DatasetKind.Map
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")

        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None
        self.__initialized = True
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """The context that was given."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if not self.num_workers > 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    def __setattr__(self, attr: str, val: Any) -> None:
        if self.__initialized and attr in _FIXED:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> _Batches:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # a stream may say its length; if more comes, a warning quotes what it said
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn when there are more workers than processors that this process may use."""
        if not self.num_workers:
            return
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if processors is not None and self.num_workers <= processors:
            return
        suggestion = (
            f"Our suggested max number of worker in current system is {processors}, which is smaller than what this "
            "DataLoader is going to create."
            if processors is not None
            else "DataLoader is not able to compute a suggested max number of worker in current system."
        )
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} Please be aware "
            "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker "
            "number to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


class _Batches:
    """One pass over a loader: what is common to both ways of fetching."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._num_workers = loader.num_workers
        self._index_sampler = loader._index_sampler
        self._make_fetcher = functools.partial(
            _DatasetKind.create_fetcher,
            loader._dataset_kind,
            auto_collation=loader._auto_collation,
            collate_fn=loader.collate_fn,
            drop_last=loader.drop_last,
        )
        self._pin = loader.pin_memory and _can_pin(loader.pin_memory_device)
        # torch makes this draw for every pass, with workers or without, and before the sampler's first
        self._base_seed = draw_seed(loader.generator)
        self._begin(loader)

    def _begin(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._announced = loader._IterableDataset_len_called

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> Any:
        engine.flush()
        batch = self._next_data()
        if self._pin:
            batch = pin_memory(batch)
        self._num_yielded += 1
        if (
            self._dataset_kind == _DatasetKind.Iterable
            and self._announced is not None
            and self._num_yielded > self._announced
        ):
            self._warn_of_length()
        return batch

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _warn_of_length(self) -> None:
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._announced}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(message, stacklevel=3)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def _can_pin(device: str) -> bool:
    if device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{device}'.",
            stacklevel=4,
        )
    if torch.cuda.is_available():
        return True
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=4,
    )
    return False


class _SingleProcessDataLoaderIter(_Batches):
    """Batches fetched when they are asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        super().__init__(loader)
        self._fetcher = self._make_fetcher(self._dataset)

    def _next_data(self) -> Any:
        return self._fetcher.fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_Batches):
    """Batches fetched ahead by workers.

    Tasks are numbered in the order of the sampler and dealt to the workers in turn. ``_open`` holds the tasks that were
    dealt and not yet given out, with the worker that has each; ``_fetched`` the batches that came before their turn.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._ahead = loader.prefetch_factor * loader.num_workers
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._workers = [
            start_worker(
                i, self._num_workers, self._base_seed, self._dataset, self._make_fetcher, loader.worker_init_fn,
                self._done
            )
            for i in range(self._num_workers)
        ]
        self._start()

    def _start(self) -> None:
        self._active = [True] * self._num_workers
        self._turn = itertools.cycle(range(self._num_workers))
        self._open: dict[int, int] = {}
        self._fetched: dict[int, Any] = {}
        self._next_number = 0
        for _ in range(self._ahead):
            self._deal()

    def _reset(self, loader: DataLoader[Any]) -> None:
        """A new pass with the same workers."""
        while len(self._open) > len(self._fetched):
            number, _, batch = self._done.get()  # left over from a pass that was broken off
            self._fetched[number] = batch
        self._begin(loader)
        for tasks in self._workers:
            tasks.put("restart")
        self._start()

    def _deal(self) -> None:
        """Give the next index to the worker whose turn it is."""
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        for worker in itertools.islice(self._turn, self._num_workers):
            if self._active[worker] and (self._in_order or self._has_room(worker)):
                break
        else:
            return
        self._open[self._next_number] = worker
        self._workers[worker].put((self._next_number, index))
        self._next_number += 1

    def _has_room(self, worker: int) -> bool:
        return sum(w == worker for w in self._open.values()) < self._ahead // sum(self._active)

    def _next_data(self) -> Any:
        while self._open:
            first = number = next(iter(self._open))
            if number in self._fetched:
                batch = self._fetched.pop(number)
            else:
                number, worker, batch = self._done.get() if not self._timeout else self._receive()
                if isinstance(batch, Ended):
                    del self._open[number]
                    if self._active[worker]:
                        self._active[worker] = False
                        self._deal()
                    continue
                if self._in_order and number != first:
                    self._fetched[number] = batch
                    continue
            del self._open[number]
            self._deal()
            if isinstance(batch, WorkerError):
                batch.reraise()
            return batch
        if not self._persistent:
            self._shutdown()
        raise StopIteration

    def _receive(self) -> tuple[int, int, Any]:
        try:
            return self._done.get(timeout=self._timeout)
        except queue.Empty:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None

    def _shutdown(self) -> None:
        workers, self._workers = self._workers, []
        for tasks in workers:
            tasks.put(None)

    def __del__(self) -> None:
        if getattr(self, "_workers", None):
            self._shutdown()
