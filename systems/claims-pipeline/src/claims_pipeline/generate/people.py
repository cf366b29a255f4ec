"""People: who they are, what they suffer from, and when they die."""

import math
from datetime import date, timedelta
from typing import NamedTuple

from claims_pipeline.generate.calendar import first_day
from claims_pipeline.generate.dice import dice

# CMS's numbers leave out letters that look like digits.
LETTERS = "ACDEFGHJKMNPQRTUVWXY"
DEATH_CHANCE = 0.004
"""A month: about 5 of 100 people die in a year."""
EPOCH = 2020 * 12
"""Nobody dies before this month."""

CONDITIONS = {
    # diagnosis: share of people, drug (NDC), dollars of a fill
    "I10": (0.57, "99990010101", 6.0),
    "E785": (0.41, "99990010202", 9.0),
    "E119": (0.27, "99990010303", 38.0),
    "I2510": (0.22, "99990010404", 14.0),
    "N183": (0.18, "99990010505", 11.0),
    "I509": (0.12, "99990010606", 95.0),
    "J449": (0.11, "99990010707", 160.0),
    "F329": (0.15, "99990010808", 8.0),
    "I4891": (0.09, "99990010909", 210.0),
    "M810": (0.07, "99990011010", 22.0),
}
_PLACES = (
    ("36", "061", "10001", "NEW YORK", "NY"),
    ("17", "031", "60601", "CHICAGO", "IL"),
    ("48", "201", "77002", "HOUSTON", "TX"),
    ("12", "086", "33101", "MIAMI", "FL"),
    ("06", "037", "90001", "LOS ANGELES", "CA"),
    ("42", "101", "19102", "PHILADELPHIA", "PA"),
)
_FIRST = ("ALDER", "BRIAR", "CEDAR", "DALE", "EBONY", "FERN", "GROVE", "HAZEL", "IVY", "JUNIPER", "LAUREL", "MYRTLE")
_LAST = (
    "ASHBOURNE", "BIRCHWOOD", "COPPERFELD", "O'DRISKEL", "EASTLEIGHT", "FOXGLOVER", "GRANITER", "HOLLOWMERE",
    "INKWELLS", "JESSAMYN", "KESTRELL", "LARKSPURR",
)  # fmt: skip
# A comma and quotes: what is wrong with the quoting of CSV shows here.
_SECOND_LINES = ("", "", "", "", "APT 2", "UNIT 5, REAR", 'THE "OLD MILL"')


class Person(NamedTuple):
    """A made-up beneficiary."""

    number: int
    mbi: str
    born: date
    died: date | None
    sex: str
    race: str
    dual: str
    conditions: tuple[str, ...]
    name: tuple[str, str, str]
    place: tuple[str, str, str, str, str]
    address: tuple[str, str]
    is_disabled: bool


def mbi_of(block: int, index: int) -> str:
    """
    Return a number in CMS's format whose second character is S, which CMS never issues.

    Args:
        block: 0 ≤ x < 7,200,000; decides the first 7 characters.
        index: 0 ≤ x < 40,000; decides the last 4.
    """
    figure = "0123456789" + LETTERS
    rest, place7 = divmod(block, 10)
    rest, place6 = divmod(rest, 20)
    rest, place5 = divmod(rest, 20)
    rest, place4 = divmod(rest, 10)
    place1, place3 = divmod(rest, 20)
    head = f"{place1 + 1}S{figure[place3]}{place4}{LETTERS[place5]}{figure[place6]}{place7}"
    letters, digits = divmod(index, 100)
    return f"{head}{LETTERS[letters // 20]}{LETTERS[letters % 20]}{digits:02d}"


def person_of(seed: int, organisation: str, number: int) -> Person:
    """Return the person with a number in an organisation."""
    rng = dice(seed, organisation, number)
    is_disabled = rng.random() < 0.13
    age = rng.randint(30, 64) if is_disabled else 65 + min(40, int(rng.expovariate(1 / 9)))
    months = int(math.log(1 - rng.random()) / math.log(1 - DEATH_CHANCE))
    died = first_day(EPOCH + months) + timedelta(days=rng.randrange(28)) if months < 600 else None
    weight = 0.6 + age / 150
    # The first digits tell the organisations apart: nobody is in two of them.
    family = int(organisation[-1]) * 100_000
    return Person(
        number=number,
        mbi=mbi_of(family + number // 40_000, number % 40_000),
        born=date(2022 - age, rng.randint(1, 12), rng.randint(1, 28)),
        died=died,
        sex=rng.choice("12"),
        race=rng.choices("123456", (78, 11, 3, 3, 4, 1))[0],
        dual=rng.choices(("NA", "01", "02", "04", "08"), (82, 2, 8, 2, 6))[0],
        conditions=tuple(name for name, (share, *_) in CONDITIONS.items() if rng.random() < share * weight),
        name=(rng.choice(_FIRST), rng.choice(LETTERS), rng.choice(_LAST)),
        place=rng.choice(_PLACES),
        address=(f"{rng.randint(1, 9999)} SYNTHETIC ST", rng.choice(_SECOND_LINES)),
        is_disabled=is_disabled,
    )
