"""What each view says of a few rows made by hand."""

from datetime import date
from decimal import Decimal

import pytest
from psycopg import Connection
from tables import Rows

from claims_pipeline.views.refresh import refresh

pytestmark = pytest.mark.xdist_group("views")


class Viewed:
    """Rows, and views over them."""

    def __init__(self, database: Connection) -> None:
        self.database = database
        self.rows = Rows(database)

    def of(self, view: str, columns: str = "*") -> list[tuple]:
        list(refresh(self.database))
        return self.database.execute(f"SELECT {columns} FROM claims.{view} ORDER BY 1, 2").fetchall()


@pytest.fixture
def viewed(database: Connection) -> Viewed:
    return Viewed(database)


def day(text: str) -> date:
    return date.fromisoformat(text)


def test_a_cancelled_and_adjusted_claim_counts_once_with_its_last_amount(viewed: Viewed):
    """
    The cancellation and the adjusted claim have the same effective date; the adjusted one is final.
    """
    viewed.rows.part_a(1, "P1", "2023-01-03/2023-01-05", "100")
    later = {"clm_efctv_dt": "2023-02-01"}
    viewed.rows.part_a(2, "P1", "2023-01-03/2023-01-05", "-100", clm_adjsmt_type_cd="1", **later)
    viewed.rows.part_a(3, "P1", "2023-01-03/2023-01-05", "80.25", clm_adjsmt_type_cd="2", **later)

    assert [(3, Decimal("80.25"))] == viewed.of("final_part_a_claims", "cur_clm_uniq_id, clm_pmt_amt")


def test_a_cancelled_claim_counts_no_more(viewed: Viewed):
    viewed.rows.part_a(1, "P1", "2023-01-03", "100")
    viewed.rows.part_a(2, "P1", "2023-01-03", "-100", clm_adjsmt_type_cd="1", clm_efctv_dt="2023-02-01")
    viewed.rows.part_a(3, "P1", "2023-01-09", "7")
    viewed.rows.part_b(1, "P1", "2023-01-03", "50")
    viewed.rows.part_b(
        2, "P1", "2023-01-03", "-50", clm_adjsmt_type_cd="1", clm_efctv_dt="2023-02-01", clm_cntl_num="B1"
    )
    viewed.rows.part_d(1, "P1", "2023-01-03", "5", clm_line_rx_srvc_rfrnc_num="R1")
    viewed.rows.part_d(
        2, "P1", "2023-01-03", "-5", clm_adjsmt_type_cd="1", clm_efctv_dt="2023-02-01",
        clm_line_rx_srvc_rfrnc_num="R1",
    )  # fmt: skip

    assert [(3, "P1")] == viewed.of("final_part_a_claims", "cur_clm_uniq_id, bene_mbi_id")
    assert [] == viewed.of("final_part_b_lines", "1, 2")
    assert [] == viewed.of("final_part_d_events", "1, 2")


def test_lines_of_one_claim_are_final_each_for_itself(viewed: Viewed):
    viewed.rows.part_b(1, "P1", "2023-01-03", "50", clm_line_num=1)
    viewed.rows.part_b(1, "P1", "2023-01-03", "20", clm_line_num=2)
    viewed.rows.part_b(
        2, "P1", "2023-01-03", "60", clm_line_num=1, clm_cntl_num="B1", clm_adjsmt_type_cd="2",
        clm_efctv_dt="2023-02-01",
    )  # fmt: skip

    assert [(1, Decimal(20)), (2, Decimal(60))] == viewed.of(
        "final_part_b_lines", "cur_clm_uniq_id, clm_line_cvrd_pd_amt"
    )


def test_cost_is_summed_by_month_and_category(viewed: Viewed):
    viewed.rows.part_a(1, "P1", "2023-01-30/2023-02-02", "1000.10")
    viewed.rows.part_a(2, "P1", "2023-02-10", "200", clm_type_cd="40")
    viewed.rows.part_a(3, "P1", "2023-02-11", "300", clm_type_cd="20")
    viewed.rows.part_b(1, "P1", "2023-02-10", "50.05")
    viewed.rows.part_b(2, "P1", "2023-02-20", "0.05")
    viewed.rows.part_b(3, "P1", "2023-02-20", "9", clm_type_cd="82")
    viewed.rows.part_d(1, "P1", "2023-01-31", "3.50")

    columns = "month, category, services, paid_usd"
    assert [
        (day("2023-01-01"), "drugs", 1, Decimal("3.50")),
        (day("2023-02-01"), "equipment", 1, Decimal("9.00")),
        (day("2023-02-01"), "inpatient", 1, Decimal("1000.10")),
        (day("2023-02-01"), "outpatient", 1, Decimal("200.00")),
        (day("2023-02-01"), "professional", 2, Decimal("50.10")),
        (day("2023-02-01"), "skilled nursing", 1, Decimal("300.00")),
    ] == viewed.of("cost_by_month", columns)


def test_member_months_end_with_death_and_begin_with_enrolment(viewed: Viewed):
    """
    Claims span January to March; whoever dies in February has no March, whoever enrols on 1 February no January.
    """
    viewed.rows.person("P1")
    viewed.rows.person("P2", bene_death_dt="2023-02-10")
    viewed.rows.person("P3", "2023-02-01", bene_dual_stus_cd="02")
    viewed.rows.person("P4", "2023-03-02")
    viewed.rows.part_b(1, "P1", "2023-01-10", "60")
    viewed.rows.part_b(2, "P1", "2023-03-10", "90")

    months = viewed.of("member_months", "bene_mbi_id, to_char(month, 'MM'), has_part_a, is_dual")
    assert [
        ("P1", "01", True, False),
        ("P1", "02", True, False),
        ("P1", "03", True, False),
        ("P2", "01", True, False),
        ("P2", "02", True, False),
        ("P3", "02", True, True),
        ("P3", "03", True, True),
    ] == months
    assert [
        (day("2023-01-01"), "professional", 2, Decimal(60), Decimal(30)),
        (day("2023-03-01"), "professional", 2, Decimal(90), Decimal(45)),
    ] == viewed.of("cost_per_member_month", "month, category, members, paid_usd, paid_usd_per_member")


def test_a_beneficiary_belongs_to_the_clinician_with_most_primary_care(viewed: Viewed):
    """
    A plurality of allowed charges; a cardiologist (06) and a laboratory test do not count, and equals go to the last seen.
    """

    def visit(claim: int, person: str, when: str, allowed: str, npi: str, **values: str) -> None:
        primary = {"clm_line_hcpcs_cd": "99213", "clm_prvdr_spclty_cd": "11"}
        viewed.rows.part_b(claim, person, when, allowed, rndrg_prvdr_npi_num=npi, **{**primary, **values})

    visit(1, "P1", "2023-01-01", "40", "N1")
    visit(2, "P1", "2023-01-02", "30", "N2")
    visit(3, "P1", "2023-01-03", "30", "N2", clm_line_hcpcs_cd="G0439")
    visit(4, "P1", "2023-01-04", "900", "N3", clm_prvdr_spclty_cd="06")
    visit(5, "P1", "2023-01-05", "900", "N1", clm_line_hcpcs_cd="80053")
    visit(6, "P2", "2023-01-01", "50", "N1")
    visit(7, "P2", "2023-01-09", "50", "N9")

    columns = "bene_mbi_id, rndrg_prvdr_npi_num, visits, allowed_usd, share"
    assert [("P1", "N2", 2, Decimal(60), Decimal("0.6")), ("P2", "N9", 1, Decimal(50), Decimal("0.5"))] == viewed.of(
        "attribution", columns
    )


def test_interim_bills_and_transfers_are_one_stay(viewed: Viewed):
    """
    A claim may lie within an earlier one; a stay goes on if the next claim begins the day after, not two days after.
    """
    viewed.rows.part_a(1, "P1", "2023-01-01/2023-01-20", "100", dgns_drg_cd="0100")
    viewed.rows.part_a(2, "P1", "2023-01-03/2023-01-04", "10", dgns_drg_cd="0200")
    viewed.rows.part_a(3, "P1", "2023-01-21/2023-01-25", "50", prvdr_oscar_num="050002", dgns_drg_cd="0300")
    viewed.rows.part_a(4, "P1", "2023-01-27/2023-01-27", "5", dgns_drg_cd="0300")
    viewed.rows.part_a(5, "P2", "2023-01-21/2023-01-25", "7", clm_type_cd="40")

    columns = "admitted_on, discharged_on, days, claims, hospitals, paid_usd, drg"
    assert [
        (day("2023-01-01"), day("2023-01-25"), 24, 3, 2, Decimal(160), "0300"),
        (day("2023-01-27"), day("2023-01-27"), 1, 1, 1, Decimal(5), "0300"),
    ] == viewed.of("inpatient_stays", columns)


def test_a_stay_within_30_days_is_a_readmission(viewed: Viewed):
    """
    The thirtieth day counts, the thirty-first does not, and whoever died in hospital cannot come back.
    """
    for claim, (person, days, status) in enumerate(
        [
            ("P1", "2023-01-01/2023-01-10", "01"),
            ("P1", "2023-02-09/2023-02-10", "01"),
            ("P1", "2023-03-13/2023-03-14", "01"),
            ("P2", "2023-01-01/2023-01-10", "20"),
        ]
    ):
        viewed.rows.part_a(claim, person, days, "90", bene_ptnt_stus_cd=status, dgns_drg_cd="0100")

    assert [
        (day("2023-01-01"), 30, True),
        (day("2023-02-09"), 31, False),
        (day("2023-03-13"), None, False),
    ] == viewed.of("readmissions", "admitted_on, days_until_next, is_readmitted")
    columns = "drg, stays, paid_usd, paid_usd_mean, days_mean, readmitted_share"
    assert [("0100", 4, Decimal(360), Decimal(90), Decimal("5.00"), Decimal("0.3333"))] == viewed.of(
        "cost_by_drg", columns
    )


def test_an_emergency_visit_is_a_day_at_a_hospital(viewed: Viewed):
    viewed.rows.part_a(1, "P1", "2023-01-01", clm_type_cd="40")
    viewed.rows.part_a(2, "P1", "2023-01-05/2023-01-09")
    viewed.rows.part_a(3, "P1", "2023-01-20", clm_type_cd="40")
    for claim, line, centre in ((1, 1, "0450"), (1, 2, "0981"), (2, 1, "0459"), (3, 1, "0510"), (3, 2, "0460")):
        viewed.rows.add(
            "part_a_lines", cur_clm_uniq_id=claim, clm_line_num=line, clm_line_prod_rev_ctr_cd=centre,
            clm_line_cvrd_pd_amt=Decimal("10.01"),
        )  # fmt: skip

    assert [
        (day("2023-01-01"), False, 2, Decimal("20.02")),
        (day("2023-01-05"), True, 1, Decimal("10.01")),
    ] == viewed.of("emergency_visits", "visited_on, is_admitted, lines, paid_usd")


def test_a_condition_needs_a_stay_or_two_days(viewed: Viewed):
    """
    P1: diabetes once in hospital. P2: hypertension on two days. P3: on one day, twice. P4: in a code of an outpatient
    claim, and a line. A code of a cancelled claim does not count.
    """
    viewed.rows.part_a(1, "P1", "2023-01-01", prncpl_dgns_cd="E119")
    viewed.rows.part_b(1, "P2", "2023-01-01", clm_line_dgns_cd="I10")
    viewed.rows.part_b(2, "P2", "2023-01-02", clm_line_dgns_cd="I129")
    viewed.rows.part_b(3, "P3", "2023-01-01", clm_line_dgns_cd="I10")
    viewed.rows.part_b(4, "P3", "2023-01-01", clm_line_dgns_cd="I10")
    viewed.rows.part_a(2, "P4", "2023-01-01", clm_type_cd="40", prncpl_dgns_cd="Z000")
    viewed.rows.add("part_a_diagnoses", cur_clm_uniq_id=2, clm_dgns_cd="J449", clm_val_sqnc_num=1)
    viewed.rows.part_b(5, "P4", "2023-02-01", clm_line_dgns_cd="J440")
    viewed.rows.part_a(3, "P5", "2023-01-01", clm_adjsmt_type_cd="1", prncpl_dgns_cd="E119")

    assert [("P1", "diabetes", 1), ("P2", "hypertension", 2), ("P4", "copd", 2)] == viewed.of(
        "chronic_conditions", "bene_mbi_id, condition, days_seen"
    )


def test_drugs_are_ranked_and_substitution_counted(viewed: Viewed):
    viewed.rows.part_d(1, "P1", "2023-01-01", "1.25", clm_line_ndc_cd="00000000007")
    viewed.rows.part_d(2, "P2", "2023-01-02", "2", clm_line_ndc_cd="00000000007", clm_daw_prod_slctn_cd="1")
    viewed.rows.part_d(3, "P2", "2023-01-03", "4", clm_daw_prod_slctn_cd="2")
    viewed.rows.part_d(4, "P2", "2023-02-03", "4", organisation="A1002")

    assert [
        ("A1001", "00000000001", 2, 1, 1, 30, Decimal("4.00")),
        ("A1001", "00000000007", 1, 2, 2, 60, Decimal("3.25")),
        ("A1002", "00000000001", 1, 1, 1, 30, Decimal("4.00")),
    ] == viewed.of(
        "top_drugs", "organisation, clm_line_ndc_cd, place, fills, beneficiaries, days_supply, beneficiaries_paid_usd"
    )
    columns = "organisation, month, fills, brand_for_prescriber, brand_for_patient, free_share"
    assert [
        ("A1001", day("2023-01-01"), 3, 1, 1, Decimal("0.3333")),
        ("A1002", day("2023-02-01"), 1, 0, 0, Decimal(1)),
    ] == viewed.of("substitution", columns)


def test_one_in_twenty_is_of_high_cost(viewed: Viewed):
    """Of 21 beneficiaries two are, of one beneficiary one."""
    for number in range(21):
        viewed.rows.part_b(number, f"P{number:02}", "2023-01-01", str(number + 1))
    viewed.rows.part_b(1, "P99", "2023-01-01", "5", organisation="A1002")

    assert [
        ("A1001", "P19", 2, Decimal(20), Decimal("0.086580")),
        ("A1001", "P20", 1, Decimal(21), Decimal("0.090909")),
        ("A1002", "P99", 1, Decimal(5), Decimal(1)),
    ] == viewed.of("high_cost_beneficiaries", "organisation, bene_mbi_id, place, paid_usd, share")


def test_the_population_brings_all_together(viewed: Viewed):
    """
    One row a beneficiary: nothing is multiplied by joins, and whoever has no claims has zeros.
    """
    viewed.rows.person("P1")
    viewed.rows.person("P2")
    for claim, days in enumerate(("2023-01-01/2023-01-05", "2023-01-20/2023-01-22", "2023-02-20/2023-02-21")):
        viewed.rows.part_a(claim, "P1", days, "100", prncpl_dgns_cd="E119")
        viewed.rows.add("part_a_lines", cur_clm_uniq_id=claim, clm_line_num=1, clm_line_prod_rev_ctr_cd="0450")
    viewed.rows.part_b(
        1, "P1", "2023-01-08", "10", clm_line_hcpcs_cd="99214", clm_prvdr_spclty_cd="08", rndrg_prvdr_npi_num="N1"
    )

    columns = (
        "bene_mbi_id, member_months, primary_care_npi, conditions, stays, readmissions, emergency_visits, paid_usd,"
        " is_high_cost"
    )
    assert [
        ("P1", 2, "N1", 1, 3, 2, 3, Decimal(310), True),
        ("P2", 2, None, 0, 0, 0, 0, Decimal(0), False),
    ] == viewed.of("population", columns)


def test_the_quality_of_data_is_a_share_of_the_lines(viewed: Viewed):
    viewed.rows.file(7, records=8)
    for number, reason in enumerate(
        (
            "bad date",
            "duplicate of file 7 line 1",
            "duplicate of file 7 line 2",
            "superseded by file 8 line 1",
            "superseded by file 8 line 2",
        )
    ):
        viewed.rows.quarantined(7, number, reason)

    assert [
        ("bad date", Decimal(1), Decimal("0.125")),
        ("duplicate", Decimal(2), Decimal("0.25")),
        ("superseded", Decimal(2), Decimal("0.25")),
    ] == viewed.of("data_quality", "reason, lines, share")
