"""Stays in hospital, and those that follow within 30 days of a discharge."""

from datetime import date, timedelta
from typing import NamedTuple

from claims_pipeline.generate.calendar import first_day, last_day
from claims_pipeline.generate.dice import dice
from claims_pipeline.generate.people import Person

STAY_CHANCE = 0.018
"""A month, for a person without conditions."""
READMISSION_CHANCE = 0.17
READMISSION_DAYS = (3, 29)


class Stay(NamedTuple):
    """From admission to discharge; a stay ends with its month at the latest, or with the person's death."""

    begin: date
    end: date
    diagnosis: str
    is_readmission: bool
    is_death: bool


def stays_of(names: tuple[object, ...], person: Person, month: int) -> list[Stay]:
    """Return a person's stays that begin in a month, the first first; they do not overlap."""
    found = _first_stays(names, person, month)
    returning = [
        again
        for stay in (*_first_stays(names, person, month - 1), *found)
        if (again := _readmission(names, person, stay)) and _is_in(again.begin, month)
    ]
    stays: list[Stay] = []
    for stay in sorted([*found, *returning]):
        if not stays or stay.begin > stays[-1].end:
            stays.append(stay)
    return stays


def _first_stays(names: tuple[object, ...], person: Person, month: int) -> list[Stay]:
    rng = dice(*names, person.number, month, "stay")
    chance = STAY_CHANCE * (1 + 0.5 * len(person.conditions))
    if rng.random() >= chance:
        return []
    begin = first_day(month) + timedelta(days=rng.randrange(28))
    reasons = person.conditions or ("R079",)
    return _stay(person, begin, rng.randint(1, 9), rng.choice(reasons), is_readmission=False)


def _readmission(names: tuple[object, ...], person: Person, stay: Stay) -> Stay | None:
    rng = dice(*names, person.number, stay.begin, "readmission")
    if stay.is_death or rng.random() >= READMISSION_CHANCE:
        return None
    begin = stay.end + timedelta(days=rng.randint(*READMISSION_DAYS))
    return next(iter(_stay(person, begin, rng.randint(2, 8), stay.diagnosis, is_readmission=True)), None)


def _stay(person: Person, begin: date, days: int, diagnosis: str, *, is_readmission: bool) -> list[Stay]:
    """Return the stay, unless the person is dead by then."""
    end = min(begin + timedelta(days=days), last_day(begin.year * 12 + begin.month - 1))
    if person.died and begin > person.died:
        return []
    is_death = person.died is not None and person.died <= end
    if person.died and is_death:
        end = person.died
    return [Stay(begin, end, diagnosis, is_readmission, is_death)]


def _is_in(day: date, month: int) -> bool:
    return day.year * 12 + day.month - 1 == month
