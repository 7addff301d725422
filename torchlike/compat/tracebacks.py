"""Tracebacks that show the user's lines: frames of torchlike, and of JAX below it, are left out of what is printed.

``TORCHLIKE_TRACEBACK=full`` shows them. Only printing is changed, by ``sys.excepthook`` and ``threading.excepthook``;
exceptions that the program catches are as they were raised.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from types import TracebackType

import jax

__all__ = ["hide_frames", "without_our_frames"]

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_JAX = os.path.dirname(os.path.abspath(str(jax.__file__))) + os.sep
_MACHINERY = ("<frozen runpy>", "<frozen importlib")


def _kept(trace: TracebackType | None) -> list[TracebackType]:
    """The entries that are shown: the user's and other libraries'."""
    kept: list[TracebackType] = []
    within = False  # whether torchlike is above this frame with nothing of the user's in between
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith((_OURS, "<torchlike")):
            within = True
            if code.co_name == "_become_main":  # the runner: what is above it started it
                kept.clear()
        elif not (within and code.co_filename.startswith((_JAX, *_MACHINERY))):
            within = False
            kept.append(trace)
        trace = trace.tb_next
    return kept


def without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback with our frames taken out; None when there is no other frame."""
    shown: TracebackType | None = None
    for entry in reversed(_kept(trace)):
        shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown


def _strip(error: BaseException | None, seen: set[int]) -> None:
    """Take our frames out of an exception and of those that led to it.

    A context that lies wholly inside torchlike or JAX (a look-up that failed before the error was raised) is no news to
    the user and is dropped.
    """
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = without_our_frames(error.__traceback__)
    if notes := getattr(error, "__notes__", None):
        notes[:] = [note for note in notes if "JAX has removed its internal frames" not in note]
    for cause in (error.__cause__, error.__context__):
        _strip(cause, seen)
    if error.__cause__ is not None and error.__cause__.__traceback__ is None:
        error.__cause__ = None
    if error.__context__ is not None and error.__context__.__traceback__ is None:
        error.__suppress_context__ = True
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            _strip(inner, seen)


def _is_a_fault_of_ours(error: BaseException, trace: TracebackType | None) -> bool:
    """Whether an error looks like a mistake inside torchlike rather than one that it raises on purpose."""
    if isinstance(error, NotImplementedError) or not isinstance(error, (AttributeError, AssertionError, LookupError, NameError)):
        return type(error).__module__.startswith("jax")
    last = None
    while trace is not None:
        last, trace = trace, trace.tb_next
    if last is None or isinstance(error, IndexError) or last.tb_frame.f_code.co_name == "__getattr__":
        return False
    return last.tb_frame.f_code.co_filename.startswith((_OURS, _JAX))


def print_exception(error: BaseException, trace: TracebackType | None) -> None:
    """Print an exception without our frames, and say so where those are what one would want to see."""
    fault = _is_a_fault_of_ours(error, trace)
    error.__traceback__ = trace
    _strip(error, set())
    traceback.print_exception(type(error), error, error.__traceback__)
    if fault:
        print("(raised inside torchlike; TORCHLIKE_TRACEBACK=full shows its frames)", file=sys.stderr)


def hide_frames() -> None:
    """Print uncaught exceptions of this process without our frames, unless the environment asks for them."""
    if os.environ.get("TORCHLIKE_TRACEBACK") == "full":
        return

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        print_exception(error, trace)

    def thread_hook(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is None or args.exc_type is SystemExit:
            return
        name = args.thread.name if args.thread is not None else threading.get_ident()
        print(f"Exception in thread {name}:", file=sys.stderr)
        print_exception(args.exc_value, args.exc_traceback)

    sys.excepthook = excepthook
    threading.excepthook = thread_hook
