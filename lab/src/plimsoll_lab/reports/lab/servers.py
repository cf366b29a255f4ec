"""The real servers that the lab starts: what is here, and what would be downloaded from where."""

from collections.abc import Sequence

from plimsoll.reports.document.parts import Cell, Column, Document, Section, Table, Tone, bullets_of
from plimsoll_lab.model.lab import LabServer


def servers_document(servers: Sequence[LabServer], store: str) -> Document:
    """
    Return the list of servers.

    Args:
        servers: every server that the lab starts.
        store: the folder where downloaded servers are kept.
    """
    here = sum(bool(server.place) for server in servers)
    missing = [server for server in servers if not server.place]
    table = Table(
        columns=(
            Column(title="Server", may_break=False),
            Column(title="Version", may_break=False),
            Column(title="Here"),
            Column(title="Download", is_number=True, may_break=False),
            Column(title="Client", may_break=False),
        ),
        rows=tuple(_row(server) for server in servers),
    )
    parts = [Section(title="Servers", parts=(table,))]
    if missing:
        commands = [f"{server.title}: {server.command}" for server in missing]
        parts.append(Section(title="To get what is missing", parts=(bullets_of(commands),)))
    notes = [
        f"Downloaded servers are kept in {store} and start offline.",
        "What pip and mvn bring is checked against locked checksums.",
        "What apt-get brings is checked by apt, and again before each start.",
        "Sizes for apt-get are without the libraries that this machine lacks.",
    ]
    return Document(
        kind="lab servers",
        headline=f"{here} of {len(servers)} servers are on this machine.",
        tone=Tone.GOOD if not missing else Tone.PLAIN,
        parts=(*parts, Section(title="Notes", parts=(bullets_of(notes),))),
    )


def _row(server: LabServer) -> tuple[str | Cell, ...]:
    is_here = bool(server.place)
    size = "-" if is_here else "unknown"
    if not is_here and server.download_bytes is not None:
        size = f"{server.download_bytes / 1e6:.0f} MB"
    return (
        server.title,
        server.version or "as installed",
        Cell("yes" if is_here else "no", Tone.GOOD if is_here else Tone.PLAIN),
        size,
        server.client,
    )
