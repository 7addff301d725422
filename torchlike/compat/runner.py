"""``torchlike run``: a script or module as ``__main__`` of a process in which ``import torch`` gives torchlike."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any

from torchlike.compat.alias import install

_PACKAGE = str(Path(__file__).resolve().parent.parent)


def cache_folder() -> Path:
    """Where compiled programs are kept between runs: ``TORCHLIKE_CACHE_DIR``, else a folder in the user's cache."""
    given = os.environ.get("TORCHLIKE_CACHE_DIR")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "torchlike"


def _keep_programs() -> None:
    """Turn on JAX's persistent compilation cache, unless the user configured one. The process is ours."""
    import jax

    if jax.config.jax_compilation_cache_dir is None:
        jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def run_script(path: str, args: list[str]) -> int:
    """Run a file as ``python FILE ARGS`` would; the exit status."""
    sys.argv = [path, *args]
    if Path(path).is_dir() or path.endswith((".zip", ".pyz")):
        import runpy

        return _guarded(lambda: runpy.run_path(path, run_name="__main__"))
    try:
        with io.open_code(str(Path(path).resolve())) as f:
            source = f.read()
    except OSError as error:
        print(f"torchlike: can't open file '{path}': [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        return 2
    sys.path[0:1] = [str(Path(path).resolve().parent)]
    main = _fresh_main(path)

    def execute() -> None:
        exec(compile(source, path, "exec"), main.__dict__)

    return _guarded(execute)


def run_module(name: str, args: list[str]) -> int:
    """Run a module as ``python -m MODULE ARGS`` would; the exit status."""
    import runpy

    sys.argv = [name, *args]
    sys.path[0:1] = [os.getcwd()]

    def execute() -> None:
        runpy.run_module(name, run_name="__main__", alter_sys=True)

    return _guarded(execute)


def _fresh_main(path: str) -> types.ModuleType:
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__, __spec__=None, __loader__=None, __package__=None)
    sys.modules["__main__"] = main
    return main


def _guarded(execute: Any) -> int:
    install()
    _keep_programs()
    try:
        execute()
    except SystemExit as stop:
        return _status(stop)
    except KeyboardInterrupt:
        _show(sys.exc_info()[1])
        return 130
    except BaseException as error:
        hook = sys.excepthook
        if hook is sys.__excepthook__:
            _show(error)
        else:
            hook(type(error), error, error.__traceback__)
        return 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
    return 0


def _status(stop: SystemExit) -> int:
    """The exit status that Python gives for a ``SystemExit``."""
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    print(stop.code, file=sys.stderr)
    return 1


def _hidden(filename: str) -> bool:
    jax = importlib.util.find_spec("jax")
    inside_jax = jax is not None and jax.origin is not None and filename.startswith(str(Path(jax.origin).parent))
    return filename.startswith((_PACKAGE, "<torchlike", "<frozen runpy", "<frozen importlib")) or inside_jax


def _show(error: BaseException | None) -> None:
    """Print a traceback with the user's lines; ours and JAX's are left out unless ``TORCHLIKE_TRACEBACK=full``."""
    assert error is not None
    report = traceback.TracebackException.from_exception(error)
    if os.environ.get("TORCHLIKE_TRACEBACK") != "full":
        part: traceback.TracebackException | None = report
        while part is not None:
            kept = [f for f in part.stack if not _hidden(f.filename)]
            inner = part.__cause__ if part.__cause__ is not None else part.__context__ if not part.__suppress_context__ else None
            part.stack = traceback.StackSummary.from_list(kept or list(part.stack)[-1:])
            if inner is not None and all(_hidden(f.filename) for f in inner.stack):
                part.__cause__, part.__suppress_context__ = None, True  # JAX's error behind ours says nothing more
                inner = None
            part = inner
    print("".join(report.format()), end="", file=sys.stderr)
