"""Class and function names in files: they are torch's, whatever the module is called here."""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["find", "is_registered", "register", "torch_path"]

_NN_MODULES = {
    "activation": """
        CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish
        MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus
        Softshrink Softsign Tanh Tanhshrink Threshold
    """,
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm",
    "channelshuffle": "ChannelShuffle",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": """
        Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d
        LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d
    """,
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": """
        InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
    """,
    "linear": "Bilinear Identity LazyLinear Linear NonDynamicallyQuantizableLinear",
    "loss": """
        BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss
        HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss MSELoss MarginRankingLoss
        MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss
        SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss
    """,
    "module": "Module",
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": """
        CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d
        ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d
        ZeroPad3d
    """,
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": """
        AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
        AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d
        LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
    """,
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": """
        Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer
    """,
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}
_OPTIMIZERS = """ASGD Adadelta Adagrad Adam AdamW Adamax LBFGS NAdam RAdam RMSprop Rprop SGD Optimizer"""
_DATA = {
    "dataset": "ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset",
    "sampler": """BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler WeightedRandomSampler""",
    "dataloader": "DataLoader",
    "distributed": "DistributedSampler",
}

# (room, class name) -> torch's module: torch's layers live deeper than the namespace that shows them.
_HOMES: dict[tuple[str, str], str] = {
    **{("nn", c): f"torch.nn.modules.{m}" for m, classes in _NN_MODULES.items() for c in classes.split()},
    **{("nn", c): "torch.nn.parameter" for c in ("Buffer", "Parameter", "UninitializedBuffer",
    "UninitializedParameter")}, ("nn", "DataParallel"): "torch.nn.parallel.data_parallel", ("nn",
    "DistributedDataParallel"): "torch.nn.parallel.distributed", **{("optim", c): f"torch.optim.{c.lower()}" for c in
    _OPTIMIZERS.split()}, ("optim", "SparseAdam"): "torch.optim.sparse_adam", ("optim", "Adafactor"):
    "torch.optim._adafactor", ("optim", "Muon"): "torch.optim._muon", **{("utils", c): f"torch.utils.data.{m}" for m,
    classes in _DATA.items() for c in classes.split()},
}

# What has another name in files than the object that stands for it here, both ways.
_by_path: dict[tuple[str, str], Any] = {}
_paths: dict[int, tuple[str, str]] = {}

# Where operators are shown: they say that they are from ``torch``, whichever namespace they are in.
_NAMESPACES = tuple(f"torchlike{n}" for n in ("", ".nn.functional", ".linalg", ".fft", ".special"))

# Modules of torch whose functions users know under another name.
_SHOWN_IN = {"torch._C._nn": "torch.nn.functional", "torch._C._VariableFunctions": "torch"}


def register(module: str, name: str, obj: Any) -> None:
    """``obj`` is what files call ``module.name``."""
    _by_path[module, name] = obj
    _paths.setdefault(id(obj), (module, name))


def is_registered(obj: Any) -> bool:
    """Whether files have a name of their own for ``obj``."""
    return id(obj) in _paths


def torch_path(obj: Any, name: str | None = None) -> tuple[str, str]:
    """Torch's module and qualified name of a class or function; its own where it is not torchlike's."""
    known = _paths.get(id(obj))
    if known is not None:
        return known
    name = name or getattr(obj, "__qualname__", None) or obj.__name__
    module = getattr(obj, "__module__", None) or "__main__"
    parts = module.split(".")
    if parts[0] not in ("torchlike", "torch"):
        return module, name
    room = parts[1] if len(parts) > 1 else ""
    home = _HOMES.get((room, name.partition(".")[0])) if isinstance(obj, type) and parts[0] == "torchlike" else None
    if home is not None:
        return home, name
    own_packages = [".".join(parts[:n]) for n in range(2, len(parts) + 1)]
    for public in (*_NAMESPACES, *own_packages):
        if getattr(sys.modules.get(public), name, None) is obj:
            return "torch" + public.removeprefix(parts[0] if public in own_packages else "torchlike"), name
    return "torch" + module.removeprefix(parts[0]), name


def find(module: str, name: str) -> Any:
    """The object here for torch's ``module.name``. Imports modules: only for files that are trusted.

    Raises:
        AttributeError: torchlike has nothing of that name.
    """
    known = _by_path.get((module, name))
    if known is not None:
        return known
    if module == "torch._C":  # built-in functions and methods are saved as attributes of these
        if name == "_VariableFunctionsClass":
            return sys.modules["torchlike"]
        if name == "TensorBase":
            return sys.modules["torchlike"].Tensor
    module = _SHOWN_IN.get(module, module)
    parts = ["torchlike", *module.split(".")[1:]]
    for n in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:n]))
            for attribute in name.split("."):
                found = getattr(found, attribute)
        except (ImportError, AttributeError):
            continue
        return found
    raise AttributeError(f"the file refers to {module}.{name}, and torchlike has no such class or function")
