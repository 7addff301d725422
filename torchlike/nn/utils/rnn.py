"""Sequences of different lengths: ``PackedSequence`` and the functions that pack and pad."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import Any

import numpy as np

import torchlike as torch
from torchlike.tensor.tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip

_Fields = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(_Fields):
    """The steps of all sequences one after the other, without padding: first all first steps, then all second ones, ...

    ``batch_sizes[t]`` (on the CPU) sequences are longer than ``t``. ``sorted_indices`` are the places of the sequences, from the
    longest on, in the order in which they were given, ``unsorted_indices`` the inverse.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be "
                "instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence with its data moved or converted, and its indices moved."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = (None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *moved)

    def pin_memory(self) -> PackedSequence:
        """The sequence itself: JAX stages transfers on its own."""
        return self

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence on a GPU."""
        return self.to(*args, **kwargs) if args or "device" in kwargs else self.to(device="cuda", **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence on the host."""
        return self.to(*args, **kwargs) if args or "device" in kwargs else self.to(device="cpu", **kwargs)

    def double(self) -> PackedSequence:
        """The sequence in float64."""
        return self.to(dtype=torch.double)

    def float(self) -> PackedSequence:
        """The sequence in float32."""
        return self.to(dtype=torch.float)

    def half(self) -> PackedSequence:
        """The sequence in float16."""
        return self.to(dtype=torch.half)

    def long(self) -> PackedSequence:
        """The sequence in int64."""
        return self.to(dtype=torch.long)

    def int(self) -> PackedSequence:
        """The sequence in int32."""
        return self.to(dtype=torch.int)

    def short(self) -> PackedSequence:
        """The sequence in int16."""
        return self.to(dtype=torch.short)

    def char(self) -> PackedSequence:
        """The sequence in int8."""
        return self.to(dtype=torch.int8)

    def byte(self) -> PackedSequence:
        """The sequence in uint8."""
        return self.to(dtype=torch.uint8)


class PackedLayout:
    """Where the steps of a packed sequence lie in a padded one ``(T, N)``, and back; known from the batch sizes.

    ``mask (T, N)``: which steps exist; None when all do. Index tensors are operands, so programs depend on sizes only.
    """

    def __init__(self, batch_sizes: Tensor) -> None:
        self.sizes = np.asarray(batch_sizes.tolist(), dtype=np.int64)
        self.steps, self.batch = len(self.sizes), int(self.sizes[0])
        self.full = bool((self.sizes == self.batch).all())
        self._mask = np.arange(self.batch) < self.sizes[:, None]
        self.mask = None if self.full else Tensor._from_numpy(self._mask)

    def pad(self, data: Tensor) -> Tensor:
        """``(N_total, *)`` to ``(T, N, *)``; what stands at missing steps is some other step's data."""
        if not self.full:
            starts = np.cumsum(self.sizes) - self.sizes
            places = np.where(self._mask, starts[:, None] + np.arange(self.batch), 0)
            data = data.index_select(0, _indices(places.reshape(-1), data))
        return data.reshape(self.steps, self.batch, *data.shape[1:])

    def pack(self, padded: Tensor) -> Tensor:
        """``(T, N, *)`` to ``(N_total, *)``."""
        flat = padded.reshape(self.steps * self.batch, *padded.shape[2:])
        return flat if self.full else flat.index_select(0, _indices(np.flatnonzero(self._mask), padded))

    def lengths(self) -> np.ndarray:
        """The length of each sequence, the longest first."""
        return self._mask.sum(0)


def _indices(places: np.ndarray, like: Tensor) -> Tensor:
    return Tensor._from_numpy(np.ascontiguousarray(places, dtype=np.int64)).to(like.device)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another."""
    if permutation is None:
        return None
    return torch.empty_like(permutation).scatter_(0, permutation, torch.arange(permutation.numel(), device=permutation.device))


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a padded batch ``(T, N, *)`` (``(N, T, *)`` with ``batch_first``) with the given lengths.

    With ``enforce_sorted`` the lengths must fall (``RuntimeError`` otherwise); without, sequences are sorted here.
    """
    if isinstance(lengths, Tensor) and (lengths.device.type != "cpu" or lengths.dtype != torch.int64 or lengths.dim() != 1):
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} "
            f"{lengths.type().rsplit('.', 1)[-1].removesuffix('Tensor')} tensor"
        )
    host = np.asarray(lengths.tolist() if isinstance(lengths, Tensor) else [int(n) for n in lengths], dtype=np.int64)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    padded = input.transpose(0, 1) if batch_first else input
    steps, batch = padded.shape[:2]
    if host.size != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {host.size} (batch_size={batch})")
    if (host <= 0).any():
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    sorted_indices = None
    if not enforce_sorted:
        order = np.argsort(-host, kind="stable")
        host = host[order]
        sorted_indices = _indices(order, input)
        padded = padded.index_select(1, sorted_indices)
    elif (np.diff(host) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
            "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    if host[0] > steps:
        raise RuntimeError(f"start (0) + length ({host[0]}) exceeds dimension size ({steps}).")
    batch_sizes = torch.tensor((np.arange(int(host[0]))[:, None] < host).sum(1).tolist(), dtype=torch.int64)
    return PackedSequence(PackedLayout(batch_sizes).pack(padded[: int(host[0])]), batch_sizes, sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch and the lengths of a packed sequence, in the order in which the sequences were given."""
    layout = PackedLayout(sequence.batch_sizes)
    steps = layout.steps
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    padded = layout.pad(sequence.data)
    if layout.mask is not None:
        mask = layout.mask.to(padded.device).reshape(steps, layout.batch, *[1] * (padded.dim() - 2))
        padded = padded.masked_fill(~mask, padding_value)
    if total_length is not None and total_length > steps:
        more = padded.new_full((total_length - steps, *padded.shape[1:]), padding_value)
        padded = torch.cat([padded, more])
    lengths = torch.tensor(layout.lengths().tolist(), dtype=torch.int64)
    if batch_first:
        padded = padded.transpose(0, 1)
    unsorted = sequence.unsorted_indices
    if unsorted is not None:
        return padded.index_select(0 if batch_first else 1, unsorted), lengths[unsorted.cpu()]
    return padded, lengths


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    """One padded batch ``(T, N, *)`` (``(N, T, *)`` with ``batch_first``) of sequences ``(T_i, *)``."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    rest = sequences[0].shape[1:]
    for s in sequences:
        if s.shape[1:] != rest:
            raise RuntimeError(
                f"pad_sequence: sequences must agree in all dimensions but the first, but got {list(sequences[0].shape)} and {list(s.shape)}"
            )
    longest = max(s.shape[0] for s in sequences)
    if all(isinstance(s._value.array, np.ndarray) and not s.requires_grad for s in sequences) and sequences[0].device.type == "cpu":
        # Known numbers, as in a collate function: no program for every combination of lengths.
        host = np.full((len(sequences), longest, *rest), padding_value, dtype=sequences[0].dtype.numpy)
        for row, s in zip(host, sequences, strict=True):
            start = longest - s.shape[0] if padding_side == "left" else 0
            row[start : start + s.shape[0]] = s._host()
        return Tensor._from_numpy(host if batch_first else np.ascontiguousarray(host.swapaxes(0, 1)))
    padded = []
    for s in sequences:
        fill = s.new_full((longest - s.shape[0], *rest), padding_value)
        padded.append(torch.cat([fill, s] if padding_side == "left" else [s, fill]))
    return torch.stack(padded, dim=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[: int(n)] for s, n in zip(padded_sequences, lengths.tolist(), strict=False)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences ``(T_i, *)``."""
    lengths = torch.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed one."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
