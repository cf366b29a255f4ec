"""
Compile loops with numba if it is installed; `make run` does not install it.

Otherwise they run as plain Python, which takes about half as long again, with equal results.
"""

from collections.abc import Callable
from typing import Any

try:
    from numba import njit
except ModuleNotFoundError:

    def njit(**_: Any) -> Callable[[Any], Any]:  # type: ignore[misc]
        """Return a decorator that leaves a function unchanged."""

        def unchanged(function: Any) -> Any:
            return function

        return unchanged


__all__ = ["njit"]
