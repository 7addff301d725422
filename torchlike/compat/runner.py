"""``torchlike run``: a script or module runs as ``python`` would run it, with torchlike under torch's name.

The program becomes ``__main__`` with Python's own semantics: ``sys.argv``, ``__file__``, ``sys.path[0]``, ``__spec__`` for
``-m``, folders and zip files with a ``__main__.py``. Its uncaught exception, SystemExit or KeyboardInterrupt leaves through
the interpreter as usual, so the exit status is the one that ``python`` gives.
"""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, NoReturn

from torchlike.compat import alias, cache, children, tracebacks

__all__ = ["run_module", "run_script"]


def _prepare(arguments: Sequence[str], first_path: str) -> None:
    alias.install()
    cache.keep_programs()
    children.inherit_alias()
    tracebacks.hide_frames()
    sys.argv[:] = arguments
    if not sys.flags.safe_path:  # with -P or PYTHONSAFEPATH nothing is put there
        # sys.path[0] is the folder of the console script, or the current one under ``python -m torchlike``
        sys.path[0] = first_path


def _become_main(code: CodeType, **attributes: Any) -> None:
    """Execute code as ``__main__``: the module stays in ``sys.modules``, for pickles, threads and exit handlers."""
    main = ModuleType("__main__")
    vars(main).update(__builtins__=__builtins__, **attributes)
    sys.modules["__main__"] = main
    exec(code, vars(main))


def _fail(message: str, status: int) -> NoReturn:
    print(f"torchlike: {message}", file=sys.stderr)
    raise SystemExit(status)


def run_script(path: str, arguments: Sequence[str]) -> None:
    """Run the script at ``path`` (or the ``__main__.py`` in a folder or zip file) with these arguments."""
    if not os.path.exists(path):
        _fail(f"can't open file '{path}': there is no such file", 2)
    if os.path.isdir(path) or not _is_source(path):
        _prepare([path, *arguments], path)
        _run_found("__main__", importlib.util.find_spec("__main__") if _forget_main() else None, path)
        return
    _prepare([path, *arguments], os.path.dirname(os.path.realpath(path)))
    file = os.path.abspath(path)  # the script may change the folder
    with io.open_code(file) as opened:
        code = compile(opened.read(), file, "exec", dont_inherit=True)
    _become_main(code, __file__=file, __cached__=None, __spec__=None, __loader__=SourceFileLoader("__main__", file), __package__=None)


def run_module(name: str, arguments: Sequence[str]) -> None:
    """Run a module, or a package's ``__main__``, as ``python -m`` does."""
    _prepare(["-m", *arguments], os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        _fail(f"Error while finding module specification for '{name}' ({type(error).__name__}: {error})", 1)
    _run_found(name, spec, name)


def _run_found(name: str, spec: ModuleSpec | None, asked: str) -> None:
    loader: Any = spec.loader if spec is not None else None
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") and spec is not None else None
    if code is None or spec is None:
        _fail(f"can't find '__main__' in '{asked}'" if name == "__main__" else f"No module named {name}", 1)
    sys.argv[0] = spec.origin or asked if name != "__main__" else asked
    _become_main(code, __file__=spec.origin, __cached__=spec.cached, __spec__=spec, __loader__=loader, __package__=spec.parent)


def _is_source(path: str) -> bool:
    """Whether a file is a script rather than a zip file."""
    import zipfile

    return not zipfile.is_zipfile(path)


def _forget_main() -> bool:
    """Let ``__main__`` be looked up on ``sys.path`` instead of in ``sys.modules``."""
    return sys.modules.pop("__main__", None) is not None
