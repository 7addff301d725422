"""``python -m tests.golden.record``: ask real torch for the answers of all scenarios and keep them."""

import importlib

FILES = (
    "tests.autograd.test_backward", "tests.tensor.test_aliasing", "tests.tensor.test_tensor", "tests.tensor.test_printing",
    "tests.random.test_streams", "tests.optim.test_optimizers", "tests.data.test_collate", "tests.data.test_datasets", "tests.data.test_loader", "tests.data.test_orders",
)  # fmt: skip

if __name__ == "__main__":
    for name in FILES:
        importlib.import_module(name).scenario.record()
