"""``Tensor``: a reference to a storage cell plus, for a view, the chain of views that leads to it.

A fresh tensor holds its value itself. When a view or an alias is made, the value moves into a ``Storage`` that all of them
share. Reading a view whose storage moved on replays the chain; writing through a view scatters into the root. Methods of
operators are attached by ``dispatch``; here is what is not an operator.
"""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from torchlike import autograd
from torchlike.autograd import tape
from torchlike.autograd.tape import LEAF, AccumulateGrad, RemovableHandle, Variable, apply, node_type, wrap
from torchlike.engine import Value, array_of, from_array, local, record, release
from torchlike.ops.views import HOST, LAYOUT, WRITE, Step, contiguous_strides, is_contiguous, view_dtype
from torchlike.tensor import dtypes
from torchlike.tensor.device import device as Device
from torchlike.tensor.device import from_engine
from torchlike.tensor.size import Size
from torchlike.tensor.storage import MIRROR_LIMIT, Mirror, Storage, mark_stale


class Tensor(Variable):
    """A tensor with torch's behaviour on a JAX array.

    ``Tensor.jax()`` gives the array without a copy, ``torchlike.from_jax`` takes one.
    """

    # Set on an instance only where they differ, to keep tensors small and quick to make.
    _chain: tuple[Step, ...] = ()
    _base: Tensor | None = None
    _base_steps: tuple[Step, ...] = ()
    _strides: tuple[int, ...] | None = None
    _dense: bool = True  # False where the layout may be other than contiguous
    _count: int = 0  # modifications in place, while there is no storage
    _one_of: str | None = None  # the function that gave this view together with others (split, unbind)
    _counter: list[int] | None = None  # of tensors made by ``.data``: modifications that the tape does not count
    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if (cls is Tensor and (args or kwargs)) or (cls is not Tensor and cls.__init__ is object.__init__ and args):
            from torchlike.tensor.legacy import construct

            made = construct(None, *args, **kwargs)
            return made if cls is Tensor else made.as_subclass(cls)
        t = object.__new__(cls)
        if not args:
            t._value = from_array(np.zeros(0, dtypes.get_default_dtype().numpy), device="cpu", shared=False)
        return t

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def _wrap(cls, value: Value) -> Tensor:
        """A tensor of a value."""
        t = object.__new__(cls)
        t._value = value
        return t

    @classmethod
    def _from_numpy(cls, array: np.ndarray, requires_grad: bool = False, device: str = "cpu") -> Tensor:
        """A tensor of an array that nobody else changes, without a copy."""
        t = object.__new__(cls)
        t._value = from_array(array, device=device, shared=False)
        if requires_grad:
            t._node = LEAF
        return t

    # -- storage --------------------------------------------------------------------------------------------------

    def _share(self) -> Storage:
        """The storage, made now if the tensor had none."""
        storage = self._storage
        if storage is None:
            storage = self._storage = Storage(self._value, self._count, self._strides)
            self._seen = storage.version
        return storage

    def _refresh(self) -> None:
        """The storage moved on: read it again, and find the place in the graph again."""
        storage = self._storage
        storage.sync()
        base = self._base
        if base is not None and base._node is not None and self._base_steps:
            if base._seen != storage.version:
                base._refresh()
            before, local.grad = local.grad, True
            try:
                t = base
                value, node, nr = base._value, base._node, base._nr
                for view_op, static, numbers in self._base_steps:
                    t = apply(view_op, static, (t, *numbers))[0]
                    value, node, nr = t._value, t._node, t._nr
            finally:
                local.grad = before
            if type(node) is not AccumulateGrad and node is not LEAF:
                node.__class__ = node_type("AsStridedBackward0")  # torch's name for a view found again
            self._value, self._node, self._nr = value, node, nr
        else:
            value = storage.value
            for view_op, static, numbers in self._chain:
                value = record(view_op, static, (value, *numbers))[1][0]
            self._value = value
        self._seen = storage.version

    def _view(self, view_op: Any, static: tuple[Any, ...], numbers: tuple[Any, ...] = (), dense: bool = False) -> Tensor:
        """The result of a view operator, sharing the storage. ``dense``: it is contiguous if this tensor is."""
        out = self._host_view(view_op, static, numbers) if local.host_views else None
        static = ((), static)
        if out is None:
            out = apply(view_op, static, (self, *numbers))[0]
            if jax_traced(out):
                return out
        storage = self._share()
        step = (view_op, static, numbers)
        out._storage = storage
        out._seen = storage.version
        out._chain = (*self._chain, step)
        if local.grad or self._node is None:
            if self._base is None:
                out._base, out._base_steps = self, (step,)
            else:
                out._base, out._base_steps = self._base, (*self._base_steps, step)
        if not (dense and self._dense):
            out._dense = False
        if self._inference or local.inference:
            out._inference = True
        if self._counter is not None:
            out._counter = self._counter
        return out

    def _host_view(self, view_op: Any, static: tuple[Any, ...], numbers: tuple[Any, ...]) -> Tensor | None:
        """The view taken by NumPy, when the numbers are on the host already and no gradient is asked for."""
        take = HOST.get(view_op)
        value = tape.current(self)
        if take is None or value.array is None or value.aval.device != "cpu" or (local.grad and self._node is not None):
            return None
        if isinstance(value.array, jax.core.Tracer):
            return None
        return Tensor._wrap(from_array(take(np.asarray(release(value)), *static, *numbers), device="cpu"))

    def _alias(self) -> Tensor:
        """The same data outside the graph: ``detach()`` and ``.data``."""
        value = tape.current(self)
        out = object.__new__(Tensor)
        out._value = value
        if jax_traced(self):
            return out
        storage = self._share()
        out._storage, out._seen = storage, storage.version
        if self._chain:
            out._chain = self._chain
        if not self._dense:
            out._dense, out._strides = False, self._strides
        if self._counter is not None:
            out._counter = self._counter
        return out

    def _layout(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Size, strides and storage offset in elements."""
        shape = self._value.aval.shape
        if self._dense:
            if not self._chain:
                return shape, contiguous_strides(shape), 0
        if not self._chain:
            return shape, self._strides or contiguous_strides(shape), 0
        storage = self._storage
        root = storage.value.aval
        layout = (root.shape, storage.strides or contiguous_strides(root.shape), 0)
        itemsize = root.dtype.itemsize
        for view_op, static, numbers in self._chain:
            if view_op is view_dtype:
                layout = LAYOUT[view_op](*layout, *static[1], itemsize=itemsize)
                itemsize = static[1][0].itemsize
            else:
                layout = LAYOUT[view_op](*layout, *static[1], *numbers)
        return layout

    def _check_inplace(self) -> None:
        """Raise torch's errors for tensors that may not be modified in place now."""
        if local.grad and self._node is not None:
            if self._node is LEAF:
                raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
            base = self._base
            if base is not None and base._node is LEAF:
                raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
            if self._one_of is not None:
                raise RuntimeError(
                    f"Output {self._nr} of {self._one_of} is a view and is being modified inplace. This view is the output of a "
                    "function that returns multiple views. Such functions do not allow the output views to be modified inplace. "
                    "You should replace the inplace operation by an out-of-place one."
                )
        if self._inference and not local.inference:
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
                "normal tensor before doing inplace update. See https://github.com/pytorch/rfcs/pull/17 for more details."
            )
        if self._storage is not None and self._chain and any(
            s == 0 and n > 1 for n, s in zip(*self._layout()[:2], strict=True)
        ):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                "Please clone() the tensor before performing the operation."
            )

    def _update(self, result: Tensor, name: str = "") -> Tensor:
        """Take ``result`` as the new content (an in-place operator's end): checks shape and dtype, then writes."""
        value = tape.current(result)
        aval, mine = value.aval, tape.current(self).aval
        if aval.shape != mine.shape:
            raise RuntimeError(
                f"output with shape {list(mine.shape)} doesn't match the broadcast shape {list(aval.shape)}"
            )
        if aval.dtype != mine.dtype:
            from_, to = dtypes.of_numpy(aval.dtype), dtypes.of_numpy(mine.dtype)
            if not dtypes.can_cast(from_, to):
                raise RuntimeError(
                    f"result type {_scalar_type(from_)} can't be cast to the desired output type {_scalar_type(to)}"
                )
            result = result.to(to)
        self._write(result)
        return self

    def _write(self, result: Tensor) -> None:
        """Replace the content by ``result`` (same shape and dtype); in the graph too when grad mode is on."""
        if result._node is not None:
            result._node.own = self._value  # as torch does, an operator in place keeps what it overwrites
        graph = local.grad and (result._node is not None or self._node is not None or
                                (self._base is not None and self._base._node is not None))  # fmt: skip
        if self._storage is None:
            mark_stale(self._value, self._count)
            self._value = tape.current(result)
            self._count = self._count + 1
            if graph:
                self._node, self._nr = result._node, result._nr
            return
        if not self._chain:
            self._storage.replace(tape.current(result), self._silently())
            self._value, self._seen = self._storage.value, self._storage.version
            if graph:
                self._node, self._nr = result._node, result._nr
            return
        base = self._base
        if graph and base is not None:
            base._write(_scatter(base, self._base_steps, result))
            self._node = base._node  # until _refresh reads the view anew, it only says that there is a graph
            self._seen = -1
            return
        storage = self._storage
        storage.sync()
        static, numbers = _write_args(self._chain)
        value = tape.current(result)
        silent = self._silently()
        if not silent:
            mark_stale(self._value, storage.count)
        storage.replace(record(WRITE, static, (storage.value, value, *numbers))[1][0], silent)
        self._value = value
        self._seen = storage.version
        if graph:
            self._node, self._nr = result._node, result._nr

    def _silently(self) -> bool:
        """Whether a write goes unnoticed by the tape; counts it if so."""
        if self._counter is None:
            return False
        self._counter[0] += 1
        return True

    def _assign(self, value: Value) -> None:
        """Replace the data (``.grad`` accumulation, optimizers): no graph, one more modification."""
        storage = self._storage
        if storage is None:
            mark_stale(self._value, self._count)
            self._value = value
            self._count = self._count + 1
        elif not self._chain and self._counter is None:
            storage.replace(value)
            self._value, self._seen = value, storage.version
        else:
            before, local.grad = local.grad, False
            try:
                self._write(wrap(value))
            finally:
                local.grad = before

    # -- what is known at once ------------------------------------------------------------------------------------

    @property
    def _aval(self) -> Any:
        return self._value.aval

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return tuple.__new__(Size, self._value.aval.shape)

    def size(self, dim: int | None = None) -> Any:
        """``shape``, or its entry ``dim``."""
        shape = self._value.aval.shape
        if dim is None:
            return tuple.__new__(Size, shape)
        from torchlike.ops.declare import canonical_dim

        return shape[canonical_dim(dim, len(shape), scalar_ok=False)]

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        return dtypes._OF_NUMPY[self._value.aval.dtype]

    @property
    def device(self) -> Device:
        """Where the data is."""
        return from_engine(self._value.aval.device)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._value.aval.ndim

    def dim(self) -> int:
        """The number of dimensions."""
        return self._value.aval.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self._value.aval.size

    nelement = numel

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._value.aval.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._value.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._value.aval.size * self._value.aval.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """Steps in memory, in elements, to the next index of each dimension (or of ``dim``)."""
        strides = self._layout()[1]
        if dim is None:
            return strides
        from torchlike.ops.declare import canonical_dim

        return strides[canonical_dim(dim, len(strides), scalar_ok=False)]

    def storage_offset(self) -> int:
        """Where in its storage the tensor begins, in elements."""
        return self._layout()[2]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in row-major order (or in that of ``memory_format``) in memory."""
        size, stride, _ = self._layout()
        if memory_format is not None and memory_format.name.startswith("channels_last"):
            order = (0, *range(2, len(size)), 1)
            if len(size) != (4 if memory_format.name == "channels_last" else 5):
                return False
            return is_contiguous([size[d] for d in order], [stride[d] for d in order])
        return is_contiguous(size, stride)

    def data_ptr(self) -> int:
        """A number that is equal for tensors that begin at the same place of the same storage."""
        if self.numel() == 0:
            return 0
        return self._share().address + self._layout()[2] * self.itemsize

    @property
    def layout(self) -> Any:
        """``torch.strided``."""
        from torchlike.tensor.formats import strided

        return strided

    # -- the graph ------------------------------------------------------------------------------------------------

    def _settled_node(self) -> Any:
        if self._storage is not None and self._storage.version != self._seen:
            self._refresh()
        return self._node

    @property
    def requires_grad(self) -> bool:
        """Whether operators on this tensor are put on the tape."""
        return self._settled_node() is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` of a leaf."""
        node = self._settled_node()
        if requires_grad:
            if node is None:
                if self._value.aval.dtype.kind not in "fcV":
                    raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
                if self._inference:
                    raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
                self._node = LEAF
        elif node is LEAF:
            self._node = None
        elif node is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        return self

    @property
    def grad_fn(self) -> Any:
        """The node that made this tensor; None for leaves."""
        node = self._settled_node()
        return None if node is None or node is LEAF else node

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operator made this tensor."""
        node = self._settled_node()
        return node is None or node is LEAF

    @property
    def output_nr(self) -> int:
        """Which result of its node the tensor is."""
        return self._nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward`` accumulated."""
        if self._grad is None and not self.is_leaf and not (self._node.retained and self._nr in self._node.retained):
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                "Tensor, use .retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value.shape != self.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size: expected {list(self.shape)}, got {list(value.shape)}"
                )
            if value.dtype is not self.dtype:
                raise RuntimeError(f"assigned grad has data of a different type: expected {self.dtype}, got {value.dtype}")
            if value.device != self.device:
                raise RuntimeError("assigned grad has data located on a different device")
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def retains_grad(self) -> bool:
        """Whether ``backward`` fills in the ``grad`` of this non-leaf."""
        return bool(not self.is_leaf and self._node.retained and self._nr in self._node.retained)

    def retain_grad(self) -> None:
        """Have ``backward`` fill in ``grad`` of this non-leaf too."""
        node = self._settled_node()
        if node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if node is not LEAF:
            if node.retained is None:
                node.retained = {}
            node.retained[self._nr] = weakref.ref(self)

    def register_hook(self, hook: Any) -> RemovableHandle:
        """``hook(grad)`` runs when the gradient of this tensor is known; a tensor that it returns replaces it."""
        node = self._settled_node()
        if node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if node is LEAF:
            if self._hooks is None:
                self._hooks = OrderedDict()
            return RemovableHandle(self._hooks, hook)
        if node.tensor_hooks is None:
            node.tensor_hooks = {}
        return RemovableHandle(node.tensor_hooks.setdefault(self._nr, OrderedDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> RemovableHandle:
        """``hook(tensor)`` runs after the gradient of this leaf was accumulated."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._accumulate_hooks is None:
            self._accumulate_hooks = OrderedDict()
        return RemovableHandle(self._accumulate_hooks, hook)

    def backward(
        self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add the gradients of this tensor to the ``grad`` of the leaves (or ``inputs``) that it was computed from."""
        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Tensor:
        """The same data (shared storage) outside the graph."""
        out = self._alias()
        if self._inference:
            out._inference = True
        return out

    def detach_(self) -> Tensor:
        """Take this tensor out of the graph."""
        if self._base is not None and self._node is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._node, self._nr = None, 0
        return self

    @property
    def data(self) -> Tensor:
        """The same data outside the graph, whose modifications the tape does not notice."""
        out = self._alias()
        out._counter = [0]
        return out

    @data.setter
    def data(self, new: Tensor) -> None:
        if not isinstance(new, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
        value = tape.current(new)
        if (value.aval.dtype.kind in "fcV") != (self._value.aval.dtype.kind in "fcV") and self._node is not None:
            raise RuntimeError(
                f"data set to a tensor that requires gradients must be floating point or complex dtype, got {new.dtype}"
            )
        if new._storage is not None and new._storage is self._storage and new._chain == self._chain:
            return
        count = self._version
        if new._storage is None:
            # the common ``p.data = p.data - ...``: the right side is a temporary, but may also live on
            new._count = count
            new._share()
        self._storage, self._chain = new._storage, new._chain
        self._seen, self._value = new._seen, value
        self._base, self._base_steps = None, ()
        self._strides, self._dense = new._strides, new._dense

    @property
    def _version(self) -> int:
        if self._counter is not None:
            return self._counter[0]
        return self._count if self._storage is None else self._storage.count

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return self._inference

    def _ones_like(self) -> Tensor:
        aval = tape.current(self).aval
        return Tensor._from_numpy(np.ones(aval.shape, aval.dtype), device=aval.device)

    def _zeros_like(self) -> Tensor:
        aval = tape.current(self).aval
        return Tensor._from_numpy(np.zeros(aval.shape, aval.dtype), device=aval.device)

    # -- values ---------------------------------------------------------------------------------------------------

    def _host(self) -> np.ndarray:
        """The elements as a NumPy array that must not be written to or kept."""
        array = array_of(tape.current(self))
        if isinstance(array, jax.core.Tracer):
            raise jax.errors.TracerArrayConversionError(array)
        return np.asarray(array)

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self._value.aval.size != 1:
            raise RuntimeError(f"a Tensor with {self._value.aval.size} elements cannot be converted to Scalar")
        x = self._host().reshape(()).item()
        return x if isinstance(x, (float, int, complex, bool)) else float(x)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        host = self._host()
        return (host.astype(np.float32) if host.dtype.kind == "V" else host).tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The elements as a NumPy array.

        Up to 65 536 elements the array and a CPU tensor share their memory as in torch: a change of one is seen in the
        other. Larger arrays are copies, since values are immutable underneath.
        """
        if not force:
            if self.requires_grad:
                raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
            if self._value.aval.device != "cpu":
                raise TypeError(
                    f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                    "memory first."
                )
            if self._value.aval.dtype.kind == "V":
                raise TypeError(f"Got unsupported ScalarType {_scalar_type(self.dtype)}")
        host = self._host()
        storage = self._storage
        if self._value.aval.size > MIRROR_LIMIT or self._chain or self._strides or self._value.aval.device != "cpu" or (
            storage is not None and storage.mirror is not None
        ):
            return _strided_copy(self, host)
        array = host.copy()
        storage = self._share()
        storage.mirror = Mirror(array)
        storage.version = float("nan")
        return array[...] if array.ndim else array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._value.aval.dtype.kind == "V" and dtype is None:
            raise TypeError(f"Got unsupported ScalarType {_scalar_type(self.dtype)}")
        host = self._host()
        return host.astype(dtype) if dtype is not None and np.dtype(dtype) != host.dtype else host.copy()

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
        if array.dtype == bool:
            array = array.astype(np.uint8) if context is None else array
        return Tensor._from_numpy(np.array(array))

    def jax(self) -> Any:
        """The jax array, without a copy. It stays valid and unchanged whatever happens to the tensor."""
        value = tape.current(self)
        array = release(value)
        if isinstance(array, np.ndarray):
            with jax.enable_x64(True):
                array = value.array = jax.device_put(array)
        return array

    def __jax_array__(self) -> Any:
        return self.jax()

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.jax().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> Any:
        return self.jax().__dlpack_device__()

    def __bool__(self) -> bool:
        n = self._value.aval.size
        if n != 1:
            if n == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._host().reshape(()))

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self._value.aval.dtype.kind not in "iub" or self._value.aval.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        shape = self._value.aval.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def __iter__(self) -> Any:
        if self._value.aval.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, (Tensor, int, float, complex, bool)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
            )
        return bool((element == self).any())

    def __format__(self, spec: str) -> str:
        if self._value.aval.ndim == 0 and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from torchlike.tensor.display import render

        return render(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from torchlike.tensor.copying import reduce

        return reduce(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        from torchlike.tensor.copying import deepcopy

        return deepcopy(self, memo)

    def as_subclass(self, cls: type) -> Any:
        """The same tensor as an instance of a subclass."""
        out = self._view_as_self()
        out.__class__ = cls
        return out

    def _view_as_self(self) -> Tensor:
        from torchlike.ops.views import alias

        return self._view(alias, (), dense=True)

    # -- odds and ends that torch has as attributes -----------------------------------------------------------------

    is_cuda = property(lambda self: self._value.aval.device.startswith("cuda"), doc="Whether the data is on a GPU.")
    is_cpu = property(lambda self: self._value.aval.device == "cpu", doc="Whether the data is on the host.")
    is_meta = property(lambda self: self._value.aval.device == "meta", doc="Whether there is no data, only a shape.")
    is_sparse = is_quantized = is_mps = is_xpu = is_mkldnn = is_nested = is_sparse_csr = is_vulkan = is_xla = is_ipu = False
    is_maia = is_mtia = False
    names = property(lambda self: (None,) * self.ndim, doc="Named dimensions are not supported: all None.")

    def get_device(self) -> int:
        """The index of the CUDA device; -1 on the CPU."""
        d = self.device
        return -1 if d.type == "cpu" else d.index or 0

    def is_floating_point(self) -> bool:
        """Whether the dtype is a real floating type."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the dtype has negative values."""
        return self.dtype.is_signed

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the data is in pinned memory: never."""
        return False

    def pin_memory(self, device: Any = None) -> Tensor:
        """The tensor itself: JAX stages transfers on its own."""
        return self

    def is_shared(self) -> bool:
        """Whether the data is in shared memory."""
        return False

    def share_memory_(self) -> Tensor:
        """The tensor itself: values travel between processes by copy."""
        return self

    def is_neg(self) -> bool:
        """Negation is never lazy here."""
        return False

    def is_conj(self) -> bool:
        """Conjugation is never lazy here."""
        return False

    def has_names(self) -> bool:
        """Named dimensions are not supported."""
        return False


def jax_traced(t: Variable) -> bool:
    """Whether the tensor's array belongs to a JAX transformation under way (such tensors do not alias)."""
    array = t._value.array
    return array is not None and isinstance(array, jax.core.Tracer)


def _write_args(chain: Sequence[Step]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Static arguments and numbers of ``WRITE`` for a chain."""
    static = tuple((view_op, values[1], len(numbers)) for view_op, values, numbers in chain)
    return static, tuple(n for _, _, numbers in chain for n in numbers)


def _scatter(base: Tensor, steps: Sequence[Step], new: Tensor) -> Tensor:
    """``base`` with the elements that the chain of views shows replaced by ``new``, on the tape."""
    static, numbers = _write_args(steps)
    return apply(WRITE, static, (base, new, *numbers))[0]


def _scalar_type(d: dtypes.dtype) -> str:
    """Torch's name of a dtype in error messages ("Float", "Long", ...)."""
    return _SCALAR_TYPES.get(d.name, d.name.capitalize())


_SCALAR_TYPES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
    "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip


def _strided_copy(t: Tensor, host: np.ndarray) -> np.ndarray:
    """A copy whose memory is ordered like the tensor's."""
    stride = t._layout()[1]
    order = sorted(range(host.ndim), key=lambda d: -stride[d])
    if order == list(range(host.ndim)):
        return host.copy()
    return np.ascontiguousarray(host.transpose(order)).transpose(np.argsort(order))


tape.set_class(Tensor)
