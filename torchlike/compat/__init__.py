"""The import alias, the runner behind ``torchlike run``, and the names that torchlike does not have yet."""

from torchlike.compat.alias import install, installed, uninstall

__all__ = ["install", "installed", "uninstall"]
