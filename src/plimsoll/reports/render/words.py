"""
The texts of the model's values for people. Every renderer uses these; none has its own.

Rule 1: a number always has its unit, and a ceiling its phase.
Rule 2: None is `unknown`, never zero and never left out silently.
"""

import re
from datetime import UTC, datetime
from math import isfinite

from plimsoll.model.ceiling import Ceiling, Dimension, Family, Origin, Phase
from plimsoll.model.diagnosis import Interval, Verdict
from plimsoll.model.family import FAMILIES, VOLUME_FAMILIES
from plimsoll.model.instance import EbsLimits, Instance
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import EventKind
from plimsoll.units import MIB, format_bytes, format_bytes_per_s, format_ops_per_s, format_ratio, number

FAMILY_NAMES = {family: facts.name for family, facts in FAMILIES.items()}

VERDICT_WORDS = {Verdict.BINDS: "binds", Verdict.NEAR: "near", Verdict.SLACK: "slack", Verdict.UNKNOWN: "unknown"}

# The verdict on the whole window, in two or three words.
VERDICT_BADGES = {
    Verdict.BINDS: "A limit binds",
    Verdict.NEAR: "Near a limit",
    Verdict.SLACK: "No limit binds",
    Verdict.UNKNOWN: "Verdict unknown",
}

# Each verdict has a sign, so that colour is not needed; it is one column wide in a terminal.
VERDICT_SIGNS = {Verdict.BINDS: "▲", Verdict.NEAR: "◆", Verdict.SLACK: "●", Verdict.UNKNOWN: "○"}

# The kind of an event in a word or two; an event of another kind has only its own text.
EVENT_WORDS = {
    EventKind.RESTORE: "restore",
    EventKind.CLASS_CHANGE: "class change",
    EventKind.STORAGE_CHANGE: "storage change",
    EventKind.OPTIMISATION: "storage optimisation",
    EventKind.CONVERSION: "conversion to Multi-AZ",
    EventKind.BACKUP: "backup",
    EventKind.FAILOVER: "failover",
    EventKind.RESTART: "restart",
    EventKind.OTHER: "",
}

BALANCE_NAMES = {
    Metric.BYTE_BALANCE_RATIO: "throughput",
    Metric.IO_BALANCE_RATIO: "IOPS",
    Metric.VOLUME_BALANCE_RATIO: "gp2",
}

_UNIT = re.compile(
    r"(?<=[0-9]) (?=(?:[KMGT]?i?B(?:/s)?|IOPS|ms|µs|s|min|h|d|%)(?![A-Za-z]))"
    r"|(?<=[0-9] h) (?=[0-9]+ min)|(?<=[0-9] d) (?=[0-9]+ h)"
)

# Spaces within a band: `< 1 – 3 – 9 min`.
_BAND = re.compile(r"(?<=[0-9]) (?=– [<>0-9])|(?<=–) (?=[<>0-9])|(?<=[<>]) (?=[0-9])")


def plain(text: str) -> str:
    """
    Return the text on one line without control characters.

    Names come from outside; an escape sequence in one must not reach a terminal or a page.
    """
    shown = "".join(" " if c in "\t\r\n" else c for c in text)
    return "".join(c if c.isprintable() else "\ufffd" for c in shown).strip()


def plain_code(line: str) -> str:
    """Return a line of code with its indent and without control characters."""
    body = line.expandtabs(4)
    return " " * (len(body) - len(body.lstrip(" "))) + plain(body)


def kept_together(text: str, space: str = "\u00a0") -> str:
    """Return the text with spaces that do not break a line, within bands and between numbers and units."""
    return _BAND.sub(space, _UNIT.sub(space, text))


def sentence(text: str) -> str:
    """
    Return the text as a sentence: a capital letter where it begins with a common word, a full stop.

    A name such as `db.r5.2xlarge` or `pgbench-1` keeps its first letter.
    """
    line = plain(text)
    first = line.split(" ")[0].rstrip(".,;:")
    if first.isalpha() and first.islower():
        line = line[0].upper() + line[1:]
    return line if not line or line[-1] in ".!?:" else f"{line}."


def confidence(probability: float) -> str:
    """Return a probability in percent, at most `> 99 %`, because no measurement is certain."""
    return "> 99 %" if probability >= 0.995 else format_ratio(probability)


def sure(confidence_word: str) -> str:
    """Return `99 % sure`, or `more than 99 % sure` for the maximum."""
    return f"{confidence_word.replace('> ', 'more than ')} sure"


def phase_name(phase: Phase, former_phase: Phase | None = None) -> str:
    """Return `baseline`, `burst`, `legacy baseline`; empty for a limit that has only one number."""
    if phase is Phase.LEGACY:
        bucket = former_phase if former_phase in (Phase.BASELINE, Phase.BURST) else None
        return f"legacy {bucket.value}" if bucket else "legacy"
    return "" if phase is Phase.FIXED else phase.value


def quantity(value: float | None, unit: str) -> str:
    """Return a number of the model with its unit, as people read it; `unknown` for None."""
    if value is None or not isfinite(value):
        return "unknown"
    if unit == "bytes/s":
        return format_bytes_per_s(value)
    if unit == "ops/s":
        return format_ops_per_s(value)
    if unit == "bytes":
        return format_bytes(value)
    if unit == "ratio":
        return format_ratio(value)
    return number(value, 3) if unit == "count" else f"{number(value, 3)} {unit}"


def level(value: float, dimension: Dimension) -> str:
    """Return a served rate: `212.5 MB/s` or `18,750 IOPS`."""
    return quantity(value, "ops/s" if dimension is Dimension.IOPS else "bytes/s")


def level_with_error(interval: Interval) -> str:
    """Return the level of an interval with half the width of its error bars: `212.6 ± 0.3 MB/s`."""
    if interval.dimension is Dimension.AMOUNT:
        return quantity(interval.level, interval.ceiling.unit if interval.ceiling else FAMILIES[interval.family].unit)
    half = (interval.level_high - interval.level_low) / 2
    if not isfinite(half):
        return level(interval.level, interval.dimension)
    if interval.dimension is Dimension.IOPS:
        return f"{interval.level:,.0f} ± {half:,.0f} IOPS"
    # As many decimals as the error has: 212.6 ± 0.3, 443 ± 12.
    decimals = 0 if half >= 1e7 else 1 if half >= 1e5 else 2
    return f"{interval.level / 1e6:,.{decimals}f} ± {half / 1e6:.{decimals}f} MB/s"


def ceiling_value(ceiling: Ceiling, *, as_sold: bool = True) -> str:
    """Return a ceiling's number; with `as_sold`, a volume's throughput is also given in MiB/s."""
    if ceiling.unit != "bytes/s" or not isfinite(ceiling.value):
        return quantity(ceiling.value, ceiling.unit)
    text = published(ceiling.value, ceiling.unit)
    if as_sold and ceiling.family in VOLUME_FAMILIES:
        return f"{text} ({number(ceiling.value / MIB)} MiB/s)"
    return text


def ceiling_name(ceiling: Ceiling) -> str:
    """Return `instance EBS throughput, legacy baseline`."""
    return limit_name(ceiling.family, ceiling.phase, ceiling.former_phase)


def limit_name(family: Family, phase: Phase, former_phase: Phase | None = None) -> str:
    """Return a family with its phase; an unknown limit has no phase."""
    name, kind = FAMILY_NAMES[family], phase_name(phase, former_phase)
    return name if family is Family.UNKNOWN or not kind else f"{name}, {kind}"


def short_limit_name(family: Family, phase: Phase, former_phase: Phase | None = None) -> str:
    """Return a short name for a column with a unit: `instance legacy baseline`, `volume`."""
    if family is Family.UNKNOWN:
        return FAMILY_NAMES[family]
    owner = FAMILIES[family].owner or FAMILY_NAMES[family]
    return f"{owner} {phase_name(phase, former_phase)}".strip()


def subject(instance: Instance) -> str:
    """Return the subject of the report: `search-db (db.r5.2xlarge)`, or the part that is known."""
    name, db_class = plain(instance.identifier), plain(instance.db_class or "")
    if name in ("", "unnamed"):
        return db_class or "the instance"
    return f"{name} ({db_class})" if db_class else name


def storage(instance: Instance) -> str:
    """Return the storage as bought: `io1, 4,000 GiB, 30,000 IOPS`; `unknown` without any of it."""
    bought = instance.storage
    parts = [plain(bought.kind)] if bought.kind else []
    if bought.size_gib is not None:
        parts.append(f"{number(bought.size_gib)} GiB")
    if bought.provisioned_ops_per_s is not None:
        parts.append(format_ops_per_s(bought.provisioned_ops_per_s))
    if bought.provisioned_bytes_per_s is not None:
        parts.append(f"{number(bought.provisioned_bytes_per_s / MIB)} MiB/s")
    if bought.volume_count is not None:
        parts.append(counted(bought.volume_count, "volume"))
    return ", ".join(parts) or "unknown"


def ebs_limits(limits: EbsLimits) -> str:
    """Return the EBS limits of the provider's API: `81.25 MB/s, 593.75 MB/s in bursts; … (source, date)`."""
    rates = []
    for baseline, burst, unit in (
        (limits.baseline_bytes_per_s, limits.burst_bytes_per_s, "bytes/s"),
        (limits.baseline_ops_per_s, limits.burst_ops_per_s, "ops/s"),
    ):
        shown = [published(rate, unit) for rate in dict.fromkeys((baseline, burst))]
        rates.append(", ".join(shown) + (" in bursts" if len(shown) > 1 else ""))
    return f"{'; '.join(rates)} ({plain(limits.source)}, {plain(limits.read_on)})"


def published(value: float, unit: str) -> str:
    """Return a published rate; limits have up to five significant figures: 86.875, 593.75."""
    return format_bytes_per_s(value, 5) if unit == "bytes/s" else quantity(value, unit)


def short_span(start_s: float, end_s: float) -> str:
    """Return `03-08 09:48 – 19:00`, for a table where the year is known."""
    text = span(start_s, end_s)
    start, end = text.split(" – ")
    return f"{start[5:]} – {end[5:] if len(end) > 10 else end}"


def source_of(origin: Origin) -> str:
    """Return where a number comes from, with the date on which that was read if there is one."""
    return f"{origin.source}, read {origin.read_on}" if origin.read_on else origin.source


def moment(epoch_s: float, *, has_seconds: bool = False) -> str:
    """Return `2021-03-08 10:14`, in UTC; `10:14:30` where seconds matter."""
    when = datetime.fromtimestamp(epoch_s, UTC)
    return when.strftime("%Y-%m-%d %H:%M:%S" if has_seconds else "%Y-%m-%d %H:%M")


def span(start_s: float, end_s: float) -> str:
    """Return `2021-03-08 09:48 – 19:00`; the day is repeated only when it is another one."""
    has_seconds = bool(start_s % 60 or end_s % 60)
    start, end = moment(start_s, has_seconds=has_seconds), moment(end_s, has_seconds=has_seconds)
    return f"{start} – {end[11:] if start[:10] == end[:10] else end}"


def counted(count: int, noun: str) -> str:
    """Return `1 instance`, `2,100 instances`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def limit_value(family: Family, phase: Phase, former_phase: Phase | None, value: float, unit: str) -> str:
    """Return a limit with its number: `instance baseline 287.5 MB/s`, `unknown limit 81.3 MB/s`."""
    # A documented number has up to five figures; a measured level is not known that well.
    shown = quantity(value, unit) if family is Family.UNKNOWN else published(value, unit)
    return f"{short_limit_name(family, phase, former_phase)} {shown}"


def series_of(words: list[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}"
