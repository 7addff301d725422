"""Recurrent layers ``RNN, LSTM, GRU`` and their cells."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import Any

import torchlike as torch
from torchlike.nn import functional as F
from torchlike.nn import init
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import Parameter
from torchlike.nn.utils.rnn import PackedLayout, PackedSequence
from torchlike.ops import recurrent
from torchlike.tensor.dispatch import make_function
from torchlike.tensor.tensor import Tensor

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_lstm, _gru, _elman = make_function(recurrent.lstm_layer), make_function(recurrent.gru_layer), make_function(recurrent.rnn_layer)
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _layer(mode: str, x: Tensor, state: tuple[Tensor, ...], weights: dict[str, Any], mask: Tensor | None, reverse: bool) -> Any:
    """One direction of one layer: output, then the last states."""
    if mode == "LSTM":
        return _lstm(x, *state, **weights, mask=mask, reverse=reverse)[:3]
    if mode == "GRU":
        return _gru(x, *state, **weights, mask=mask, reverse=reverse)[:2]
    return _elman(x, *state, **weights, mask=mask, reverse=reverse, relu=mode == "RNN_RELU")


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The entries of ``dim`` in another order."""
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What the recurrent layers share. ``mode``: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".

    Input ``(T, N, input_size)``, ``(N, T, input_size)`` with ``batch_first``, ``(T, input_size)`` for one sequence, or a
    ``PackedSequence``. States are ``(num_layers * directions, N, size)``.
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, "
                f"but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        for name, value, kind in (("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int),
                                  ("hidden_size", hidden_size, int)):  # fmt: skip
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size

        gates, out = _GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                shapes = {"weight_ih": (gates, input_size if layer == 0 else out * (1 + bidirectional)), "weight_hh": (gates, out)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = {f"{kind}_l{layer}{suffix}": shape for kind, shape in shapes.items()}
                for name, shape in names.items():
                    setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(names))
        self.reset_parameters()

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: weights need not be neighbours in memory here."""

    def reset_parameters(self) -> None:
        """Uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise torch's errors for a wrong dtype, number of dimensions or size of features."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype and not torch.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: input.to({weight.dtype}), "
                f"or convert model: model.to({input.dtype})"
            )
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _state_sizes(self) -> list[int]:
        return [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, ...], msg: str = "Expected hidden size {}, got {}") -> None:
        """Raise ``RuntimeError`` when a state has the wrong size."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.size())))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """States with their sequences in another order."""
        if permutation is None:
            return hx
        return tuple(apply_permutation(h, permutation) for h in hx) if isinstance(hx, tuple) else apply_permutation(hx, permutation)

    def forward(self, input: Any, hx: Any = None) -> Any:
        packed = input if isinstance(input, PackedSequence) else None
        name = "LSTM" if self.mode == "LSTM" else "GRU" if self.mode == "GRU" else "RNN"
        states = None if hx is None else tuple(hx) if self.mode == "LSTM" else (hx,)
        layout, unbatched = None, False
        if packed is not None:
            x = packed.data
            self.check_input(x, packed.batch_sizes)
            layout = PackedLayout(packed.batch_sizes)
            if states is not None:
                states = self.permute_hidden(states, packed.sorted_indices)
            x, batch = layout.pad(x), layout.batch
        else:
            x = input
            if x.dim() not in (2, 3):
                tail = "D tensor instead" if name == "RNN" else "D instead"
                raise ValueError(f"{name}: Expected input to be 2D or 3D, got {x.dim()}{tail}")
            unbatched = x.dim() == 2
            if states is not None:
                self._check_state_dims(states, 2 if unbatched else 3)
            if unbatched:
                x = x.unsqueeze(0 if self.batch_first else 1)
                states = None if states is None else tuple(h.unsqueeze(1) for h in states)
            self.check_input(x, None)
            x = x.transpose(0, 1) if self.batch_first else x
            batch = x.size(1)
            if x.size(0) == 0:
                raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        layers = self.num_layers * (1 + self.bidirectional)
        if states is None:
            states = tuple(torch.zeros(layers, batch, n, dtype=x.dtype, device=x.device) for n in self._state_sizes())
        for i, (h, n) in enumerate(zip(states, self._state_sizes(), strict=True)):
            what = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
            self.check_hidden_size(h, (layers, batch, n), f"Expected {what} size {{}}, got {{}}")

        output, states = self._run(x, states, layout)
        if packed is not None:
            result = PackedSequence(layout.pack(output), packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)  # type: ignore[union-attr]
            states = self.permute_hidden(states, packed.unsorted_indices)
        else:
            result = output.transpose(0, 1) if self.batch_first else output
            if unbatched:
                result = result.squeeze(0 if self.batch_first else 1)
                states = tuple(h.squeeze(1) for h in states)
        return result, states if self.mode == "LSTM" else states[0]

    def _check_state_dims(self, states: tuple[Tensor, ...], dims: int) -> None:
        if all(h.dim() == dims for h in states):
            return
        case = "For batched 3-D" if dims == 3 else "For unbatched 2-D"
        if self.mode == "LSTM":
            got = ", ".join(f"{h.dim()}-D" for h in states)
            raise RuntimeError(f"{case} input, hx and cx should also be {dims}-D but got ({got}) tensors")
        raise RuntimeError(f"{case} input, hx should also be {dims}-D but got {states[0].dim()}-D tensor")

    def _run(self, x: Tensor, states: tuple[Tensor, ...], layout: PackedLayout | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """All layers over ``x (T, N, F)``."""
        mask = None if layout is None or layout.mask is None else layout.mask.to(x.device)
        last: list[Any] = []
        per_layer = 1 + self.bidirectional
        split = [h.unbind(0) for h in states]
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(per_layer):
                i = layer * per_layer + direction
                weights = {_OPERAND[n.split("_l")[0]]: getattr(self, n) for n in self._all_weights[i]}
                output, *final = _layer(self.mode, x, tuple(h[i] for h in split), weights, mask, direction == 1)
                outputs.append(output)
                last.append(final)
            x = outputs[0] if per_layer == 1 else torch.cat(outputs, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                # torch draws for the packed steps only.
                x = F.dropout(x, self.dropout) if layout is None else layout.pad(F.dropout(layout.pack(x), self.dropout))
        if len(last) == 1:
            return x, tuple(h.unsqueeze(0) for h in last[0])
        return x, tuple(torch.stack(h) for h in zip(*last, strict=True))

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


_OPERAND = {"weight_ih": "w_ih", "weight_hh": "w_hh", "bias_ih": "b_ih", "bias_hh": "b_hh", "weight_hr": "w_hr"}


class RNN(RNNBase):
    """``h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh)`` (or ReLU).

    ``RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None)``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); gives ``output, (h_n, c_n)``.

    ``LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0,
    device=None, dtype=None)``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent unit (Cho et al., 2014), reset gate after the product; gives ``output, h_n``.

    ``GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, device=None,
    dtype=None)``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the cells share: weights for ``num_chunks`` gates."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(torch.empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(torch.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _step(self, cell: Callable[..., Any], input: Tensor, states: tuple[Tensor, ...] | None, pair: bool = False) -> Any:
        """Call a cell's function on ``(N, input_size)`` or ``(input_size,)``."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, h in enumerate(states or ()):
            if h.dim() not in (1, 2):
                what = f"hx[{i}]" if pair else "hidden"
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {h.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if states is None:
            zeros = torch.zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device)
            states = (zeros, zeros) if pair else (zeros,)
        elif not batched:
            states = tuple(h.unsqueeze(0) for h in states)
        result = cell(x, states if pair else states[0], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if batched:
            return result
        return tuple(r.squeeze(0) for r in result) if pair else result.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an ``RNN``: ``(N, input_size)`` and ``(N, hidden_size)`` to ``(N, hidden_size)``."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        cell = torch.rnn_tanh_cell if self.nonlinearity == "tanh" else torch.rnn_relu_cell
        return self._step(cell, input, None if hx is None else (hx,))


class LSTMCell(RNNCellBase):
    """One step of an ``LSTM``; the state is a pair."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step(torch.lstm_cell, input, None if hx is None else tuple(hx), pair=True)


class GRUCell(RNNCellBase):
    """One step of a ``GRU``."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(torch.gru_cell, input, None if hx is None else (hx,))
