"""Several texts in one golden file, each below its name, those of reports, and the scripts of examples."""

import importlib.util
from collections.abc import Mapping
from types import ModuleType

from contract.tree import ROOT
from plimsoll.app.render import render


def script(name: str) -> ModuleType:
    """A script of `examples/` that makes what is committed there."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def together(parts: Mapping[str, str]) -> str:
    """Return the texts, each below a line with its name."""
    return "\n".join(f"=== {name}\n{text.rstrip()}\n" for name, text in parts.items())


def texts(reports: Mapping[str, object], width: int = 100) -> dict[str, str]:
    """Each report as text, by its name."""
    return {name: render(report, "text", width=width) for name, report in reports.items()}
