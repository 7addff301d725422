"""The trie of traces: each state stands for one sequence of recorded operators."""

from __future__ import annotations

import itertools
from typing import Any

from torchlike.engine.signature import Signature

_ids = itertools.count(1)


class State:
    """A node of the trie.

    ``children`` maps a step's key (operator, static arguments, operands) to the next state. ``numbers`` are the Python
    numbers of this step when they are constants of the program, else None. ``twin`` is the constant-number state that this
    one replaced, or the twin's child: it remembers, for the steps that follow, which numbers were seen before the replacement.
    """

    __slots__ = (
        "children", "count", "depth", "first_slot", "generic", "id", "key", "line", "numbers", "outs", "parent",
        "programs", "reason", "runs", "signature", "single", "twin",
    )  # fmt: skip

    def __init__(self, parent: State | None, key: tuple[Any, ...], signature: Signature | None) -> None:
        self.id = next(_ids)
        self.children: dict[tuple[Any, ...], State] = {}
        self.parent, self.key, self.signature = parent, key, signature
        self.depth = 0 if parent is None else parent.depth + 1
        self.numbers: tuple[Any, ...] | None = ()
        self.generic = False
        self.twin: State | None = None
        self.programs: dict[Any, Any] = {}
        self.line = ""
        self.reason = ""
        self.first_slot = 0  # slot of the first result
        self.count = 0  # slots used so far, this step included
        self.outs = signature.outs if signature else ()
        self.single = self.outs[0] if len(self.outs) == 1 else None

    def path(self) -> list[State]:
        """The states from the first operator to this one."""
        steps = []
        state: State | None = self
        while state is not None and state.parent is not None:
            steps.append(state)
            state = state.parent
        steps.reverse()
        return steps

    def __repr__(self) -> str:
        name = self.signature.op.name if self.signature else "root"
        return f"<state {self.id} {name} depth {self.depth}>"
