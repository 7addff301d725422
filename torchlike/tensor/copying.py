"""Pickling and deep copies of tensors."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from torchlike.autograd.tape import LEAF
from torchlike.tensor import dtypes
from torchlike.tensor.tensor import Tensor


def rebuild(array: np.ndarray, dtype: dtypes.dtype, device: str, requires_grad: bool, cls: type, attributes: dict[str, Any]) -> Tensor:
    """The tensor of a pickle."""
    t = Tensor._from_numpy(array.view(dtype.numpy) if array.dtype != dtype.numpy else array, device=device)
    if requires_grad:
        t._node = LEAF
    if cls is not Tensor:
        t.__class__ = cls
    t.__dict__.update(attributes)
    return t


def user_attributes(t: Tensor) -> dict[str, Any]:
    """What users set on a tensor."""
    return {k: v for k, v in t.__dict__.items() if not k.startswith("_") or k not in _OWN}


_OWN = {
    "_value", "_node", "_nr", "_storage", "_seen", "_accumulator", "_hooks", "_accumulate_hooks", "_grad", "_chain", "_base",
    "_base_steps", "_counter", "_one_of", "_strides", "_dense", "_count", "_inference",
}  # fmt: skip


def reduce(t: Tensor) -> Any:
    """``__reduce_ex__``: values travel as NumPy arrays."""
    if not t.is_leaf:
        raise RuntimeError("Cannot pickle a tensor that is not a leaf (it is part of a graph): detach() it first")
    host = t._host()
    raw = host.view(np.uint8 if host.dtype.itemsize == 1 else np.uint16) if host.dtype.kind == "V" else host
    return rebuild, (np.array(raw), t.dtype, t._value.aval.device, t.requires_grad, type(t), user_attributes(t))


def deepcopy(t: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy with storage of its own; views of one storage stay views of one storage within one ``copy.deepcopy``."""
    if id(t) in memo:
        return memo[id(t)]
    if not t.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were "
            "attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    requires_grad = t.requires_grad
    out = object.__new__(type(t))
    storage = t._storage
    if storage is None:
        # Values are immutable: the copy may share this one until either tensor is modified.
        out._value = t._value
        if t._value.stale is None:
            t._value.stale = ()
    else:
        fresh = memo.get(id(storage))
        if fresh is None:
            storage.sync()
            fresh = memo[id(storage)] = type(storage)(storage.value, 0, storage.strides)
            if storage.value.stale is None:
                storage.value.stale = ()
            memo.setdefault(id(memo), []).append(storage)  # keeps id(storage) taken while the memo lives
        out._storage, out._seen, out._chain = fresh, -1, t._chain
        out._value = t._value
        out._refresh()
    if not t._dense:
        out._dense, out._strides = False, t._strides
    if requires_grad:
        out._node = LEAF
    memo[id(t)] = out
    if t._grad is not None:
        out._grad = copy.deepcopy(t._grad, memo)
    for k, v in user_attributes(t).items():
        out.__dict__[k] = copy.deepcopy(v, memo)
    return out


