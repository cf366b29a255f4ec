"""The command line that runs, for what is written at its end."""

from collections.abc import Sequence
from contextvars import ContextVar

given_arguments: ContextVar[Sequence[str]] = ContextVar("given_arguments", default=())
"""Without the name of the program; empty where a program calls the library."""
