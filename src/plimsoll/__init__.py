"""Plimsoll finds the limit a managed database is up against, and proves it."""

__all__ = ["__version__"]

__version__ = "0.1.0"
