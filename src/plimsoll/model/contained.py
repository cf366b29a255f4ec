"""
Contain internal errors: one costs the part in which it happens, and never the whole answer.

Rule 1: a loop over parts runs each through `guarded`. Whoever gives the answer collects what failed, and says
        it as a gap.
Rule 2: where nobody collects, an internal error is raised; in tests, in benches and with PLIMSOLL_TRACEBACK=1
        it is raised everywhere (`Containment.is_on`).
Rule 3: errors of the user or the system, Ctrl-C and a lack of memory are not internal, and are raised.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import ClassVar, TypeVar

from msgspec import Struct

from plimsoll.errors import PlimsollError, type_and_place
from plimsoll.model.diagnosis import Missing

_Found = TypeVar("_Found")
_Other = TypeVar("_Other")
_Item = TypeVar("_Item")


class Containment:
    """Whether internal errors are contained; developers switch it off to see them."""

    is_on: ClassVar[bool] = True


class InternalError(Struct, frozen=True, kw_only=True):
    """A part of an answer that is lost to a mistake of ours."""

    part: str
    """What is lost, in words of the report: `CPU`, `the timeline`."""
    hides: str
    """As of `Missing`: `verdict` where it could have changed the verdict."""
    error: str
    """Type and place, without any value of the user: `IndexError in diagnosis/order.py, line 20`."""


_collected: ContextVar[list[InternalError] | None] = ContextVar("collected", default=None)


@contextmanager
def collecting() -> Iterator[list[InternalError]]:
    """Contain internal errors of the parts inside the block, and give them as a list that grows."""
    found: list[InternalError] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def guarded(part: str, compute: Callable[[], _Found], otherwise: _Other, *, hides: str = "") -> _Found | _Other:
    """
    Return what a part of an answer computes, or `otherwise` after an internal error.

    Args:
        part: what is lost then, in words of the report.
        compute: the part; it changes nothing that others use.
        otherwise: stands for the part that is lost.
        hides: as of `Missing`; `verdict` where the part could change the verdict.
    """
    found = _collected.get()
    if found is None or not Containment.is_on:
        return compute()
    try:
        return compute()
    except BaseException as error:
        if not is_internal(error):
            raise
        one = InternalError(part=part, hides=hides, error=type_and_place(error))
        if one not in found:
            found.append(one)
        return otherwise


def guarded_each(
    name: Callable[[_Item], str], items: Iterable[_Item], compute: Callable[[_Item], _Found], *, hides: str = ""
) -> list[_Found]:
    """
    Return what is computed of each item, without those that are lost to an internal error.

    Args:
        name: of the part that an item is.
        items: the parts.
        compute: as of `guarded`.
        hides: as of `guarded`.
    """
    found: list[_Found] = []
    for item in items:
        found += guarded(name(item), partial(_alone, compute, item), (), hides=hides)
    return found


def _alone(compute: Callable[[_Item], _Found], item: _Item) -> list[_Found]:
    return [compute(item)]


def is_internal(error: BaseException) -> bool:
    """Return whether an exception is a mistake of ours, and not of the user, the system or a wish to stop."""
    if isinstance(error, (PlimsollError, MemoryError, OSError)):
        return False
    # A panic in Rust, in our core or in a library, is a BaseException, but no Exception.
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def gaps_of(errors: Iterable[InternalError]) -> tuple[Missing, ...]:
    """Return the gap of each part that is lost."""
    return tuple(Missing(name=one.part, hides=one.hides, remedy=remedy_of(one.error)) for one in errors)


def lost_notes(gaps: Iterable[Missing]) -> tuple[str, ...]:
    """Return a note for each part that is lost, for results that have notes instead of gaps."""
    return tuple(f"Not shown: {gap.name}. {gap.remedy}." for gap in gaps)


def remedy_of(error: str) -> str:
    """Return two sentences that say that a part is lost to an internal error, and what to do about it."""
    return f"It could not be evaluated: internal error {error}. Please report this line"
