"""
Parse the JSON of iostat and sadf: one document or several, complete or cut off.

Both write `{"sysstat": {"hosts": [{…, "statistics": [entry, entry …]}]}}`. A stream that was cut (Ctrl-C, a
lost connection) still has complete entries before its end.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from plimsoll.errors import DataError
from plimsoll.sources.files.json_text import documents

_STATISTICS = re.compile(r'"statistics"\s*:\s*\[')
_NAMED = re.compile(r'"(nodename|number-of-cpus|file-date|date|timezone)"\s*:\s*("[^"\\]*"|\d{1,9})')


@dataclass(slots=True, kw_only=True)
class JsonHost:
    """One host of a document."""

    facts: dict[str, Any]
    """Facts about the host: `nodename`, `number-of-cpus`, `restarts` …"""
    entries: list[dict[str, Any]] = field(default_factory=list)
    """Its statistics, in the order written."""

    @property
    def name(self) -> str | None:
        """The host's name."""
        name = self.facts.get("nodename")
        return name if isinstance(name, str) and name else None

    @property
    def cpu_count(self) -> int | None:
        """Number of processors."""
        count = self.facts.get("number-of-cpus")
        return count if type(count) is int and 0 < count < 1_000_000 else None


def hosts_of(data: bytes, where: str) -> tuple[list[JsonHost], bool]:
    """
    Return the hosts of all documents, and whether the last document is cut off.

    Raises:
        DataError: no document of sysstat, nor the beginning of one.
    """
    whole: list[JsonHost] = []
    try:
        for document in documents(data, where):
            whole += _hosts(document)
    except DataError:
        broken = _salvaged(data, skip=len(whole))
        if not whole and not broken:
            raise
        return [*whole, *broken], True
    return whole, False


def _hosts(document: Any) -> list[JsonHost]:
    sysstat = document.get("sysstat") if isinstance(document, dict) else None
    hosts = sysstat.get("hosts") if isinstance(sysstat, dict) else None
    found = []
    for host in hosts if isinstance(hosts, list) else []:
        if isinstance(host, dict):
            statistics = host.get("statistics")
            entries = statistics if isinstance(statistics, list) else []
            found.append(
                JsonHost(
                    facts={k: v for k, v in host.items() if k != "statistics"},
                    entries=[entry for entry in entries if isinstance(entry, dict)],
                )
            )
    return found


def _salvaged(data: bytes, skip: int) -> list[JsonHost]:
    """Return the complete entries of a document that is cut off, after `skip` known hosts."""
    text = data.decode(errors="replace")
    starts = list(_STATISTICS.finditer(text))[skip:]
    found = []
    for index, start in enumerate(starts):
        before = text[starts[index - 1].end() if index else 0 : start.start()]
        # The nearest facts before the statistics are those of this host.
        facts = {name: json.loads(value, strict=False) for name, value in _NAMED.findall(before[-4096:])}
        found.append(JsonHost(facts=facts, entries=_entries(text, start.end())))
    return found


def _entries(text: str, at: int) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder()
    entries: list[dict[str, Any]] = []
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            entry, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return entries
        if isinstance(entry, dict):
            entries.append(entry)
