"""``torch.nn.functional``: the declared operators of that namespace, and the compositions of them.

Dropout masks are drawn on the host, in program order, from torch's stream: with one seed they are torch's masks.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import torchlike as torch
from torchlike.autograd.modes import no_grad
from torchlike.tensor import exports
from torchlike.tensor.tensor import Tensor

_ops = exports("nn.functional")
globals().update({k: v for k, v in _ops.items() if not k.startswith("_")})
_torch = exports("torch")


def _op(name: str) -> Callable[..., Any]:
    return _ops.get(name) or _torch[name]


def _legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """The reduction that the two old arguments mean."""
    reduce = True if reduce is None else reduce
    size_average = True if size_average is None else size_average
    chosen = "none" if not reduce else "mean" if size_average else "sum"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{chosen}' instead.", UserWarning, stacklevel=3)
    return chosen


def _reduction(size_average: Any, reduce: Any, reduction: str) -> str:
    chosen = _legacy_reduction(size_average, reduce) if size_average is not None or reduce is not None else reduction
    if chosen not in ("none", "mean", "sum"):
        raise ValueError(f"{chosen} is not a valid value for reduction")
    return chosen


def _reduce(losses: Tensor, reduction: str) -> Tensor:
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


def _finish(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """The result, written into the input when ``inplace``."""
    if not inplace:
        return result
    input._check_inplace()
    return input._update(result)


# -- activations ------------------------------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``."""
    return input.relu_() if inplace else torch.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    return _finish(input, _op("relu6")(input), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input) - 1)``."""
    return _finish(input, _op("elu")(input, alpha), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Scaled exponential linear unit."""
    return _finish(input, _op("selu")(input), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""
    return _finish(input, _op("celu")(input, alpha), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``negative_slope * input``."""
    return _finish(input, _op("leaky_relu")(input, negative_slope), inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    return _finish(input, _op("silu")(input), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return _finish(input, _op("mish")(input), inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _finish(input, _op("hardtanh")(input, min_val, max_val), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``."""
    return _finish(input, _op("hardswish")(input), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``."""
    return _finish(input, _op("hardsigmoid")(input), inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where above ``threshold``, else ``value``."""
    return _finish(input, _op("threshold")(input, threshold, value), inplace)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """Leaky ReLU with a random slope of [lower, upper) while training, else with their mean."""
    if lower > upper:
        raise ValueError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    host = input.detach()._host()
    negative = host.reshape(-1) <= 0
    from torchlike.random.sampling import stream_of

    slopes = np.ones(host.size, host.dtype)
    slopes[negative] = stream_of(None).uniform(int(negative.sum()), lower, upper, np.float64)
    return _finish(input, input * Tensor._from_numpy(slopes.reshape(host.shape)), inplace)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``."""
    return torch.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return torch.tanh(input)


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return input - input.tanh()


def _implicit_dim(name: str, ndim: int, level: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.", UserWarning, stacklevel=level
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials that sum to one along ``dim``."""
    dim = _implicit_dim("softmax", input.dim(), _stacklevel) if dim is None else dim
    return torch.softmax(input, dim, dtype=dtype) if dtype is not None else torch.softmax(input, dim)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Softmax of ``-input``."""
    dim = _implicit_dim("softmin", input.dim(), _stacklevel) if dim is None else dim
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Logarithm of the softmax."""
    dim = _implicit_dim("log_softmax", input.dim(), _stacklevel) if dim is None else dim
    return torch.log_softmax(input, dim, dtype=dtype) if dtype is not None else torch.log_softmax(input, dim)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; one-hot when ``hard``, with the soft gradient (Jang et al., 2017)."""
    noise = -torch.empty_like(logits).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return torch.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft


for _name in ("relu", "elu", "selu", "celu", "leaky_relu", "hardtanh", "threshold", "rrelu"):
    def _make(function: Callable[..., Any]) -> Callable[..., Any]:
        def in_place(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            return function(input, *args, inplace=True, **kwargs)

        in_place.__name__ = function.__name__ + "_"
        in_place.__doc__ = f"In-place ``{function.__name__}``."
        return in_place

    globals()[_name + "_"] = _make(globals()[_name])


# -- dropout ----------------------------------------------------------------------------------------------------------


def _check_p(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability ``p``, scale the others by ``1 / (1 - p)``."""
    _check_p(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return _finish(input, input * torch.zeros_like(input), inplace)
    with no_grad():
        noise = torch.empty_like(input).bernoulli_(1 - p)
        noise.div_(1 - p)
    return _finish(input, input * noise, inplace)


def _feature_noise(input: Tensor) -> Tensor:
    return input.new_empty((input.shape[0], input.shape[1], *([1] * (input.dim() - 2))))


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return _finish(input, input * torch.zeros_like(input), inplace)
    with no_grad():
        noise = _feature_noise(input).bernoulli_(1 - p)
        noise.div_(1 - p)
    return _finish(input, input * noise, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of ``(N, C, L)`` or ``(C, L)``."""
    _check_p(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).")
    if input.dim() == 2:
        out = _feature_dropout(input.unsqueeze(0), p, training, False).squeeze(0)
        return _finish(input, out, inplace) if inplace and out is not input else out
    return _feature_dropout(input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of ``(N, C, H, W)``."""
    _check_p(p)
    if input.dim() not in (3, 4):
        warnings.warn(f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and will result in an error in a future release.", stacklevel=2)
    return _feature_dropout(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""
    _check_p(p)
    if input.dim() == 4:
        return _feature_dropout(input.unsqueeze(0), p, training, False).squeeze(0)
    return _feature_dropout(input, p, training, inplace)


_ALPHA = 1.7580993408473766  # scale * alpha of SELU


def _alpha_dropout(input: Tensor, p: float, training: bool, inplace: bool, by_feature: bool) -> Tensor:
    _check_p(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return _finish(input, input * torch.zeros_like(input), inplace)
    with no_grad():
        noise = (_feature_noise(input) if by_feature else torch.empty_like(input)).bernoulli_(1 - p)
        a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
        b = (noise - 1) * (_ALPHA * a) + _ALPHA * a * p
        noise = noise * a
    return _finish(input, input * noise + b, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of SELU networks (Klambauer et al., 2017)."""
    return _alpha_dropout(input, p, training, inplace, False)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """``alpha_dropout`` of whole channels."""
    return _alpha_dropout(input, p, training, inplace, True)


# -- embedding --------------------------------------------------------------------------------------------------------


def _renormalize(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that will be read so that their norm is at most ``max_norm``, in place."""
    with no_grad():
        rows = torch.unique(input)
        norms = weight.detach()[rows].norm(norm_type, 1)
        scale = torch.where(norms > max_norm, max_norm / (norms + 1e-7), torch.ones_like(norms))
        weight.detach()[rows] = weight.detach()[rows] * scale.unsqueeze(1)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
              scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:  # fmt: skip
    """``weight[input]``: rows of a table. Gradients are dense; ``sparse`` only checks its arguments."""
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.type()} instead (while checking arguments for embedding)"
        )
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += rows
    array = input._value.array
    if array is not None and input.numel() <= 1 << 16 and not input._value.aval.device.startswith("meta"):
        from torchlike.engine.values import is_tracer

        if not is_tracer(array):
            host = np.asarray(array)
            if host.size and (host.min() < 0 or host.max() >= rows):
                raise IndexError("index out of range in self")
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return _ops["_embedding"](input, weight, padding_idx, bool(scale_grad_by_freq))


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Tensor | None = None,
                  include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:  # fmt: skip
    """Sums, means or maxima of bags of rows: the rows of a 2-d ``input``, or runs of a 1-d one that begin at ``offsets``."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='{mode}'). Please open a feature "
            "request on GitHub."
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as the input ({input.shape})")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, found offsets")
        bags, size = input.shape
        of_bag = torch.arange(bags).repeat_interleave(size)
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        starts = offsets.tolist()
        if starts and starts[0] != 0:
            raise ValueError(f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {starts[0]}")
        ends = [*starts[1:], input.shape[0]]
        if include_last_offset:
            starts, ends = starts[:-1], starts[1:]
        bags = len(starts)
        of_bag = torch.tensor(np.repeat(np.arange(bags), [max(e - s, 0) for s, e in zip(starts, ends, strict=True)]), dtype=torch.int64)
        input = input[: len(of_bag)]
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    keep = torch.ones(rows.shape[0], dtype=rows.dtype)
    if padding_idx is not None:
        keep = (input != padding_idx % weight.shape[0]).to(rows.dtype)
    index = of_bag.unsqueeze(1).expand(-1, weight.shape[1])
    if mode == "max":
        low = torch.full((bags, weight.shape[1]), float("-inf"), dtype=rows.dtype)
        best = low.scatter_reduce(0, index, rows.masked_fill(keep.unsqueeze(1) == 0, float("-inf")), "amax", include_self=True)
        return torch.where(best == float("-inf"), torch.zeros_like(best), best)
    factor = keep if per_sample_weights is None else keep * per_sample_weights
    total = torch.zeros((bags, weight.shape[1]), dtype=rows.dtype).scatter_add(0, index, rows * factor.unsqueeze(1))
    if mode == "sum":
        return total
    counts = torch.zeros(bags, dtype=rows.dtype).scatter_add(0, of_bag, keep).clamp_min(1)
    return total / counts.unsqueeze(1)


# -- pooling ----------------------------------------------------------------------------------------------------------


def _max_pool(name: str) -> Callable[..., Any]:
    values, both = _ops[f"_{name}_values"], _ops[f"{name}_with_indices"]

    def pool(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
             return_indices: bool = False) -> Any:  # fmt: skip
        return (both if return_indices else values)(input, kernel_size, stride, padding, dilation, ceil_mode)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"Maximum over windows of the last {name[-2]} dimension(s); with ``return_indices``, also where each was found."
    return pool


max_pool1d, max_pool2d, max_pool3d = (_max_pool(f"max_pool{n}d") for n in (1, 2, 3))


def _adaptive_max_pool(name: str) -> Callable[..., Any]:
    both = _ops[f"{name}_with_indices"]

    def pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        values, indices = both(input, output_size)
        return (values, indices) if return_indices else values

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = "Maximum over windows that give ``output_size`` results."
    return pool


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_max_pool(f"adaptive_max_pool{n}d") for n in (1, 2, 3))


def _lp_pool(dims: int) -> Callable[..., Any]:
    average = _ops[f"avg_pool{dims}d"]

    def pool(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
        size = math.prod(kernel_size) if isinstance(kernel_size, (tuple, list)) else kernel_size**dims
        mean = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (torch.sign(mean) * relu(torch.abs(mean))).mul(size).pow(1.0 / norm_type)

    pool.__name__ = pool.__qualname__ = f"lp_pool{dims}d"
    pool.__doc__ = "The ``norm_type``-th root of the sum of powers over windows."
    return pool


lp_pool1d, lp_pool2d, lp_pool3d = (_lp_pool(n) for n in (1, 2, 3))


def _unpool(dims: int) -> Callable[..., Any]:
    def unpool(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
        def several(x: Any) -> tuple[int, ...]:
            return tuple(x) if isinstance(x, (tuple, list)) else (x,) * dims

        kernel, pad = several(kernel_size), several(padding)
        step = several(stride) if stride is not None and stride != [] else kernel
        default = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], step, pad, kernel, strict=True))
        if output_size is None:
            size = default
        else:
            size = tuple(output_size)[-dims:]
            for d in range(dims):
                if not default[d] - step[d] < size[d] < default[d] + step[d]:
                    raise ValueError(f"invalid output_size {output_size} (dim {d} must be between {default[d] - step[d]} and {default[d] + step[d]})")
        return _ops["_max_unpool"](input, indices, size, dims)

    unpool.__name__ = unpool.__qualname__ = f"max_unpool{dims}d"
    unpool.__doc__ = "Maxima put back to where they came from, zeros elsewhere."
    return unpool


max_unpool1d, max_unpool2d, max_unpool3d = (_unpool(n) for n in (1, 2, 3))


# -- normalisation ----------------------------------------------------------------------------------------------------


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None,
               training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:  # fmt: skip
    """Normalise over all dimensions but the channels; in training, with the batch's statistics, and update the running ones."""
    if input.dim() < 2:
        raise ValueError(f"Expected at least 2 dimensions, got {input.dim()}")
    channels = input.shape[1]
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is not None and t.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t.numel()}")
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        return _ops["_batch_norm_eval"](input, running_mean, running_var, weight, bias, eps)
    n = input.numel() // max(channels, 1)
    if n == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
    out, mean, var = _ops["_batch_norm_train"](input, weight, bias, eps)
    with no_grad():
        if running_mean is not None:
            running_mean._update(_ops["_running_average"](running_mean, mean.detach(), momentum, 1.0))
        if running_var is not None:
            running_var._update(_ops["_running_average"](running_var, var.detach(), momentum, n / max(n - 1, 1)))
    return out


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
                  bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:  # fmt: skip
    """Normalise every channel of every sample."""
    n, c = input.shape[:2]
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    flat = input.reshape(1, n * c, *input.shape[2:])
    out, mean, var = _ops["_batch_norm_train"](flat, None, None, eps)
    out = out.reshape(input.shape)
    shape = (1, c, *([1] * (input.dim() - 2)))
    if weight is not None:
        out = out * weight.reshape(shape)
    if bias is not None:
        out = out + bias.reshape(shape)
    with no_grad():
        count = math.prod(input.shape[2:])
        if running_mean is not None:
            running_mean._update(_ops["_running_average"](running_mean, mean.detach().reshape(n, c).mean(0), momentum, 1.0))
        if running_var is not None:
            running_var._update(_ops["_running_average"](running_var, var.detach().reshape(n, c).mean(0), momentum, count / max(count - 1, 1)))
    return out


def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide by a power of the mean square over neighbouring channels."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    square = input.mul(input)
    zeros = [torch.zeros_like(square[:, :1])] * (size // 2), [torch.zeros_like(square[:, :1])] * ((size - 1) // 2)
    padded = torch.cat([*zeros[0], square, *zeros[1]], 1)
    total = sum((padded[:, i:i + input.shape[1]] for i in range(1, size)), padded[:, :input.shape[1]])
    return input / (total / size).mul(alpha).add(k).pow(beta)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divide by the p-norm along ``dim``."""
    denominator = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return torch.div(input, denominator, out=out) if out is not None else input / denominator


# -- losses -----------------------------------------------------------------------------------------------------------


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                  reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """Cross entropy of logits ``(N, C, *)`` with class indices ``(N, *)`` or class probabilities ``(N, C, *)``."""
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    _check_targets(input, target, ignore_index)
    return _ops["_cross_entropy"](input, target, weight, ignore_index, _reduction(size_average, reduce, reduction), label_smoothing)


def _check_targets(input: Tensor, target: Tensor, ignore_index: int) -> None:
    """Raise torch's IndexError for class indices out of range, when their values are at hand."""
    array = target._value.array
    if array is None or target.dtype.is_floating_point or target.numel() > 1 << 16:
        return
    from torchlike.engine.values import is_tracer

    if is_tracer(array):
        return
    host = np.asarray(array)
    classes = input.shape[1] if input.dim() > 1 else input.shape[0]
    bad = (host != ignore_index) & ((host < 0) | (host >= classes))
    if bad.any():
        raise IndexError(f"Target {host[bad].reshape(-1)[0]} is out of bounds.")


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
             reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Negative log likelihood of class indices, given log probabilities ``(N, C, *)``."""
    _check_targets(input, target, ignore_index)
    return _ops["_nll_loss"](input, target, weight, ignore_index, _reduction(size_average, reduce, reduction))


def _same_size(input: Tensor, target: Tensor) -> None:
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to incorrect results "
            "due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Mean squared error."""
    reduction = _reduction(size_average, reduce, reduction)
    _same_size(input, target)
    losses = (input - target).square()
    if weight is not None:
        losses = losses * weight
        return losses.sum() / weight.expand_as(losses).sum() if reduction == "mean" else _reduce(losses, reduction)
    return _reduce(losses, reduction)


def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
            weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Mean absolute error."""
    reduction = _reduction(size_average, reduce, reduction)
    _same_size(input, target)
    losses = (input - target).abs()
    if weight is not None:
        losses = losses * weight
        return losses.sum() / weight.expand_as(losses).sum() if reduction == "mean" else _reduce(losses, reduction)
    return _reduce(losses, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                   beta: float = 1.0) -> Tensor:  # fmt: skip
    """Squared error below ``beta``, absolute above."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    reduction = _reduction(size_average, reduce, reduction)
    _same_size(input, target)
    d = (input - target).abs()
    if beta == 0:
        return _reduce(d, reduction)
    return _reduce(torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Squared error below ``delta``, ``delta`` times absolute above."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _same_size(input, target)
    d = (input - target).abs()
    losses = torch.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))
    if weight is not None:
        losses = losses * weight
        return losses.sum() / weight.expand_as(losses).sum() if reduction == "mean" else _reduce(losses, reduction)
    return _reduce(losses, _reduction(None, None, reduction))


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Binary cross entropy of probabilities; logarithms are limited to -100 as in torch."""
    reduction = _reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. Please ensure they have the "
            "same size."
        )
    losses = _ops["_binary_cross_entropy"](input, target)
    return _reduce(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                                     reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Binary cross entropy of logits; ``pos_weight`` weighs the positive class."""
    reduction = _reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    losses = _ops["_binary_cross_entropy_with_logits"](input, target, pos_weight)
    return _reduce(losses if weight is None else losses * weight, reduction)


def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:  # fmt: skip
    """Kullback-Leibler divergence of ``target`` from log probabilities."""
    losses = target.exp() * (target - input) if log_target else torch.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / input.shape[0] if input.dim() else losses.sum()
    reduction = _reduction(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the batch size, and "
            "aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    return _reduce(losses, reduction)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
                     eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Negative log likelihood of counts; ``full`` adds Stirling's term."""
    reduction = _reduction(size_average, reduce, reduction)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return _reduce(losses, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """Negative log likelihood of normal targets with variances ``var``."""
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif not ((input.size()[:-1] == var.size()[:-1] and var.size(-1) == 1) or (input.dim() == var.dim() and all(v in (1, i) for v, i in zip(var.shape, input.shape, strict=True)))):
            raise ValueError("var is of incorrect size")
    reduction = _reduction(None, None, reduction)
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return _reduce(losses, reduction)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
                         reduction: str = "mean") -> Tensor:  # fmt: skip
    """Distances of pairs that are alike (1) or not (-1)."""
    zeros = torch.zeros_like(input)
    losses = torch.where(target == 1, zeros, (margin - input).clamp_min(0)) + torch.where(target == -1, zeros, input)
    return _reduce(losses, _reduction(size_average, reduce, reduction))


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """``max(0, -target * (input1 - input2) + margin)``."""
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, input2: {input2.size()}, "
            f"target: {target.size()} "
        )
    return _reduce((-target * (input1 - input2) + margin).clamp_min(0), _reduction(size_average, reduce, reduction))


def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``."""
    return _reduce(torch.log1p(torch.exp(-target * input)), _reduction(size_average, reduce, reduction))


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                          reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Cosine similarities of pairs that are alike (1) or not (-1)."""
    eps = 1e-12
    product = (input1 * input2).sum(-1)
    norm = (((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)).sqrt()
    cosine = product / norm
    zeros = torch.zeros_like(cosine)
    losses = torch.where(target == 1, 1 - cosine, zeros) + torch.where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return _reduce(losses, _reduction(size_average, reduce, reduction))


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                                reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Logistic loss of several classes a sample."""
    losses = -(target * _op("logsigmoid")(input) + (1 - target) * _op("logsigmoid")(-input))
    if weight is not None:
        losses = losses * weight
    return _reduce(losses.sum(-1) / input.size(-1), _reduction(size_average, reduce, reduction))


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None,
                      reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Hinge loss of one class a sample."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    x, t = (input.unsqueeze(0), target.reshape(1)) if input.dim() <= 1 else (input, target)
    z = (margin - x.gather(1, t.unsqueeze(1)) + x).clamp_min(0)
    if p == 2:
        z = z * z
    if weight is not None:
        z = z * weight[t].unsqueeze(1)
    own = torch.arange(x.shape[1]) == t.unsqueeze(1)
    losses = z.masked_fill(own, 0).sum(1) / x.shape[1]
    reduction = _reduction(size_average, reduce, reduction)
    out = _reduce(losses, reduction)
    return out.squeeze(0) if input.dim() <= 1 and reduction == "none" else out


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """Hinge loss of several classes a sample; a target row lists classes up to the first -1."""
    x, t = (input.unsqueeze(0), target.unsqueeze(0)) if input.dim() <= 1 else (input, target)
    classes = x.shape[1]
    listed = (t < 0).long().cumsum(1) == 0
    index = t.clamp_min(0)
    is_target = torch.zeros_like(x).scatter_add(1, index, listed.to(x.dtype)) > 0
    margins = (1 - x.gather(1, index).unsqueeze(2) + x.unsqueeze(1)).clamp_min(0)
    counted = listed.unsqueeze(2) & ~is_target.unsqueeze(1)
    losses = margins.masked_fill(~counted, 0).sum((1, 2)) / classes
    reduction = _reduction(size_average, reduce, reduction)
    out = _reduce(losses, reduction)
    return out.squeeze(0) if input.dim() <= 1 and reduction == "none" else out


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
                        size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = _op("pairwise_distance")
    near, far = distance(anchor, positive, p, eps), distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, distance(positive, negative, p, eps))
    return _reduce((margin + near - far).clamp_min(0), _reduction(size_average, reduce, reduction))


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[..., Any] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:  # fmt: skip
    """``triplet_margin_loss`` with any distance."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = _op("pairwise_distance") if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _reduce((near - far + margin).clamp_min(0), _reduction(None, None, reduction))


def assert_int_or_pair(arg: Sequence[int], arg_name: str, message: str) -> None:
    """Check an argument that is one int or two."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


# -- images -----------------------------------------------------------------------------------------------------------


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Values around the last dimensions: ``(left, right, top, bottom, ...)``; modes constant, reflect, replicate, circular."""
    pad = tuple(int(p) for p in pad)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got padding length {len(pad)} and input of dimension {input.dim()}")
    if mode == "constant":
        return _ops["_pad_constant"](input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return _ops["_pad_mode"](input, pad, mode)


_INTERPOLATIONS = {3: ("nearest", "linear", "area", "nearest-exact"), 4: ("nearest", "bilinear", "bicubic", "area", "nearest-exact"),
                   5: ("nearest", "trilinear", "area", "nearest-exact")}  # fmt: skip


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:  # fmt: skip
    """Resample the dimensions behind ``(N, C)`` to ``size`` or by ``scale_factor``."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    align = bool(align_corners)
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if input.dim() not in _INTERPOLATIONS or mode not in {m for ms in _INTERPOLATIONS.values() for m in ms}:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | "
            f"nearest-exact (got {mode})"
        )
    if mode not in _INTERPOLATIONS[input.dim()]:
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs another number of dimensions")
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
    scales: tuple[float, ...] = ()
    if size is not None:
        target = tuple(int(s) for s in size) if isinstance(size, (tuple, list)) else (int(size),) * dims
        if len(target) != dims:
            raise ValueError(f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of {list(input.shape[2:])} and output size of {size}.")
    else:
        factors = tuple(float(f) for f in scale_factor) if isinstance(scale_factor, (tuple, list)) else (float(scale_factor),) * dims
        if len(factors) != dims:
            raise ValueError(f"Input and scale_factor must have the same number of spatial dimensions, but got {list(input.shape[2:])} and {scale_factor}.")
        target = tuple(math.floor(n * f) for n, f in zip(input.shape[2:], factors, strict=True))
        scales = () if recompute_scale_factor else factors
    if mode == "area":
        return _ops[f"adaptive_avg_pool{dims}d"](input, target)
    if any(t <= 0 for t in target):
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {list(input.shape[2:])} and output {list(target)}")
    kind = "bilinear" if mode in ("linear", "bilinear", "trilinear") else mode
    return _interpolate_op(input, target, kind, scales, align, bool(antialias))


def _interpolate_op(input: Tensor, size: tuple[int, ...], mode: str, scales: tuple[float, ...], align: bool, antialias: bool) -> Tensor:
    from torchlike.autograd.tape import apply
    from torchlike.ops import vision

    # scales are floats, which the declaration's Ints would refuse
    return apply(vision.interpolate, ((), (size, mode, scales, align, antialias)), (input,))[0]


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None) -> Tensor:
    """``interpolate`` under its old name."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` with mode nearest."""
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` with mode bilinear and aligned corners."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Sampling positions for affine maps, for ``grid_sample``."""
    size = tuple(int(n) for n in size)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3) or theta.dim() != 3 or theta.shape[-2:] != (dims, dims + 1):
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {list(size)}. Got {list(theta.shape)}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    return _ops["_affine_grid"](theta, size, bool(align_corners))


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None) -> Tensor:
    """``input`` sampled at the positions of ``grid``."""
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
    if input.dim() not in (4, 5) or grid.dim() != input.dim() or grid.shape[-1] != input.dim() - 2 or grid.shape[0] != input.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected input and grid of matching sizes, but got {list(input.shape)} and {list(grid.shape)}")
    if mode == "bicubic" and input.dim() != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    return _ops["_grid_sample"](input, grid, mode, padding_mode, bool(align_corners))


# -- attention --------------------------------------------------------------------------------------------------------


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:  # fmt: skip
    """``softmax(scale q k^T + mask) v``; a bool mask is True where attention is allowed."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        groups = query.size(-3) // key.size(-3)
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    keep = None
    if dropout_p > 0.0:
        shape = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
        with no_grad():
            keep = torch.empty((*shape, query.shape[-2], key.shape[-2]), dtype=query.dtype).bernoulli_(1 - dropout_p).div_(1 - dropout_p)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    return _ops["_attention"](query, key, value, attn_mask, keep, factor, bool(is_causal))


def _none_or_dtype(input: Tensor | None) -> Any:
    """The dtype of a tensor; None of None."""
    return None if input is None else input.dtype


def _canonical_mask(mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True) -> Tensor | None:
    """A mask as numbers to add: bool masks (True blocks) become -inf."""
    if mask is None:
        return None
    if mask.dtype is not torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=2)
    if mask.is_floating_point():
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None,
    bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None,
    training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Multi-head attention of ``(L, N, E)`` or ``(L, E)`` (Vaswani et al., 2017); the output and the weights."""
    batched = query.dim() == 3
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor")
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, n, e = query.shape
    source = key.shape[0]
    if e != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {e}")
    head = e // num_heads
    if head * num_heads != e:
        raise AssertionError(f"embed_dim {e} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", None, "", query.dtype, False)
    if use_separate_proj_weight:
        b_q, b_k, b_v = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        weights = in_proj_weight.chunk(3)
        b_q, b_k, b_v = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    linear = _ops["linear"]
    q, k, v = linear(query, weights[0], b_q), linear(key, weights[1], b_k), linear(value, weights[2], b_v)
    if attn_mask is not None and attn_mask.dim() == 2:
        if attn_mask.shape != (length, source):
            raise RuntimeError(f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {(length, source)}.")
        attn_mask = attn_mask.unsqueeze(0)
    elif attn_mask is not None and attn_mask.shape != (n * num_heads, length, source):
        raise RuntimeError(f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be {(n * num_heads, length, source)}.")
    extra = 0
    if bias_k is not None and bias_v is not None:
        k, v = torch.cat([k, bias_k.repeat(1, n, 1)]), torch.cat([v, bias_v.repeat(1, n, 1)])
        extra += 1
    q = q.reshape(length, n * num_heads, head).transpose(0, 1)
    k = k.reshape(-1, n * num_heads, head).transpose(0, 1) if static_k is None else static_k
    v = v.reshape(-1, n * num_heads, head).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        zeros = (n * num_heads, 1, head)
        k, v = torch.cat([k, k.new_zeros(zeros)], 1), torch.cat([v, v.new_zeros(zeros)], 1)
        extra += 1
    if extra:
        attn_mask = None if attn_mask is None else pad(attn_mask, (0, extra))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, extra))
    total = k.shape[1]
    if key_padding_mask is not None:
        blocked = key_padding_mask.view(n, 1, 1, total).expand(-1, num_heads, -1, -1).reshape(n * num_heads, 1, total)
        attn_mask = blocked if attn_mask is None else attn_mask + blocked
    p = dropout_p if training else 0.0
    if need_weights:
        scores = torch.bmm(q * math.sqrt(1.0 / float(head)), k.transpose(-2, -1))
        scores = softmax(scores if attn_mask is None else scores + attn_mask, dim=-1)
        scores = dropout(scores, p) if p > 0.0 else scores
        out = torch.bmm(scores, v).transpose(0, 1).reshape(length * n, e)
    else:
        if attn_mask is not None:
            attn_mask = attn_mask.unsqueeze(0) if attn_mask.shape[0] == 1 else attn_mask.view(n, num_heads, -1, total)
        q, k, v = (x.view(n, num_heads, -1, head) for x in (q, k, v))
        out = scaled_dot_product_attention(q, k, v, attn_mask, p).permute(2, 0, 1, 3).reshape(length * n, e)
    out = linear(out, out_proj_weight, out_proj_bias).view(length, n, e)
    if not batched:
        out = out.squeeze(1)
    if not need_weights:
        return out, None
    scores = scores.view(n, num_heads, length, total)
    scores = scores.mean(1) if average_attn_weights else scores
    return out, scores if batched else scores.squeeze(0)
