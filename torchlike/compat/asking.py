"""How a name that torchlike lacks is being asked for, read from the bytecode of the frame that asks.

Libraries import more than they use, and they probe for features. Both end in a module's ``__getattr__``, and want opposite
answers: ``from torch.x import Foo`` must succeed (Foo may never be used), while ``hasattr(torch, "foo")`` and
``try: from torch.x import Foo`` with ``except ImportError`` must say no, so that the library takes its other path.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType, FrameType
from typing import Any

__all__ = ["is_probe"]

_IMPORTS = frozenset({"IMPORT_FROM", "IMPORT_STAR", "CALL_INTRINSIC_1"})  # the last is ``import *`` from Python 3.12 on
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_CATCH_ALL = frozenset({"Exception", "BaseException"})


def is_probe(frame: FrameType | None) -> bool:
    """Whether the frame asks *if* there is such a name, rather than for the name.

    A probe is ``hasattr``, ``getattr`` (any call made in C), and an import or attribute inside a ``try`` whose handler
    catches the ImportError or AttributeError that a missing name raises.
    """
    if frame is None:
        return True
    operation = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    if operation in _IMPORTS:
        return _is_caught(frame.f_code, frame.f_lasti, "ImportError")
    if operation in _ATTRIBUTES:
        return _is_caught(frame.f_code, frame.f_lasti, "AttributeError")
    return True


@functools.lru_cache(maxsize=256)
def _is_caught(code: CodeType, offset: int, error: str) -> bool:
    """Whether a handler in the same function catches ``error`` raised at ``offset``."""
    bytecode: Any = dis.Bytecode(code)
    instructions = {instruction.offset: instruction for instruction in bytecode}
    seen = set()
    while True:
        # Handlers of enclosing blocks cover the handlers of inner ones, so following targets walks outwards.
        target = next((e.target for e in bytecode.exception_entries if e.start <= offset < e.end and e.target not in seen), None)
        if target is None:
            return False
        if _handles(instructions, target, error):
            return True
        seen.add(target)
        offset = target


def _handles(instructions: dict[int, dis.Instruction], start: int, error: str) -> bool:
    """Whether the handler at ``start`` has an ``except`` clause for ``error``, or one for everything."""
    offsets = sorted(o for o in instructions if o >= start)
    names: list[str] = []
    position = 0
    while position < len(offsets):
        instruction = instructions[offsets[position]]
        position += 1
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_DEREF", "LOAD_FAST"):
            names.append(str(instruction.argval).rpartition(" ")[2])
        elif instruction.opname == "CHECK_EXC_MATCH":
            if {error, *_CATCH_ALL} & set(names):
                return True
            names = []
        elif "JUMP" in instruction.opname and instruction.opname.endswith("IF_FALSE"):  # to the next except clause
            position = offsets.index(instruction.argval)
        elif instruction.opname == "POP_TOP":  # a bare except
            return position == 2
        elif instruction.opname not in ("PUSH_EXC_INFO", "BUILD_TUPLE", "COPY"):
            return False
    return False
