"""How values come to be: operators are recorded, traces become compiled programs.

            record(op, static, operands)                       flush()
                      |                                           |
    recorder.py   one look-up in the trie  ---------------->  who is alive? -> key (state, live, donated)
                      |  (a miss)                                 |  (a miss)
    signature.py  shapes by jax.make_jaxpr, cached            program.py: replay the trace under jax.jit, compile, keep
                      |                                           |
    trie.py       a state = one sequence of operators         run, hand the arrays to the live values

A ``Value`` is pending until its trace is flushed and has an array afterwards. The engine knows JAX and nothing of torch:
an operator is any object with a ``name`` and ``lower(static, args) -> tuple of arrays``.
"""

from torchlike.engine.device import default_device, resolve_device
from torchlike.engine.recorder import array_of, flush, local, record, release, set_context
from torchlike.engine.stats import reset_stats, stats
from torchlike.engine.values import Aval, Value, aval_of, from_array

__all__ = [
    "Aval",
    "Value",
    "array_of",
    "aval_of",
    "default_device",
    "flush",
    "from_array",
    "local",
    "record",
    "release",
    "reset_stats",
    "resolve_device",
    "set_context",
    "stats",
]
