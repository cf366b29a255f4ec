"""
All records of one person's month, with their defects: what a delivery is made of.

A record is delivered once as it is; or it is damaged; or delivered twice in the same file; or again a month later.
A claim may be corrected a month later: a record that cancels it (negative amounts), and one with the right amounts.
"""

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import NamedTuple

from claims_pipeline.generate.calendar import first_day, last_day
from claims_pipeline.generate.claims import CLAIMS_MAX, NONE, Claim, Values, claims_of
from claims_pipeline.generate.dice import dice
from claims_pipeline.generate.encode import DAMAGES, Encoder
from claims_pipeline.generate.people import Person
from claims_pipeline.layout import Record
from claims_pipeline.manifest import DUPLICATE

CORRECTED = 0.03
"""Share of claims that are corrected a month later."""
CORRECTIONS_MAX = 25
"""Of a person's month: two numbers each, behind those of the claims."""
DAMAGED = 1 / 900
"""Share of records with each kind of damage."""
REPEATED = 1 / 400
"""Share of records that are delivered twice in a file; as many are delivered again a month later."""
_AGAIN = "again"
_CANCELLED, _ADJUSTED = "1", "2"


class Outcome(NamedTuple):
    """A record and what must become of it."""

    kind: str
    line: bytes
    values: Values
    defect: str
    """Class of the reason for which it is quarantined; empty for a row."""
    is_orphan: bool = False


class _Fate(NamedTuple):
    kind: str
    line: bytes
    values: Values
    name: str
    """Empty, one of DAMAGES, DUPLICATE, or _AGAIN."""
    is_orphan: bool


class Months:
    """Makes people's months of one organisation."""

    def __init__(self, layouts: dict[str, Record], names: tuple[object, ...], *, is_clean: bool = False) -> None:
        """
        Remember what seeds all choices.

        Args:
            layouts: of the kinds that are wanted.
            names: seed and organisation.
            is_clean: without defects and corrections.
        """
        self._encoders = {kind: Encoder(layout) for kind, layout in layouts.items()}
        self._names = names
        self._is_clean = is_clean

    def outcomes(self, person: Person, month: int, *, is_first: bool) -> Iterator[Outcome]:
        """
        Return what is delivered of a person for a month of service.

        Args:
            person: whose month it is.
            month: the month in which the services were.
            is_first: nothing was delivered before, so there is nothing to correct or to repeat.
        """
        twice = []
        claims = claims_of(self._names, person, month)
        everything = [[("beneficiaries", beneficiary(person, month))], *(c.records for c in claims)]
        for records in everything:
            for fate in self._fates(month, records):
                defect = fate.name if fate.name in DAMAGES else ""
                yield Outcome(fate.kind, fate.line, fate.values, defect, fate.is_orphan)
                if fate.name == DUPLICATE:
                    twice.append(Outcome(fate.kind, fate.line, fate.values, DUPLICATE))
        yield from twice
        if not is_first and not self._is_clean:
            yield from self._late(person, month)

    def _fates(self, month: int, records: list[tuple[str, Values]]) -> Iterator[_Fate]:
        """Return the records of a claim with their fates; a line is damaged if that is its fate."""
        number = records[0][1].get("cur_clm_uniq_id", records[0][1]["bene_mbi_id"])
        rng = dice(*self._names, month, number, "fate")
        is_orphan = False
        for kind, values in records:
            name = "" if self._is_clean else _fate_of(rng, kind)
            encoder = self._encoders.get(kind)
            if encoder is not None:
                line = encoder.line(values)
                if name in DAMAGES:
                    line = encoder.damaged(line, name, dice(*self._names, number, kind, "damage"))
                yield _Fate(kind, line, values, name, is_orphan and name not in DAMAGES)
            # What follows a header that is damaged has none.
            is_orphan |= kind == "part_a_claims" and name in DAMAGES

    def _late(self, person: Person, month: int) -> Iterator[Outcome]:
        """Return what a month has of the month before: records again, and corrections."""
        corrected = 0
        for claim in claims_of(self._names, person, month - 1):
            fates = list(self._fates(month - 1, claim.records))
            for fate in fates:
                if fate.name == _AGAIN:
                    yield Outcome(fate.kind, fate.line, fate.values, DUPLICATE)
            rng = dice(*self._names, claim.records[0][1]["cur_clm_uniq_id"], "correction")
            is_damaged = any(fate.name in DAMAGES for fate in fates)
            if is_damaged or corrected == CORRECTIONS_MAX or rng.random() >= CORRECTED:
                continue
            for kind, values in _correction(rng, claim, month, corrected):
                if kind in self._encoders:
                    yield Outcome(kind, self._encoders[kind].line(values), values, "")
            corrected += 1


def _fate_of(rng: Random, kind: str) -> str:
    chance = rng.random()
    for name in DAMAGES:
        chance -= DAMAGED
        if chance < 0:
            return name
    chance -= REPEATED
    if chance < 0:
        return DUPLICATE
    # Beneficiaries are new in every delivery.
    return _AGAIN if chance < REPEATED and kind != "beneficiaries" else ""


def _correction(rng: Random, claim: Claim, month: int, place: int) -> Iterator[tuple[str, Values]]:
    """Return the records that cancel a claim, and those that replace it: each with a number of its own."""
    decided = first_day(month) + timedelta(days=rng.randrange(20))
    ratio = rng.choice((60, 80, 90, 110, 125))
    number = str(claim.records[0][1]["cur_clm_uniq_id"])
    # The same organisation and person, in this month: see claims._Numbers.
    prefix = f"{number[0]}{month % 1000:03d}{number[4:11]}"
    for step, (code, percent) in enumerate(((_CANCELLED, -100), (_ADJUSTED, ratio))):
        dates: Values = {
            "clm_adjsmt_type_cd": code,
            "clm_efctv_dt": decided.isoformat(),
            "clm_idr_ld_dt": (decided + timedelta(days=1)).isoformat(),
        }
        for kind, values in claim.records:
            changed: Values = {
                name: value * percent // 100 if isinstance(value, int) else value for name, value in values.items()
            }
            changed["cur_clm_uniq_id"] = f"{prefix}{CLAIMS_MAX + 2 * place + step:02d}"
            if "clm_adjsmt_type_cd" in values:
                changed |= dates
            yield kind, changed


def beneficiary(person: Person, month: int) -> Values:
    """Return a person's demographics at the end of a month."""
    end = last_day(month)
    is_dead = person.died is not None and person.died <= end
    state, county, code, city, state_name = person.place
    entitled = person.born.replace(year=person.born.year + 65, day=1).isoformat()
    if person.is_disabled:
        entitled = person.born.replace(year=person.born.year + 29, day=1).isoformat()
    return {
        "bene_mbi_id": person.mbi,
        "bene_fips_state_cd": state,
        "bene_fips_cnty_cd": county,
        "bene_zip_cd": code,
        "bene_dob": person.born.isoformat(),
        "bene_sex_cd": person.sex,
        "bene_race_cd": person.race,
        "bene_age": str(end.year - person.born.year),
        "bene_mdcr_stus_cd": "20" if person.is_disabled else "10",
        "bene_dual_stus_cd": person.dual,
        "bene_death_dt": person.died.isoformat() if person.died and is_dead else NONE,
        "bene_rng_bgn_dt": NONE,
        "bene_rng_end_dt": NONE,
        "bene_1st_name": person.name[0],
        "bene_midl_name": person.name[1],
        "bene_last_name": person.name[2],
        "bene_orgnl_entlmt_rsn_cd": "1" if person.is_disabled else "0",
        "bene_entlmt_buyin_ind": "3" if person.dual == "NA" else "C",
        "bene_part_a_enrlmt_bgn_dt": entitled,
        "bene_part_b_enrlmt_bgn_dt": entitled,
        "bene_line_1_adr": person.address[0],
        "bene_line_2_adr": person.address[1],
        "geo_zip_plc_name": city,
        "geo_usps_state_cd": state_name,
        "geo_zip5_cd": code,
        "geo_zip4_cd": "0000",
    }
