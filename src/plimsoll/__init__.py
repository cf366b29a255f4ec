"""
Plimsoll finds the limit that a managed database is at, and proves it.

The names below are loaded on first use, so that importing the package is cheap; `__init__.pyi` has
their types.
"""

from importlib import import_module

__version__ = "0.1.0"

_LIBRARY = "plimsoll.app.library"
_HOMES = {
    "read": _LIBRARY,
    "diagnose": _LIBRARY,
    "inspect": _LIBRARY,
    "make_plan": _LIBRARY,
    "compare": _LIBRARY,
    "render": _LIBRARY,
    "write": _LIBRARY,
    "allowance": "plimsoll.app.budget",
    "reserve_forecast": "plimsoll.app.budget",
    "open_pace": "plimsoll.app.pace",
    "load_files": "plimsoll.app.load",
    "LoadRequest": "plimsoll.app.load",
    "LoadStopped": "plimsoll.load.copy.run",
    "CopyOptions": "plimsoll.load.copy.table",
    "Pace": "plimsoll.load.pace.pace",
    "PaceTerms": "plimsoll.load.pace.law.terms",
    "InstanceOptions": "plimsoll.app.options",
    "ReadOptions": "plimsoll.app.options",
    "Report": "plimsoll.app.render",
    "PlanConstraints": "plimsoll.model.plan",
    "PlimsollError": "plimsoll.errors",
}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604  the keys are strings


def __getattr__(name: str) -> object:
    """Load a name of the library on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'plimsoll' has no attribute '{name}'")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names of the package, loaded or not."""
    return sorted({*globals(), *__all__})
