"""
The document of pool sizes: the pools, the server and the machine.

Rule 1: every number stands with the arithmetic that gave it.
"""

from plimsoll.model.pool_size import Basis, PoolSizing, PoolVerdict, Service
from plimsoll.reports.document.parts import Document, Section, Tone, bullets_of
from plimsoll.reports.render.explanations import Topic
from plimsoll.units import format_ratio, number

_VERDICTS = {
    PoolVerdict.FITS: "The pools fit.",
    PoolVerdict.EXCEEDS_CONNECTIONS: "The pools may open more connections than the server takes.",
    PoolVerdict.EXCEEDS_MACHINE: "The pools may put more sessions to work than the machine runs well.",
    PoolVerdict.UNKNOWN: "No server is known to compare the pools with.",
}

_TONES = {
    PoolVerdict.FITS: Tone.GOOD,
    PoolVerdict.EXCEEDS_CONNECTIONS: Tone.BAD,
    PoolVerdict.EXCEEDS_MACHINE: Tone.BAD,
    PoolVerdict.UNKNOWN: Tone.UNKNOWN,
}


def pool_size_document(sizing: PoolSizing) -> Document:
    """Return the document: pools, the capacity of server and machine, and recommendations."""
    sections = (
        ("Pools", _pools(sizing)),
        ("Room", _room(sizing)),
        ("Recommended", _recommended(sizing)),
        ("Notes", list(sizing.notes)),
    )
    return Document(
        kind="pool size",
        headline=_VERDICTS[sizing.verdict],
        tone=_TONES[sizing.verdict],
        topic=Topic.POOL_SIZE,
        parts=tuple(
            Section(title=title, parts=(bullets_of([_ended(item) for item in items]),))
            for title, items in sections
            if items
        ),
    )


def _ended(text: str) -> str:
    """Return the text with a full stop; a service keeps the first letter of its name."""
    return text if text.endswith(".") else f"{text}."


def _pools(sizing: PoolSizing) -> list[str]:
    lines = [
        f"{_named(s, count)}: {_containers(s)} × {s.pool:,} = {s.connections:,}"
        + (f" each, × {count} = {s.connections * count:,}" if count > 1 else "")
        for s, count in _grouped(sizing.services)
    ]
    return [*lines, f"Together: {_connections(sizing.connections)}"]


def _connections(count: int) -> str:
    return "1 connection" if count == 1 else f"{count:,} connections"


def _containers(service: Service) -> str:
    return "1 container" if service.containers == 1 else f"{service.containers:,} containers"


def _room(sizing: PoolSizing) -> list[str]:
    room, lines = sizing.room, []
    if room.usable is not None:
        others = f" − {room.others:,} of others" if room.others else ""
        lines.append(
            f"The server accepts: {room.connection_max:,} − {room.reserved:,} reserved{others}"
            f" = {room.usable:,}; {_may(sizing.connections, room.usable)}"
        )
    if sizing.runs is not None:
        lines.append(f"{_runs(sizing)}; {_may(sizing.connections, sizing.runs)}")
    return lines or ["Not known"]


def _may(connections: int, room: int) -> str:
    if not room:
        return "that leaves no connections"
    ratio = connections / room
    share = format_ratio(ratio) + " of" if ratio < 1 else f"{number(ratio, 3)} times"
    return f"the pools may open {share} that"


def _runs(sizing: PoolSizing) -> str:
    curve, lead = sizing.room.curve, f"The machine runs well: {sizing.runs:,} sessions at work"
    if curve is not None:
        seen = f"seen up to {number(curve.busy_seen_max, 3)} sessions at {curve.level_count} levels"
        how = {Basis.EXTRAPOLATED: f"extrapolated; {seen}", Basis.CEILING: f"{seen}, with storage at its ceiling"}.get(
            sizing.basis, seen
        )
        return f"{lead} give 95 % of {number(curve.most_per_s, 3)} transactions per s ({how})"
    return f"{lead} = 2 × {sizing.room.vcpu_count} vCPUs ({sizing.basis.value})"


def _recommended(sizing: PoolSizing) -> list[str]:
    if sizing.target is None:
        return []
    lines = [f"All pools together: {_connections(sizing.target)}, {_bound(sizing)}"]
    seen: set[tuple[int, int]] = set()
    for item in sizing.recommended:
        key = (item.service.containers, item.service.pool)
        if key in seen:
            continue
        seen.add(key)
        grouped = dict(_grouped(sizing.services))
        count = next(n for s, n in grouped.items() if (s.containers, s.pool) == key)
        lines.append(f"{_named(item.service, count)}: pool of {item.pool:,} ({item.arithmetic})")
    total = sum(item.pool * item.service.containers for item in sizing.recommended)
    lines.append(f"These make {_connections(total)}")
    if sizing.needs_pooler:
        lines.append(
            f"One connection per container is already more than {sizing.target:,}: put a pooler in"
            f" front, in transaction mode, with {_connections(sizing.target)} to the server"
        )
    return lines


def _bound(sizing: PoolSizing) -> str:
    usable = sizing.room.usable
    if sizing.runs is not None and sizing.target == sizing.runs:
        return "what the machine runs well"
    if sizing.runs is not None and sizing.target == sizing.room.connections_for(sizing.runs):
        return f"with which {sizing.runs:,} sessions are at work"
    return f"90 % of {usable:,}, to leave some for deployments and administrators"


def _grouped(services: tuple[Service, ...]) -> list[tuple[Service, int]]:
    """Return services of the same containers and pool as one, with their number."""
    found: dict[tuple[int, int], list[Service]] = {}
    for service in services:
        found.setdefault((service.containers, service.pool), []).append(service)
    return [(group[0], len(group)) for group in found.values()]


def _named(service: Service, count: int) -> str:
    return f"Each of {count} services" if count > 1 else service.name
