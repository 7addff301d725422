"""The workloads: each module has ``build(contender) -> step``; ``step()`` does one step and waits for its loss."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.workloads import chain, digits

WORKLOADS: dict[str, Callable[[str], Callable[[], object]]] = {
    "digits_cnn": digits.build,
    "chain_no_grad": chain.build_plain,
    "chain_grad": chain.build_grad,
}
