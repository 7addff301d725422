"""The porting report, and what ``torchlike compare`` says of two outputs."""

import pytest

from torchlike.compat import compare, report

SCRIPT = """
import torch, torch.nn as nn
import torch.nn.functional as F
from torch.distributed.rpc import remote
from torch import optim as o, Tensor
import numpy as np
x = torch.quantized_gru(np.zeros(3))
F.relu(torch.ones(3)); nn.Linear; o.SGD; torch.utils.data.DataLoader; torch.float32.itemsize; torch.backends.cudnn.benchmark = True
class A(nn.Module):
    def forward(self, x: Tensor) -> torch.Tensor:
        return x.torch.nonsense
"""


def test_missing_names():
    assert report.missing_names(SCRIPT) == [("torch.distributed.rpc.remote", 4), ("torch.quantized_gru", 7)]


def test_show(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert report.show(str(script)) == 1
    assert f"{script}:7: torchlike does not have torch.quantized_gru" in capsys.readouterr().out
    script.write_text("import torch\ntorch.ones(3)\n")
    assert report.show(str(script)) == 0


NUMBERS = [
    ("epoch 1  loss 2.25e-3, 98.06 %", [1, 2.25e-3, 98.06]),
    ("tensor([ 1., -2.])", [1, -2]),
    ("conv2d of torch2", []),
    ("loss=nan lr=inf", [float("nan"), float("inf")]),
    ("v1.2.3 x.5", []),
    ("step 3/10 [00:01]", [3, 10, 0, 1]),
]


@pytest.mark.parametrize("line, numbers", NUMBERS)
def test_numbers(line, numbers):
    assert compare.numbers(line) == pytest.approx(numbers, nan_ok=True)


DIFFERENCES = [("loss 1.0", "loss 1.001", 1e-3), ("loss nan", "loss nan", 0), ("loss nan", "loss 1.0", float("inf")), ("a 0", "a 0.0", 0), ("a 1", "a -1", 2)]


@pytest.mark.parametrize("a, b, far", DIFFERENCES)
def test_difference(a, b, far):
    assert compare.difference(a, b) == pytest.approx(far, rel=1e-2)


def test_pairs_lines_by_their_words():
    left = ["start", "epoch 1 loss 2.0", "epoch 2 loss 1.0", "end"]
    right = ["start", "a warning", "epoch 1 loss 2.1", "epoch 2 loss 1.1", "end"]
    assert list(compare.pairs(left, right)) == [(0, 0), (None, 1), (1, 2), (2, 3), (3, 4)]


def test_compare_runs_both(tmp_path, capsys):
    pytest.importorskip("torch", reason="compares with real torch, which is not installed")
    script = tmp_path / "script.py"
    script.write_text("import torch\ntorch.manual_seed(0)\nprint('torch', torch.__version__ * 0, torch.rand(3))\nprint('b', 1 + ('like' in torch.__version__))\n")
    assert compare.compare([str(script)]) == 0
    shown = capsys.readouterr().out
    assert "2 lines of output: 1 the same, 1 differ in numbers (largest relative difference 5.0e-01), 0 in words" in shown
    assert "peak memory" in shown
