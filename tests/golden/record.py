"""``python -m tests.golden.record``: ask real torch for the answers of all scenarios and keep them."""

import importlib

FILES = ("tests.autograd.test_backward", "tests.tensor.test_aliasing", "tests.tensor.test_tensor")

if __name__ == "__main__":
    for name in FILES:
        importlib.import_module(name).scenario.record()
