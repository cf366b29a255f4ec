"""The claims of one person in one month: hospital, outpatient, physicians and pharmacy."""

from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from claims_pipeline.generate.calendar import first_day, last_day
from claims_pipeline.generate.dice import amount_cents, dice, some
from claims_pipeline.generate.people import CONDITIONS, Person
from claims_pipeline.generate.stays import Stay, stays_of

Values = dict[str, str | int]
"""A record: by field, a text, or cents of an amount. Fields that are left out are blank."""
NONE = "9999-12-31"
"""How CMS writes that there is no date."""
CLAIMS_MAX = 50
"""Of a person's month; the numbers of corrections begin behind them."""

_DRG = {"I509": "0291", "J449": "0190", "I2510": "0247", "I4891": "0309", "E119": "0638"}
_VISITS = (("99213", 92), ("99214", 131), ("99215", 184), ("93000", 17), ("80053", 11), ("36415", 3))
_OUTPATIENT = (("0300", "80053", 14), ("0320", "71046", 68), ("0450", "99284", 410), ("0510", "99213", 118))
_ROOMS = (("0120", 1900), ("0250", 640), ("0300", 480), ("0450", 1100))
_SPECIALTIES = ("08", "11", "06", "29", "10", "01")


class Claim(NamedTuple):
    """A claim: records of one or several kinds that have its number."""

    kind: str
    """Kind of the record that the claim is known by: `part_a_claims`, `part_b_lines` or `part_d_events`."""
    records: list[tuple[str, Values]]
    """Kind and values; the header of Part A is the first."""


def claims_of(names: tuple[object, ...], person: Person, month: int) -> list[Claim]:
    """Return what was done for a person in a month, in the order of its numbers."""
    if person.died and person.died < first_day(month):
        return []
    rng = dice(*names, person.number, month)
    numbers = _Numbers(person, month, str(names[-1])[-1])
    stays = stays_of(names, person, month)
    claims = [_inpatient(rng, numbers, person, stay) for stay in stays]
    claims += [_attendance(rng, numbers, person, stay) for stay in stays]
    end = min(last_day(month), person.died) if person.died else last_day(month)
    days = sorted(rng.sample(range(end.day), min(end.day, _how_many(rng, person))))
    for day in days:
        at = end.replace(day=day + 1)
        make = _outpatient if rng.random() < 0.2 else _visit
        claims.append(make(rng, numbers, person, at))
    claims += _fills(rng, numbers, person, month, end)
    return claims[:CLAIMS_MAX]


def _how_many(rng: Random, person: Person) -> int:
    """Visits in a month: more for those with more conditions."""
    return min(9, int(rng.expovariate(1 / (0.5 + 0.45 * len(person.conditions)))))


class _Numbers:
    """Gives out the numbers of a person's month."""

    def __init__(self, person: Person, month: int, family: str) -> None:
        self._prefix = f"{family}{month % 1000:03d}{person.number:07d}"
        self.person = person
        self._next = 0

    def begin(self, kind: str, first: date, last: date) -> Values:
        """Return what every record of a new claim has."""
        number = f"{self._prefix}{self._next:02d}"
        self._next += 1
        return {
            "cur_clm_uniq_id": number,
            "bene_mbi_id": self.person.mbi,
            "clm_type_cd": kind,
            "clm_from_dt": first.isoformat(),
            "clm_thru_dt": last.isoformat(),
        }


def _provider(rng: Random, first: int) -> tuple[str, str]:
    """Return number and NPI of one of 40 made-up providers; NPIs that begin with 0 are never issued."""
    which = rng.randrange(40)
    return f"{first + which:06d}", f"0{first:06d}{which:03d}"


def _processed(rng: Random, last: date) -> Values:
    decided = last + timedelta(days=rng.randint(1, 9))
    loaded = decided + timedelta(days=1)
    return {"clm_adjsmt_type_cd": "0", "clm_efctv_dt": decided.isoformat(), "clm_idr_ld_dt": loaded.isoformat()}


def _hospital_claim(rng: Random, common: Values, person: Person, codes: list[str], header: Values) -> Claim:
    """Return header and diagnoses; lines are appended by whoever knows them."""
    oscar, npi = _provider(rng, 990000)
    control = f"SYN{common['cur_clm_uniq_id']}"
    common["prvdr_oscar_num"] = oscar
    last = date.fromisoformat(str(common["clm_thru_dt"]))
    head: Values = {
        **common,
        **_processed(rng, last),
        "prncpl_dgns_cd": codes[0],
        "fac_prvdr_npi_num": npi,
        "atndg_prvdr_npi_num": _provider(rng, 880000)[1],
        "dgns_prcdr_icd_ind": "0",
        "clm_bill_freq_cd": "1",
        "clm_blg_prvdr_oscar_num": oscar,
        "clm_blg_prvdr_npi_num": npi,
        "prvdr_fac_fips_st_cd": person.place[0],
        "clm_cntl_num": control,
        "clm_org_cntl_num": control,
        "clm_cntrctr_num": "99001",
        **header,
    }
    records = [("part_a_claims", head)]
    for place, code in enumerate(codes, 1):
        records.append(
            (
                "part_a_diagnoses",
                {
                    **common,
                    "clm_prod_type_cd": "D",
                    "clm_val_sqnc_num": str(place),
                    "clm_dgns_cd": code,
                    "clm_poa_ind": "Y" if rng.random() < 0.9 else "N",
                    "dgns_prcdr_icd_ind": "0",
                    "clm_blg_prvdr_oscar_num": oscar,
                },
            )
        )
    return Claim("part_a_claims", records)


def _line(common: Values, number: int, revenue: str, quantity: int, cents: int) -> Values:
    return {
        **common,
        "clm_line_num": str(number),
        "clm_line_from_dt": common["clm_from_dt"],
        "clm_line_thru_dt": common["clm_thru_dt"],
        "clm_line_prod_rev_ctr_cd": revenue,
        "clm_line_instnl_rev_ctr_dt": common["clm_from_dt"],
        "clm_line_srvc_unit_qty": f"{quantity}.0000",
        "clm_line_cvrd_pd_amt": cents,
        "clm_fac_prvdr_oscar_num": common["prvdr_oscar_num"],
    }


def _inpatient(rng: Random, numbers: _Numbers, person: Person, stay: Stay) -> Claim:
    """A stay is paid by its diagnosis, so its lines carry no payment of their own."""
    common = numbers.begin("60", stay.begin, stay.end)
    codes = list(dict.fromkeys((stay.diagnosis, *some(rng, person.conditions, 7))))
    paid = amount_cents(rng, 11_500, 0.6)
    status = "20" if stay.is_death else rng.choices(("01", "03", "06"), (60, 22, 18))[0]
    header: Values = {
        "clm_pmt_amt": paid,
        "clm_bill_fac_type_cd": "1",
        "clm_bill_clsfctn_cd": "1",
        "admtg_dgns_cd": stay.diagnosis,
        "bene_ptnt_stus_cd": status,
        "dgns_drg_cd": _DRG.get(stay.diagnosis, "0313"),
        "clm_admsn_type_cd": "1",
        "clm_admsn_src_cd": "1",
        "clm_mdcr_instnl_tot_chrg_amt": paid * 3 + rng.randrange(100),
        "clm_mdcr_ip_pps_cptl_ime_amt": paid // 50,
        "clm_oprtnl_ime_amt": paid // 20,
        "clm_mdcr_ip_pps_dsprprtnt_amt": paid // 90,
        "clm_hipps_uncompd_care_amt": paid // 40,
        "clm_oprtnl_dsprprtnt_amt": paid // 30,
    }
    claim = _hospital_claim(rng, common, person, codes, header)
    days = max(1, (stay.end - stay.begin).days)
    for place, (revenue, _) in enumerate((*_ROOMS, ("0001", 0)), 1):
        quantity = days if revenue == "0120" else 1
        claim.records.append(("part_a_lines", _line(common, place, revenue, quantity, 0)))
    return claim


def _outpatient(rng: Random, numbers: _Numbers, person: Person, at: date) -> Claim:
    """The header pays the sum of its lines."""
    common = numbers.begin("40", at, at)
    codes = list(person.conditions[:3]) or ["Z0000"]
    done = rng.sample(_OUTPATIENT, rng.randint(1, len(_OUTPATIENT)))
    paid = [amount_cents(rng, dollars, 0.5) for _, _, dollars in done]
    header: Values = {
        "clm_pmt_amt": sum(paid),
        "clm_bill_fac_type_cd": "1",
        "clm_bill_clsfctn_cd": "3",
        "bene_ptnt_stus_cd": "01",
        "clm_op_srvc_type_cd": "1",
        "clm_mdcr_instnl_tot_chrg_amt": 2 * sum(paid),
    }
    claim = _hospital_claim(rng, common, person, codes, header)
    for place, ((revenue, code, _), cents) in enumerate(zip(done, paid, strict=True), 1):
        line = _line(common, place, revenue, 1, cents)
        claim.records.append(("part_a_lines", {**line, "clm_line_hcpcs_cd": code}))
    return claim


def _visit(rng: Random, numbers: _Numbers, person: Person, at: date) -> Claim:
    common = numbers.begin("71", at, at)
    done = rng.sample(_VISITS, rng.randint(1, 3))
    codes = list(person.conditions[:8]) or ["Z0000"]
    return _physician_claim(rng, common, codes, done, place="11")


def _attendance(rng: Random, numbers: _Numbers, person: Person, stay: Stay) -> Claim:
    """Physicians see whom a hospital has."""
    common = numbers.begin("71", stay.begin, stay.end)
    days = 1 + (stay.end - stay.begin).days
    done = [("99223", 190), *[("99232", 72)] * max(0, days - 2), ("99239", 105)]
    codes = list(dict.fromkeys((stay.diagnosis, *person.conditions[:7])))
    return _physician_claim(rng, common, codes, done, place="21")


def _physician_claim(
    rng: Random, common: Values, codes: list[str], done: list[tuple[str, int]], *, place: str
) -> Claim:
    _, npi = _provider(rng, 880000)
    last = date.fromisoformat(str(common["clm_thru_dt"]))
    shared: Values = {
        **common,
        **_processed(rng, last),
        "rndrg_prvdr_type_cd": "012",
        "rndrg_prvdr_fips_st_cd": "36",
        "clm_prvdr_spclty_cd": rng.choice(_SPECIALTIES),
        "clm_fed_type_srvc_cd": "1",
        "clm_pos_cd": place,
        "clm_line_from_dt": common["clm_from_dt"],
        "clm_line_thru_dt": common["clm_thru_dt"],
        "clm_line_dgns_cd": codes[0],
        "clm_rndrg_prvdr_tax_num": "000000000",
        "rndrg_prvdr_npi_num": npi,
        "clm_carr_pmt_dnl_cd": "1",
        "clm_prcsg_ind_cd": "A",
        "clm_cntl_num": f"SYN{common['cur_clm_uniq_id']}",
        "clm_disp_cd": "01",
        "dgns_prcdr_icd_ind": "0",
        "clm_rndrg_prvdr_npi_num": npi,
        "clm_cntrctr_num": "99002",
        **{f"clm_dgns_{at}_cd": code for at, code in enumerate(codes[:12], 1)},
    }
    records: list[tuple[str, Values]] = []
    for number, (code, dollars) in enumerate(done, 1):
        allowed = amount_cents(rng, dollars, 0.15)
        line: Values = {
            **shared,
            "clm_line_num": str(number),
            "clm_line_hcpcs_cd": code,
            "clm_line_alowd_chrg_amt": allowed,
            # Medicare pays four fifths of what it allows.
            "clm_line_cvrd_pd_amt": allowed * 4 // 5,
            "clm_line_srvc_unit_qty": "1.0000",
        }
        records.append(("part_b_lines", line))
    return Claim("part_b_lines", records)


def _fills(rng: Random, numbers: _Numbers, person: Person, month: int, end: date) -> list[Claim]:
    """A drug for each condition: every month for 30 days, or every third month for 90."""
    claims = []
    for place, condition in enumerate(person.conditions):
        days = 90 if (person.number + place) % 3 == 0 else 30
        if (days == 90 and (month + person.number) % 3) or rng.random() < 0.12:
            continue
        _, drug, dollars = CONDITIONS[condition]
        at = end.replace(day=rng.randint(1, end.day))
        cents = amount_cents(rng, dollars * days / 30, 0.2)
        event: Values = {
            **numbers.begin("02", at, at),
            **_processed(rng, at),
            "clm_line_ndc_cd": drug,
            "clm_line_from_dt": at.isoformat(),
            "prvdr_srvc_id_qlfyr_cd": "01",
            "clm_srvc_prvdr_gnrc_id_num": _provider(rng, 770000)[1],
            "clm_dspnsng_stus_cd": "C",
            "clm_daw_prod_slctn_cd": "0",
            "clm_line_srvc_unit_qty": f"{days}.0000",
            "clm_line_days_suply_qty": str(days),
            "prvdr_prsbng_id_qlfyr_cd": "01",
            "clm_prsbng_prvdr_gnrc_id_num": _provider(rng, 880000)[1],
            # Who is poor pays little: dual status.
            "clm_line_bene_pmt_amt": cents if person.dual == "NA" else min(cents, 395),
            "clm_line_rx_srvc_rfrnc_num": f"{person.number:08d}{place:04d}",
            "clm_line_rx_fill_num": str(month % 12),
            "clm_phrmcy_srvc_type_cd": "01",
        }
        claims.append(Claim("part_d_events", [("part_d_events", event)]))
    return claims
