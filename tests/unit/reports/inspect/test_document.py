"""An inspection for a terminal: its order, its width, and commands that stay commands."""

import pytest

import inspections
from plimsoll.app.render import render


def text_of(name="search", *, width=80, color=False):
    """An inspection made by hand, rendered."""
    return render(inspections.INSPECTIONS[name](), width=width, color=color)


def commands_of(inspection):
    """Every line of every command."""
    return {
        line.strip()
        for cause in inspection.causes
        for remedy in cause.remedies
        for command in remedy.commands
        for line in command.strip().splitlines()
    }


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_command_is_broken(width):
    """Every line of a command stands on one line, with the indent that it had."""
    shown = text_of(width=width).splitlines()

    assert commands_of(inspections.inspection()) <= {line.strip() for line in shown}
    at = next(n for n, line in enumerate(shown) if "UPDATE public.documents" in line)
    assert shown[at + 1].index("body") == shown[at].index("UPDATE") + 2
