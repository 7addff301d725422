"""``torch.nn.utils``: clipping, parametrizations, pruning, packing of sequences, fusing."""

from torchlike.nn.utils import rnn
