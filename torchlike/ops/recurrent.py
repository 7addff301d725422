"""Recurrent layers: a whole layer over time is one operator (``lax.scan``), and so is its gradient; and the cells.

``input`` is ``(T, N, F)``. ``mask (T, N)`` says which steps exist (None: all); at the others the state stays as it is. So one
program serves every set of lengths with the same longest one, and no program grows with ``T``.

Of a step only the product with the hidden state is in the loop, forward and backward; all other products are done for all steps at
once. The gates are a last result of a layer, which only its gradient reads. Gate order and formulas as in torch's documentation:
LSTM ``i, f, g, o``; GRU ``r, z, n`` with the reset gate after the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from torchlike.ops.declare import FLOAT, Array, op

_WEIGHTS = ("input", "h0", "c0", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr")


def _project(x: Any, w: Any) -> Any:
    """``x @ w.T``."""
    return lax.dot_general(x, w, (((x.ndim - 1,), (1,)), ((), ())))


def _plus(x: Any, *biases: Any) -> Any:
    for b in biases:
        x = x if b is None else x + b
    return x


def _where(mask: Any, new: Any, old: Any) -> Any:
    """``new`` at the steps that exist."""
    return new if mask is None else jnp.where(mask[..., None], new, old)


def _before(states: Any, first: Any, reverse: bool) -> Any:
    """The states before each step, from the states after them."""
    return jnp.concatenate([states[1:], first[None]] if reverse else [first[None], states[:-1]])


def _start(d_h: Any, *operands: Any) -> Any:
    """The gradient of the last state, where the loop backward starts.

    It names all operands: the tape keeps only what a gradient reads, and the gradient of the gradient needs those too that enter
    by their derivative alone.
    """
    return d_h + 0 * sum(x.reshape(-1)[0] for x in operands if x is not None)


def _weight_gradients(d_ih: Any, d_hh: Any, x: Any, h: Any, b_ih: Any, b_hh: Any) -> tuple[Any, ...]:
    """Gradients of both matrices and both biases from those of the gates ``(T, N, G)``."""
    over = (((0, 1), (0, 1)), ((), ()))
    return (
        lax.dot_general(d_ih, x, over),
        lax.dot_general(d_hh, h, over),
        None if b_ih is None else jnp.sum(d_ih, axis=(0, 1)),
        None if b_hh is None else jnp.sum(d_hh, axis=(0, 1)),
    )


# -- LSTM -------------------------------------------------------------------------------------------------------------


def _lstm_gates(pre: Any) -> Any:
    """``i, f, g, o`` one after the other in the last dimension."""
    i, f, g, o = jnp.split(pre, 4, axis=-1)
    return jnp.concatenate([jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)], axis=-1)


@jax.custom_jvp
def _lstm_gates_known(gates: Any, pre: Any) -> Any:
    """``gates``, which the forward kept, with the derivative of ``_lstm_gates(pre)``.

    For the gradient of the gradient. ``pre`` enters only by its own derivative, so its numbers are never computed.
    """
    return gates


@_lstm_gates_known.defjvp
def _(primals: Any, tangents: Any) -> Any:
    i, f, g, o = jnp.split(primals[0], 4, axis=-1)
    return primals[0], jnp.concatenate([i * (1 - i), f * (1 - f), 1 - g * g, o * (1 - o)], axis=-1) * tangents[1]


@op(promote=FLOAT, promote_args=_WEIGHTS, strides="contiguous", function=False, method=False, out=False, autocast="lower")
def lstm_layer(
    input: Array,
    h0: Array,
    c0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    w_hr: Array | None = None,
    mask: Array | None = None,
    reverse: bool = False,
):
    """One direction of one LSTM layer: outputs ``(T, N, H)``, last hidden and cell state; gates. ``w_hr`` projects the hidden state."""
    turned = w_hh.T  # once, not in every step

    def step(state, at):
        (h, c), (x, m) = state, at
        gates = _lstm_gates(x + h @ turned)
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        new_c = f * c + i * g
        new_h = o * jnp.tanh(new_c)
        if w_hr is not None:
            new_h = _project(new_h, w_hr)
        new_h, new_c = _where(m, new_h, h), _where(m, new_c, c)
        return (new_h, new_c), (new_h, gates)

    x = _plus(_project(input, w_ih), b_ih, b_hh)
    (h, c), (output, gates) = lax.scan(step, (h0, c0), (x, mask), reverse=reverse)
    return output, h, c, gates


@lstm_layer.vjp
def _(grads, results, input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, mask, reverse):
    h = _before(results[0], h0, reverse)
    gates = _lstm_gates_known(results[3], _plus(_project(input, w_ih) + _project(h, w_hh), b_ih, b_hh))
    i, f, g, o = jnp.split(gates, 4, axis=-1)

    def cells(c, at):
        forget, add, m = at
        new = _where(m, forget * c + add, c)
        return new, new

    _, after = lax.scan(cells, c0, (f, i * g, mask), reverse=reverse)
    c = _before(after, c0, reverse)
    tanh_c = jnp.tanh(after)
    # The factors that do not depend on the gradients, for all steps at once (46 ms; within the loop 51 ms).
    from_c = jnp.concatenate([g * i * (1 - i), c * f * (1 - f), i * (1 - g * g)], axis=-1)
    from_h = tanh_c * o * (1 - o)
    to_c = o * (1 - tanh_c * tanh_c)

    def step(state, at):
        (dh, dc), (d_out, k_c, k_o, k_h, forget, m) = state, at
        dh_all = dh + d_out
        d_raw = dh_all if w_hr is None else dh_all @ w_hr
        dc_all = dc + d_raw * k_h
        d_pre = jnp.concatenate([jnp.tile(dc_all, (1, 3)) * k_c, d_raw * k_o], axis=-1)
        if m is not None:
            d_pre = jnp.where(m[:, None], d_pre, 0)
        state = (_where(m, d_pre @ w_hh, dh_all), _where(m, dc_all * forget, dc))
        return state, (d_pre, dh_all if w_hr is not None else None)

    (dh0, dc0), (d_pre, d_hidden) = lax.scan(
        step, (_start(grads[1], w_ih, b_ih, b_hh), grads[2]), (grads[0], from_c, from_h, to_c, f, mask), reverse=not reverse
    )
    d_hr = None
    if w_hr is not None:
        raw = _where(mask, o * tanh_c, 0)
        d_hr = lax.dot_general(d_hidden, raw, (((0, 1), (0, 1)), ((), ())))
    return (d_pre @ w_ih, dh0, dc0, *_weight_gradients(d_pre, d_pre, input, h, b_ih, b_hh), d_hr, None)


# -- GRU --------------------------------------------------------------------------------------------------------------


def _gru_gates(x: Any, h: Any) -> Any:
    """``r, z, n`` and the hidden part of ``n``, from the products with the input and with the hidden state."""
    xr, xz, xn = jnp.split(x, 3, axis=-1)
    hr, hz, hn = jnp.split(h, 3, axis=-1)
    r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
    return jnp.concatenate([r, z, jnp.tanh(xn + r * hn), hn], axis=-1)


@jax.custom_jvp
def _gru_gates_known(gates: Any, x: Any, h: Any) -> Any:
    """``gates``, which the forward kept, with the derivative of ``_gru_gates(x, h)``."""
    return gates


@_gru_gates_known.defjvp
def _(primals: Any, tangents: Any) -> Any:
    r, z, n, hn = jnp.split(primals[0], 4, axis=-1)
    xr, xz, xn = jnp.split(tangents[1], 3, axis=-1)
    hr, hz, d_hn = jnp.split(tangents[2], 3, axis=-1)
    d_r, d_z = r * (1 - r) * (xr + hr), z * (1 - z) * (xz + hz)
    return primals[0], jnp.concatenate([d_r, d_z, (1 - n * n) * (xn + d_r * hn + r * d_hn), d_hn], axis=-1)


@op(promote=FLOAT, promote_args=_WEIGHTS, strides="contiguous", function=False, method=False, out=False, autocast="lower")
def gru_layer(
    input: Array,
    h0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    mask: Array | None = None,
    reverse: bool = False,
):
    """One direction of one GRU layer: outputs ``(T, N, H)`` and the last hidden state; gates."""
    turned = w_hh.T

    def step(h, at):
        x, m = at
        gates = _gru_gates(x, _plus(h @ turned, b_hh))
        _, z, n, _ = jnp.split(gates, 4, axis=-1)
        new = _where(m, (1 - z) * n + z * h, h)
        return new, (new, gates)

    h, (output, gates) = lax.scan(step, h0, (_plus(_project(input, w_ih), b_ih), mask), reverse=reverse)
    return output, h, gates


@gru_layer.vjp
def _(grads, results, input, h0, w_ih, w_hh, b_ih, b_hh, mask, reverse):
    h = _before(results[0], h0, reverse)
    gates = _gru_gates_known(results[2], _plus(_project(input, w_ih), b_ih), _plus(_project(h, w_hh), b_hh))
    r, z, n, hn = jnp.split(gates, 4, axis=-1)
    to_n = (1 - z) * (1 - n * n)
    to_r = to_n * hn * r * (1 - r)
    to_z = (h - n) * z * (1 - z)
    from_h = jnp.concatenate([to_r, to_z, to_n * r], axis=-1)

    def step(dh, at):
        d_out, k, keep, m = at
        dh_all = dh + d_out
        d_hh = jnp.tile(dh_all, (1, 3)) * k
        return _where(m, dh_all * keep + d_hh @ w_hh, dh_all), dh_all

    dh0, dh = lax.scan(step, _start(grads[1], w_ih, b_ih, b_hh), (grads[0], from_h, z, mask), reverse=not reverse)
    dh = jnp.tile(_where(mask, dh, 0), (1, 1, 3))
    d_ih, d_hh = dh * jnp.concatenate([to_r, to_z, to_n], axis=-1), dh * from_h
    return (d_ih @ w_ih, dh0, *_weight_gradients(d_ih, d_hh, input, h, b_ih, b_hh), None)


# -- plain ------------------------------------------------------------------------------------------------------------


def _nonlinear(relu: bool) -> Callable[[Any], Any]:
    return jax.nn.relu if relu else jnp.tanh


@op(promote=FLOAT, promote_args=_WEIGHTS, strides="contiguous", function=False, method=False, out=False, autocast="lower")
def rnn_layer(
    input: Array,
    h0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    mask: Array | None = None,
    reverse: bool = False,
    relu: bool = False,
):
    """One direction of one Elman layer (tanh or ReLU): outputs ``(T, N, H)`` and the last hidden state."""
    turned = w_hh.T

    def step(h, at):
        x, m = at
        new = _where(m, _nonlinear(relu)(x + h @ turned), h)
        return new, new

    h, output = lax.scan(step, h0, (_plus(_project(input, w_ih), b_ih, b_hh), mask), reverse=reverse)
    return output, h


@rnn_layer.vjp
def _(grads, results, input, h0, w_ih, w_hh, b_ih, b_hh, mask, reverse, relu):
    output = results[0]
    slope = (output > 0).astype(output.dtype) if relu else 1 - output * output

    def step(dh, at):
        d_out, k, m = at
        dh_all = dh + d_out
        d_pre = dh_all * k
        return _where(m, d_pre @ w_hh, dh_all), _where(m, d_pre, 0)

    dh0, d_pre = lax.scan(step, grads[1], (grads[0], slope, mask), reverse=not reverse)
    h = _before(output, h0, reverse)
    return (d_pre @ w_ih, dh0, *_weight_gradients(d_pre, d_pre, input, h, b_ih, b_hh), None)


# -- one step ---------------------------------------------------------------------------------------------------------


def _check_cell(input: Any, hidden: Any, w_ih: Any, w_hh: Any) -> None:
    if input.shape[-1] != w_ih.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {w_ih.shape[1]}")
    if hidden.shape[-1] != w_hh.shape[1]:
        raise RuntimeError(f"hidden0 has inconsistent hidden_size: got {hidden.shape[-1]}, expected {w_hh.shape[1]}")
    if input.shape[:-1] != hidden.shape[:-1]:
        raise RuntimeError(
            f"Input batch size {input.shape[0]} doesn't match hidden0 batch size {hidden.shape[0]}"
        )


def _cell(name: str) -> Any:
    return op(name=name, promote=FLOAT, strides="contiguous", method=False, out=False, autocast="lower")


@_cell("lstm_cell")
def lstm_cell(
    input: Array, hx: Sequence[Array], w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
):
    """One step of an LSTM: the next hidden and cell state."""
    h, c = hx
    _check_cell(input, h, w_ih, w_hh)
    i, f, g, o = jnp.split(_lstm_gates(_plus(_project(input, w_ih) + _project(h, w_hh), b_ih, b_hh)), 4, axis=-1)
    c = f * c + i * g
    return o * jnp.tanh(c), c


@_cell("gru_cell")
def gru_cell(input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None):
    """One step of a GRU: the next hidden state."""
    _check_cell(input, hx, w_ih, w_hh)
    _, z, n, _ = jnp.split(_gru_gates(_plus(_project(input, w_ih), b_ih), _plus(_project(hx, w_hh), b_hh)), 4, axis=-1)
    return (1 - z) * n + z * hx


@_cell("rnn_tanh_cell")
def rnn_tanh_cell(
    input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
):
    """One step of an Elman network with tanh: the next hidden state."""
    _check_cell(input, hx, w_ih, w_hh)
    return jnp.tanh(_plus(_project(input, w_ih) + _project(hx, w_hh), b_ih, b_hh))


@_cell("rnn_relu_cell")
def rnn_relu_cell(
    input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
):
    """One step of an Elman network with ReLU: the next hidden state."""
    _check_cell(input, hx, w_ih, w_hh)
    return jnp.maximum(_plus(_project(input, w_ih) + _project(hx, w_hh), b_ih, b_hh), 0)
