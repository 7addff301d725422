"""The command ``torchlike``: run a PyTorch script on JAX, compare it with real PyTorch, say what it would lack."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from torchlike.version import __version__, torchlike_version

_USAGE = """\
torchlike run SCRIPT ARGS...          run a script in which torch and torchvision are torchlike
torchlike run -m MODULE ARGS...       the same for a module, as with python -m
torchlike compare SCRIPT ARGS...      run it on real torch and on torchlike, and show where they differ
torchlike gaps SCRIPT                 list the names of torch that a script uses and torchlike lacks
torchlike info                        versions, devices, and where compiled programs are kept
torchlike --version
"""


def _program_command(name: str, program: list[str]) -> int:
    """A command whose arguments are a program and the program's own arguments."""
    if name == "run":
        from torchlike.compat import runner

        if program[0] == "-m":
            runner.run_module(program[1], program[2:])
        else:
            runner.run_script(program[0], program[1:])
        return 0
    if name == "compare":
        from torchlike.compat import compare

        return compare.compare(program)
    from torchlike.compat import report

    return report.show(program[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit status; a program that ``run`` runs may leave by its own SystemExit instead.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="torchlike", usage=f"\n{_USAGE}", description="PyTorch scripts on JAX/XLA, without PyTorch.")
    parser.add_argument("--version", action="version", version=f"torchlike {torchlike_version} (PyTorch API {__version__.partition('+')[0]})")
    parser.add_argument("command", choices=["run", "compare", "gaps", "info"])
    # What follows the command is cut off: it belongs to the program, options and all.
    first = next((i for i, argument in enumerate(arguments) if not argument.startswith("-")), len(arguments))
    command = parser.parse_args(arguments[: first + 1]).command
    program = arguments[first + 1 :]
    if command == "info":
        from torchlike.compat import info

        info.show()
        return 0
    if not program or program[0] in ("-h", "--help"):
        parser.print_usage() if program else parser.error(f"{command}: a script is expected")
        return 0
    if program[0].startswith("-") and (program[0] != "-m" or len(program) < 2 or command == "gaps"):
        parser.error(f"{command} {program[0]}: a script or -m MODULE is expected")
    return _program_command(command, program)
