"""Makes the checkpoints of torch that tests/serialization reads. With torch: ``python make_checkpoints.py``."""

import pathlib
from collections import OrderedDict

import torch

HERE = pathlib.Path(__file__).parent / "checkpoints"


def contents() -> dict:
    """One checkpoint with everything that the format distinguishes."""
    torch.manual_seed(0)
    x = torch.arange(24.0).reshape(2, 3, 4)
    dtypes = [
        "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
        "complex128", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2",
    ]  # fmt: skip
    return {
        "dtypes": {name: torch.tensor([0, 1, 1, 0]).to(getattr(torch, name)) for name in dtypes},
        "views": {"base": x, "transposed": x.transpose(0, 2), "strided": x[1:, ::2], "row": x[1, 2]},
        "expanded": torch.ones(3, 1).expand(3, 5),
        "channels_last": torch.arange(48.0).reshape(1, 3, 4, 4).contiguous(memory_format=torch.channels_last),
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(3.5),
        "parameter": torch.nn.Parameter(torch.tensor([1.0, 2.0])),
        "requires_grad": torch.tensor([1.0], requires_grad=True),
        "conj": torch.tensor([1 + 2j]).conj(),
        "plain": [1, 2.5, "text", None, True, 1j, b"bytes", {3}, 10**30, (4, [5])],
        "size": torch.Size([2, 3]),
        "dtype": torch.float16,
        "device": torch.device("cuda", 1),
        "ordered": OrderedDict(a=1),
    }


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    torch.save(contents(), HERE / "zip.pth")
    torch.save(contents(), HERE / "legacy.pth", _use_new_zipfile_serialization=False)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, HERE / "training.pth")
    torch.save(model, HERE / "module.pth")
