"""``torch.nn.functional``: placeholder until the whole arrives."""
from torchlike.tensor import exports
globals().update(exports("nn.functional"))
