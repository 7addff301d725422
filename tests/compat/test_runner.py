"""``torchlike run``: the program runs as under python, but its torch is torchlike."""

import json
import os
import signal
import subprocess
import sys
import zipfile

import pytest

from tests.compat.programs import ROOT, python
from torchlike import cli

STATE = """
import json, sys, os
import torch, torchlike
print(json.dumps({
    "argv": sys.argv, "name": __name__, "file": __file__, "path": sys.path[0], "package": __package__,
    "spec": __spec__ and __spec__.name, "main": sys.modules["__main__"].__dict__ is globals(), "alias": torch is torchlike,
}))
"""


def state(*arguments, **options):
    done = python(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_script_has_what_python_gives_it(tmp_path):
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "script.py").write_text(STATE)
    found = state("-m", "torchlike", "run", "sub/script.py", "-m", "--epochs", "2", "run", cwd=tmp_path)
    assert found.pop("alias")
    (folder / "script.py").write_text(STATE.replace("import torch, torchlike", "torch = torchlike = 0"))
    expected = state("sub/script.py", "-m", "--epochs", "2", "run", cwd=tmp_path)
    expected.pop("alias")
    assert found == expected


@pytest.mark.parametrize("name, file", [("mod", "mod.py"), ("pkg", "pkg/__main__.py"), ("pkg.part", "pkg/part.py")])
def test_a_module_has_what_python_gives_it(tmp_path, name, file):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / file).write_text(STATE)
    found = state("-m", "torchlike", "run", "-m", name, "-x", "y", cwd=tmp_path)
    assert found.pop("alias")
    (tmp_path / file).write_text(STATE.replace("import torch, torchlike", "torch = torchlike = 0"))
    expected = state("-m", name, "-x", "y", cwd=tmp_path)
    expected.pop("alias")
    assert found == expected


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_folders_and_zip_files(tmp_path, kind):
    program = tmp_path / "program"
    if kind == "folder":
        program.mkdir()
        (program / "__main__.py").write_text(STATE)
    else:
        with zipfile.ZipFile(program, "w") as archive:
            archive.writestr("__main__.py", STATE)
    found = state("-m", "torchlike", "run", str(program), "a")
    assert found["argv"] == [str(program), "a"] and found["path"] == str(program) and found["name"] == "__main__"


# What ends the program -> the status that python gives, and what stderr shows.
ENDS = [
    ("raise SystemExit(7)", 7, ""),
    ("raise SystemExit('a message')", 1, "a message"),
    ("raise SystemExit", 0, ""),
    ("import os; os._exit(3)", 3, ""),
    ("raise ValueError('x')", 1, "ValueError: x"),
    ("import atexit; atexit.register(print, 'bye'); import sys; sys.exit(4)", 4, ""),
    ("import threading\ndef f():\n    raise ValueError('in a thread')\nt = threading.Thread(target=f); t.start(); t.join()", 0, "in a thread"),
    ("def f(:", 1, "SyntaxError"),
]


@pytest.mark.parametrize("source, status, error", ENDS, ids=range(len(ENDS)))
def test_the_end(tmp_path, source, status, error):
    (tmp_path / "script.py").write_text(source)
    done = python("-m", "torchlike", "run", "script.py", cwd=tmp_path)
    assert done.returncode == status and error in done.stderr
    assert "runner.py" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c(tmp_path):
    (tmp_path / "script.py").write_text("print('ready', flush=True)\nimport time\ntime.sleep(60)\n")
    process = subprocess.Popen([sys.executable, "-m", "torchlike", "run", "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
                               # a test run in the background may have the signal ignored, which children inherit
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode in (-signal.SIGINT, 130)  # as python: killed by the signal, which shells show as 130
    assert "KeyboardInterrupt" in errors and "script.py" in errors and "runner.py" not in errors


TRACEBACK = """
import torch
def layer(x):
    return x @ torch.ones(2, 3)
layer(torch.ones(2, 3))
"""


def test_tracebacks_show_the_users_lines(tmp_path):
    (tmp_path / "script.py").write_text(TRACEBACK)
    short = python("-m", "torchlike", "run", "script.py", cwd=tmp_path).stderr
    assert "x @ torch.ones(2, 3)" in short and "layer(torch.ones(2, 3))" in short and "RuntimeError" in short
    assert f"{ROOT}{os.sep}torchlike" not in short and "site-packages" not in short and "JAX" not in short
    full = python("-m", "torchlike", "run", "script.py", cwd=tmp_path, TORCHLIKE_TRACEBACK="full").stderr
    assert f"{ROOT}{os.sep}torchlike" in full and len(full) > len(short)


CHILDREN = """
import multiprocessing, sys
import torch, torchlike
class Net(torch.nn.Module):
    pass
def child(queue, net):
    import torch.nn.functional, torchlike
    queue.put((torch is torchlike, type(net).__name__, torch.ones(2).sum().item()))
if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue, Net()))
        process.start()
        print(queue.get(timeout=60))
        process.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no forkserver")
def test_child_processes_have_the_alias(tmp_path):
    (tmp_path / "script.py").write_text(CHILDREN)
    done = python("-m", "torchlike", "run", "script.py", cwd=tmp_path)
    assert done.stdout == "(True, 'Net', 2.0)\n" * 2, done.stderr


def cache_settings(tmp_path, **environment):
    source = """
import jax, os
print([jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs, os.environ.get("JAX_COMPILATION_CACHE_DIR")])
"""
    (tmp_path / "script.py").write_text(source)
    names = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES")
    saved = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        done = python("-m", "torchlike", "run", "script.py", cwd=tmp_path, **environment)
    finally:
        os.environ.update(saved)
    assert done.returncode == 0, done.stderr
    return eval(done.stdout)


def test_programs_are_kept(tmp_path):
    folder, seconds, inherited = cache_settings(tmp_path, TORCHLIKE_CACHE_DIR=str(tmp_path / "here"))
    assert folder.startswith(str(tmp_path / "here")) and seconds == 0 and inherited == folder
    folder, _, _ = cache_settings(tmp_path, XDG_CACHE_HOME=str(tmp_path / "xdg"), TORCHLIKE_CACHE_DIR="")
    assert folder is None
    theirs = str(tmp_path / "theirs")
    folder, seconds, inherited = cache_settings(tmp_path, JAX_COMPILATION_CACHE_DIR=theirs)
    assert folder == inherited == theirs and seconds == 1  # what the user configured stays as it is


# Arguments -> exit status, and what is printed.
COMMANDS = [
    (["--version"], 0, "torchlike 0.1.0"),
    (["run"], 2, "a script is expected"),
    (["run", "-m"], 2, "MODULE"),
    (["run", "--flag", "x.py"], 2, "--flag"),
    (["dance"], 2, "dance"),
    (["run", "--help"], 0, "torchlike compare"),
    (["gaps", "no_such_file.py"], 2, "no_such_file.py"),
]


@pytest.mark.parametrize("arguments, status, text", COMMANDS, ids=range(len(COMMANDS)))
def test_commands(arguments, status, text, capsys):
    try:
        found = cli.main(arguments)
    except SystemExit as end:
        found = end.code or 0
    captured = capsys.readouterr()
    assert found == status and text in captured.out + captured.err


@pytest.mark.parametrize("program, status", [(["no_such_file.py"], 2), (["-m", "no_such_module"], 1)])
def test_programs_that_are_not_there(program, status):
    done = python("-m", "torchlike", "run", *program)
    assert done.returncode == status and program[-1] in done.stderr and "Traceback" not in done.stderr


def test_info():
    done = python("-m", "torchlike", "info")
    assert done.returncode == 0, done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines()} >= {"torchlike", "python", "jax", "device", "cache"}
