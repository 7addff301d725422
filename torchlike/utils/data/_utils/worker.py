"""Workers of a loader: threads that fetch batches ahead, each with its own copy of the dataset and its own seed."""

from __future__ import annotations

import contextlib
import copy
import queue
import random
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import torchlike as torch
from torchlike import engine

__all__ = ["WorkerError", "WorkerInfo", "get_worker_info", "start_worker"]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker knows of itself.

    Attributes:
        id: its number, from 0.
        num_workers: how many there are.
        seed: the loader's base seed plus ``id``.
        dataset: the worker's copy of the dataset (a shallow one: attributes set on it are the worker's own).
        rng: the worker's own sources of random numbers.
        worker_method: "thread".
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: WorkerRandom | None = None
    worker_method: str | None = "thread"


@dataclass(frozen=True, slots=True)
class WorkerRandom:
    """A worker's own sources, seeded as torch seeds Python's, torch's and NumPy's global ones in a worker process."""

    random_generator: random.Random
    torch_generator: Any
    numpy_generator: np.random.RandomState

    @classmethod
    def of(cls, worker_id: int, base_seed: int) -> WorkerRandom:
        """The sources of one worker."""
        generator = torch.Generator()
        generator.manual_seed(base_seed + worker_id)
        # torch spreads the seed for NumPy by NumPy's own SeedSequence
        words = np.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4)
        return cls(random.Random(base_seed + worker_id), generator, np.random.RandomState(words))


_here = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """The worker that is running this code; None outside of workers."""
    return getattr(_here, "info", None)


class Ended:
    """A worker's stream is at its end."""

    __slots__ = ()


class WorkerError:
    """An exception on its way from a worker to the loop that takes the batches."""

    __slots__ = ("kind", "text", "where")

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind = type(error)
        self.text = "".join(traceback.format_exception(error))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same class whose message holds the worker's traceback."""
        message: Any = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            message = _Verbatim(message)
        try:
            error = self.kind(message=message) if getattr(self.kind, "message", None) else self.kind(message)
        except Exception:
            # the class cannot be made of a message alone
            raise RuntimeError(message) from None
        raise error


class _Verbatim(str):
    """``KeyError`` shows the ``repr`` of its argument: here the text itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def start_worker(
    worker_id: int,
    num_workers: int,
    base_seed: int,
    dataset: Any,
    make_fetcher: Callable[[Any], Any],
    init_fn: Callable[[int], Any] | None,
    done: queue.SimpleQueue[Any],
) -> queue.SimpleQueue[Any]:
    """Start a worker; returns the queue of its tasks.

    A task ``(number, index)`` is answered in ``done`` by ``(number, worker_id, batch)``; the batch may be a
    ``WorkerError`` or ``Ended``. A task "restart" begins a new pass over the dataset, None ends the worker.
    """
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    arguments = (tasks, done, worker_id, num_workers, base_seed, dataset, make_fetcher, init_fn)
    threading.Thread(target=_work, args=arguments, name=f"torchlike_data_{worker_id}", daemon=True).start()
    return tasks


def _work(
    tasks: queue.SimpleQueue[Any],
    done: queue.SimpleQueue[Any],
    worker_id: int,
    num_workers: int,
    base_seed: int,
    dataset: Any,
    make_fetcher: Callable[[Any], Any],
    init_fn: Callable[[int], Any] | None,
) -> None:
    where = f"in DataLoader worker process {worker_id}"
    own = _own_copy(dataset)
    rng = WorkerRandom.of(worker_id, base_seed)
    _here.info = WorkerInfo(worker_id, num_workers, base_seed + worker_id, own, rng)
    failed = fetcher = None
    ended = False
    with _default_generator(rng.torch_generator):
        try:
            if init_fn is not None:
                init_fn(worker_id)
            fetcher = make_fetcher(own)
        except Exception as e:
            failed = WorkerError(e, where)
        while (task := tasks.get()) is not None:
            if task == "restart":
                ended = False
                try:
                    fetcher = make_fetcher(own)
                except Exception as e:
                    failed = WorkerError(e, where)
                continue
            number, index = task
            batch: Any
            if failed is not None:
                batch, failed = failed, None
            elif ended or fetcher is None:
                batch = Ended()
            else:
                try:
                    batch = fetcher.fetch(index)
                    engine.flush()  # what this thread recorded must be computed before another one reads it
                except StopIteration:
                    batch, ended = Ended(), True
                except BaseException as e:  # the loop that waits must hear of everything
                    batch = WorkerError(e, where)
            done.put((number, worker_id, batch))
            del batch, task


def _own_copy(dataset: Any) -> Any:
    """A shallow copy, on which a worker can set attributes (its shard of a stream) without telling the others."""
    try:
        return copy.copy(dataset)
    except Exception:
        return dataset


def _default_generator(generator: Any) -> Any:
    """A block in which this thread's random functions draw from ``generator``."""
    use = getattr(torch.random, "thread_generator", None)
    return use(generator) if use is not None else contextlib.nullcontext()
