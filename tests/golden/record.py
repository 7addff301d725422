"""``python -m tests.golden.record``: ask real torch for the answers of all scenarios and keep them."""

import importlib
import re
from pathlib import Path

TESTS = Path(__file__).parent.parent

if __name__ == "__main__":
    for path in sorted(TESTS.rglob("test_*.py")):
        if re.search(r"^scenario = ", path.read_text(), re.M):
            name = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
            importlib.import_module(name).scenario.record()
            print(name)
