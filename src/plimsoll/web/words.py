"""Words of the page that no report has."""

from datetime import UTC, datetime

from plimsoll.model.ceiling import Family
from plimsoll.model.family import FAMILIES
from plimsoll.sources.values.shown import shown as printable
from plimsoll.units import format_duration
from plimsoll.watch.law.amounts import format_amount
from plimsoll.watch.law.message import WatchState

NAME_MAX = 120
"""Letters of a name that are shown; AWS allows 63."""

STATE_SIGNS = {WatchState.BOUND: "▲", WatchState.UNKNOWN: "○", WatchState.NEARING: "◆", WatchState.OK: "●"}
"""Those of verdicts in reports, so that colour is not needed."""
STATE_CLASSES = {
    WatchState.BOUND: "is-binds",
    WatchState.UNKNOWN: "is-unknown",
    WatchState.NEARING: "is-near",
    WatchState.OK: "is-slack",
}
NOTHING = "–"
"""What stands where nothing is known or nothing applies."""


def shown(text: str, letters_max: int = NAME_MAX) -> str:
    """Return a text from outside as it may stand in a page: of a bounded length, without letters that nobody sees."""
    return printable(text, letters_max)


def family_name(ceiling: str) -> str:
    """Return the name of a ceiling for people."""
    try:
        return FAMILIES[Family(ceiling)].name
    except (KeyError, ValueError):
        return "undocumented limit" if ceiling.startswith("unknown") else ceiling.replace("_", " ")


def amount(value: float | None, unit: str) -> str:
    """Return a value with its unit; a dash for what is not known."""
    return NOTHING if value is None else format_amount(value, unit)


def percent(ratio: float | None) -> str:
    """Return a ratio as whole percents: numbers that change in place keep their width."""
    return NOTHING if ratio is None else f"{100 * ratio:.0f} %"


def duration(seconds: float | None) -> str:
    """Return the time until something is empty; a dash for what is not coming closer."""
    if seconds is None:
        return NOTHING
    return format_duration(seconds) if seconds > 0 else "empty"


def moment(epoch_s: float | None) -> str:
    """Return a time to the minute, UTC, without its year: `Nov 26 11:59`; a dash for none."""
    return NOTHING if not epoch_s else f"{datetime.fromtimestamp(epoch_s, tz=UTC):%b %d %H:%M}"
