"""The severity of a finding or a cause."""

from typing import Literal, get_args

Severity = Literal["critical", "warning", "note"]
"""`critical`: it binds or soon will; `warning`: change it; `note`: know it, nothing has to change."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The most severe first."""
