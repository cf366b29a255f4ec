"""
Loops that numba compiles where it is installed; `make run` does not install it.

Without it they are plain Python and take about half as long again, with equal results.
"""

from collections.abc import Callable
from typing import Any

try:
    from numba import njit
except ModuleNotFoundError:

    def njit(**_: Any) -> Callable[[Any], Any]:  # type: ignore[misc]
        """Leave a function as it is."""

        def unchanged(function: Any) -> Any:
            return function

        return unchanged


__all__ = ["njit"]
