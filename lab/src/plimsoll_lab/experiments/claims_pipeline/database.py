"""
The tables and views of the claims: one partition for each organisation and year, and views of each organisation.

Rule: the history is there from the beginning; a file is the present year of one organisation.
"""

from collections.abc import Iterator

from plimsoll_lab.experiments.claims_pipeline.claims import claim_lines
from plimsoll_lab.experiments.claims_pipeline.story import ORGANISATIONS
from plimsoll_lab.experiments.database import ExperimentDatabase

HISTORY, PRESENT = 2021, 2022
"""Years of the claims."""
_TABLE = """create table claim (
  org int not null, year int not null, claim int not null, line int not null, member int not null,
  month int not null, served date not null, code text not null, amount numeric not null, note text not null,
  primary key (org, year, claim, line)
) partition by list (org)"""
_OF_ORG = "create table claim_{org} partition of claim for values in ({org}) partition by list (year)"
_OF_YEAR = "create table claim_{org}_{year} partition of claim_{org} for values in ({year})"
_INDEXES = (
    "create index claim_member on claim (org, member, served)",
    "create index claim_served on claim (org, served, code)",
)
# One row for each claim, and one for each member with what happened to him: the second is sorted on the disk.
_VIEWS = {
    "claim_total": """create materialized view claim_total_{org} as
  select claim, min(member) as member, min(served) as served, sum(amount) as amount, count(*) as lines
  from claim where org = {org} and year = {year} group by claim with no data""",
    "member_course": """create materialized view member_course_{org} as
  select member, sum(amount) as amount, string_agg(code || ' ' || left(note, 150), ';' order by served, claim, line) as course
  from claim where org = {org} and year = {year} group by member with no data""",
}
VIEWS = tuple(_VIEWS)
"""Views of each organisation, in the order in which they are refreshed."""
COPY_ROWS = "copy claim from stdin with (format csv)"
_COPY_FILE = "copy claim from '{path}' with (format csv)"
_SIZE = "select pg_relation_size('claim_{org}_{year}')"
RESPONSE = f"""select claim, line, served, amount, note from claim
  where org = %s and year = {HISTORY} and member = %s order by served"""  # noqa: S608 - our own number
"""A query of the application: what happened to one member, from the history."""


class ClaimsDatabase(ExperimentDatabase):
    """A connection to the database of the claims; use it in a `with` block."""

    def create(self, history_bytes: int) -> None:
        """Create tables, indexes and empty views, and load the history: so many bytes for each organisation."""
        self.run(_TABLE)
        for org in organisations():
            self.run(_OF_ORG.format(org=org))
            for year in (HISTORY, PRESENT):
                self.run(_OF_YEAR.format(org=org, year=year))
        for statement in _INDEXES:
            self.run(statement)
        for org in organisations():
            for view in _VIEWS.values():
                self.run(view.format(org=org, year=PRESENT))
            self.copy_rows(COPY_ROWS, claim_lines(org, HISTORY, size_bytes=history_bytes))
        self.tidy()

    def empty(self) -> None:
        """Remove the present year, and make views empty; leave nothing for the checkpointer."""
        for org in organisations():
            self.run(f"truncate claim_{org}_{PRESENT}")
            for view in VIEWS:
                self.run(f"refresh materialized view {view}_{org} with no data")
        self.run("checkpoint")

    def copy_file(self, path: str) -> None:
        """Let the server read a file of its own, and load it."""
        self.run(_COPY_FILE.format(path=path))

    def refresh(self, view: str, org: int) -> None:
        """Refresh a view of an organisation."""
        self.run(f"refresh materialized view {view}_{org}")

    def present_bytes(self, org: int) -> int:
        """Return the size of an organisation's present year, without indexes."""
        return int(self.run(_SIZE.format(org=org, year=PRESENT))[0][0])


def organisations() -> Iterator[int]:
    """Yield the numbers of the organisations."""
    yield from range(1, ORGANISATIONS + 1)
