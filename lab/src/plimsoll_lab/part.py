"""What the lab adds to Plimsoll: the entry points of `lab/pyproject.toml` name it."""

from pathlib import Path

from plimsoll.cli.commands import Place

COMMANDS = {
    "gate": Place(
        "plimsoll_lab.cli.gate.command", "Run programs in a folder that has the storage limits of an RDS instance"
    ),
    "lab": Place("plimsoll_lab.cli.lab.command", "Run a real database under the limits of an RDS instance"),
    "sweep": Place("plimsoll_lab.cli.sweep", "Measure what storage delivers at each I/O size, and find its limits"),
}
DOCUMENTATION = Path(__file__).parent / "docs"
"""Pages of `plimsoll docs`; in a checkout they are links to those of `docs/`."""
