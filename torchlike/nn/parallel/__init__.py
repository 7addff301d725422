"""``torch.nn.parallel``: wrappers that run a module on several devices or processes."""

from torchlike.nn.parallel.data_parallel import DataParallel, data_parallel
from torchlike.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
