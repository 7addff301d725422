"""The command line: ``torchlike run``, ``compare``, ``info``."""

from __future__ import annotations

import argparse
import sys


def main(argv: list[str] | None = None) -> int:
    """Parse the command line and do it; the exit status."""
    parser = argparse.ArgumentParser(prog="torchlike", description="PyTorch's API on JAX/XLA.")
    parser.add_argument("--version", action="store_true", help="print the version and end")
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser("run", help="run a PyTorch script unmodified, without PyTorch", usage="torchlike run [-m] SCRIPT [ARGS...]")
    run.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module name, as for python -m")
    run.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    compare = commands.add_parser("compare", help="run a script under real torch and under torchlike, side by side")
    compare.add_argument("script")
    compare.add_argument("args", nargs=argparse.REMAINDER)
    commands.add_parser("info", help="versions, devices, cache")
    args = parser.parse_args(argv)

    if args.version:
        from torchlike.version import package_version

        print(f"torchlike {package_version()}")
        return 0
    if args.command == "run":
        from torchlike.compat import runner

        if not args.rest:
            run.error("a script is missing")
        return (runner.run_module if args.module else runner.run_script)(args.rest[0], args.rest[1:])
    if args.command == "compare":
        from torchlike.compat.comparison import compare as compare_

        return compare_(args.script, args.args)
    if args.command == "info":
        return info()
    parser.print_help()
    return 2


def info() -> int:
    """Print what a bug report needs."""
    import importlib.metadata
    import platform

    import jax

    from torchlike.compat.runner import cache_folder
    from torchlike.version import __version__, package_version

    print(f"torchlike    {package_version()} (torch {__version__})")
    print(f"python       {platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in ("jax", "jaxlib", "flax", "optax", "numpy"):
        try:
            print(f"{name:<13}{importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"{name:<13}not installed")
    print(f"devices      {', '.join(str(d) for d in jax.devices())}")
    print(f"cache        {cache_folder()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
