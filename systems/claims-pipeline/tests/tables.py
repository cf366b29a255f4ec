"""Tables as `claims-pipeline setup` makes them, and rows by hand."""

from decimal import Decimal
from itertools import count
from typing import Any

from psycopg import Connection, sql

from claims_pipeline.database.tables import statements

ORGANISATIONS = ("A1001", "A1002", "A1003")
_ids = count(1)


def create_tables(connection: Connection) -> None:
    for statement in statements(ORGANISATIONS):
        connection.execute(statement)


class Rows:
    """Adds rows, each as a load of its own; what is not named has a default that no view takes notice of."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, table: str, *, organisation: str = "A1001", **values: Any) -> None:
        file_id = self.changed(table, organisation)
        row = {"organisation": organisation, "file_id": file_id, "line_number": 1, **values}
        self._insert(table, row)

    def changed(self, table: str, organisation: str = "A1001") -> int:
        """A load of a file with one row; return the number of the file."""
        file_id = next(_ids) + 1000
        self.file(file_id, records=1, rows=1, kind=table, organisation=organisation)
        return file_id

    def part_a(self, claim: int, person: str, days: str, paid: str = "0", **values: Any) -> None:
        """A Part A claim; `days` is its first day, or the first and the last with a slash."""
        first, _, last = days.partition("/")
        defaults = {
            "cur_clm_uniq_id": claim,
            "bene_mbi_id": person,
            "prvdr_oscar_num": "050001",
            "clm_type_cd": "60",
            "clm_from_dt": first,
            "clm_thru_dt": last or first,
            "clm_pmt_amt": Decimal(paid),
            "clm_adjsmt_type_cd": "0",
            "clm_efctv_dt": last or first,
        }
        self.add("part_a_claims", **{**defaults, **values})

    def part_b(self, claim: int, person: str, day: str, paid: str = "0", **values: Any) -> None:
        """A line of a physician's claim."""
        defaults = {
            "cur_clm_uniq_id": claim,
            "clm_line_num": 1,
            "bene_mbi_id": person,
            "clm_type_cd": "71",
            "clm_from_dt": day,
            "clm_thru_dt": day,
            "clm_line_from_dt": day,
            "clm_line_cvrd_pd_amt": Decimal(paid),
            "clm_line_alowd_chrg_amt": Decimal(paid),
            "clm_cntl_num": f"B{claim}",
            "clm_adjsmt_type_cd": "0",
            "clm_efctv_dt": day,
        }
        self.add("part_b_lines", **{**defaults, **values})

    def part_d(self, claim: int, person: str, day: str, paid: str = "0", **values: Any) -> None:
        """A fill of a prescription."""
        defaults = {
            "cur_clm_uniq_id": claim,
            "bene_mbi_id": person,
            "clm_line_ndc_cd": "00000000001",
            "clm_line_from_dt": day,
            "clm_line_bene_pmt_amt": Decimal(paid),
            "clm_line_days_suply_qty": 30,
            "clm_daw_prod_slctn_cd": "0",
            "clm_srvc_prvdr_gnrc_id_num": "1000000001",
            "clm_line_rx_srvc_rfrnc_num": f"R{claim}",
            "clm_line_rx_fill_num": "1",
            "clm_adjsmt_type_cd": "0",
            "clm_efctv_dt": day,
        }
        self.add("part_d_events", **{**defaults, **values})

    def person(self, person: str, begins: str = "2020-01-01", **values: Any) -> None:
        """A beneficiary."""
        defaults = {
            "bene_mbi_id": person,
            "bene_part_a_enrlmt_bgn_dt": begins,
            "bene_part_b_enrlmt_bgn_dt": begins,
            "bene_sex_cd": "2",
            "bene_age": 70,
            "bene_dual_stus_cd": "NA",
        }
        self.add("beneficiaries", **{**defaults, **values})

    def file(self, file_id: int, *, records: int, rows: int = 0, kind: str = "part_b_lines", **values: Any) -> None:
        """A file that was loaded."""
        row = {
            "file_id": file_id,
            "organisation": "A1001",
            "month": "2023-01",
            "name": f"file-{file_id}",
            "kind": kind,
            "sha256": f"{file_id:064x}",
            "bytes": 1,
            "records": records,
            "rows": rows,
            "quarantined": records - rows,
            "duplicates": 0,
            **values,
        }
        self._insert("files", row)
        change = {"table_name": kind, "organisation": row["organisation"], "file_id": file_id}
        self._insert("changes", change)

    def _insert(self, table: str, row: dict[str, Any]) -> None:
        self._connection.execute(
            sql.SQL("INSERT INTO claims.{} ({}) VALUES ({})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(map(sql.Identifier, row)),
                sql.SQL(", ").join(sql.Placeholder() * len(row)),
            ),
            list(row.values()),
        )

    def quarantined(self, file_id: int, line_number: int, reason: str, raw: str = "") -> None:
        """A line that could not be used."""
        self._connection.execute(
            "INSERT INTO claims.quarantine VALUES (%s, %s, %s, %s)", (file_id, line_number, reason, raw)
        )
