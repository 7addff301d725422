"""torchlike under PyTorch's name: the import alias, gaps, the runner behind ``torchlike run``, the porting report.

Nothing here is imported before it is needed, except the finder that answers for gaps.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["install", "uninstall"]


def install(importers: str | Sequence[str] | None = None) -> None:
    """Serve ``import torch`` and ``import torchvision`` from torchlike, in this process.

    Args:
        importers: None for every import; or names of modules or packages, for which alone ``import torch`` gives torchlike
            while the rest of the process gets real torch (``install(["mymodel"])`` covers ``mymodel.layers`` too, and
            ``"__main__"`` the program itself). May be called again with further names.

    Raises:
        RuntimeError: Real torch is loaded already, so that ``install()`` for everything would mix the two.
    """
    from torchlike.compat import alias

    alias.install(importers)


def uninstall() -> None:
    """Undo every ``install``: later imports of torch are resolved as before."""
    from torchlike.compat import alias

    alias.uninstall()
