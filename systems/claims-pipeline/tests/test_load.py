"""From SFTP to the tables, on both paths: counts, the quarantine, the ledger, and who wins."""

from pathlib import Path

import pytest
from conftest import World, world_of
from records import claims, line, people
from servers import Servers, command, put

from claims_pipeline.database import load_old
from claims_pipeline.layout import record

pytestmark = pytest.mark.xdist_group("servers")
paths = pytest.mark.parametrize("path", ["new", "old"])
BOOK = "SELECT name, records, rows, quarantined, duplicates, replaced FROM claims.files ORDER BY file_id"


def bad_claim(number: int) -> bytes:
    return line(record("part_a_claims"), cur_clm_uniq_id=str(number), clm_from_dt="2023-02-31")


@paths
def test_every_line_is_a_row_or_in_the_quarantine(world: World, path: str):
    """
    A bad date, a record that is cut, and the same record twice in one file and again in a later one.
    """
    content, total = claims(range(300))
    again, _ = claims(range(5))
    cut = content[:200] + b"\n"
    put(world.folder, "A1001", "2023-01", [("one", "part_a_claims", content + bad_claim(900) + cut + again[:438], {})])
    put(world.folder, "A1001", "2023-02", [("two", "part_a_claims", again + bad_claim(901), {})])
    world.run("transfer")
    world.run("load", "A1001", "2023-01", "--path", path)
    said = world.run("load", "A1001", "2023-02", "--path", path)
    reasons = world.ask("SELECT file_id, line_number, reason, raw FROM claims.quarantine ORDER BY 1, 2")
    (first,), (second,) = world.ask("SELECT file_id FROM claims.files ORDER BY 1")

    assert [("one", 303, 300, 3, 1, 0), ("two", 6, 0, 6, 5, 0)] == world.ask(BOOK)
    assert [(300, total)] == world.ask("SELECT count(*), sum(clm_pmt_amt) FROM claims.part_a_claims")
    assert [(first, 301), (first, 302), (first, 303)] == [row[:2] for row in reasons[:3]]
    assert f"duplicate of file {first} line 1" == reasons[2][2]
    assert [f"duplicate of file {first} line {n}" for n in range(1, 6)] == [r[2] for r in reasons[3:8]]
    assert {second} == {row[0] for row in reasons[3:]}
    assert "0 rows, 6 lines quarantined (5 duplicates)" in said
    assert [("part_a_claims", first), ("part_a_claims", second)] == world.ask(
        "SELECT table_name, file_id FROM claims.changes ORDER BY 2"
    )


@paths
def test_both_paths_load_the_same_rows(world: World, path: str):
    """Blank fields are NULL, and no field is shifted."""
    content = line(record("part_a_claims"), cur_clm_uniq_id="7", clm_pmt_amt="-12.34", prncpl_dgns_cd='A"1,2')
    put(world.folder, "A1002", "2023-01", [("one", "part_a_claims", content, {})])
    world.run("transfer")
    world.run("load", "A1002", "2023-01", "--path", path)

    assert [("A1002", 1, 7, "-12.34", 'A"1,2', None, "2023-01-15")] == world.ask(
        "SELECT organisation, line_number, cur_clm_uniq_id, clm_pmt_amt::text, prncpl_dgns_cd,"
        " admtg_dgns_cd, clm_from_dt::text FROM claims.part_a_claims_a1002"
    )


@paths
def test_the_same_file_again_does_nothing_and_says_so(world: World, path: str):
    content, _ = claims(range(20))
    put(world.folder, "A1001", "2023-01", [("one", "part_a_claims", content, {})])
    world.run("transfer")
    world.run("load", "A1001", "2023-01", "--path", path)
    before = world.ask("SELECT xmin, ctid, * FROM claims.part_a_claims"), world.ask(BOOK)
    said = world.run("load", "A1001", "2023-01", "--path", path)

    assert "one: loaded before\n" == said
    assert before == (world.ask("SELECT xmin, ctid, * FROM claims.part_a_claims"), world.ask(BOOK))


def test_the_same_content_under_another_name_is_loaded_once(world: World):
    """It is not even stored twice."""
    content, _ = claims(range(20))
    put(world.folder, "A1001", "2023-01", [("one", "part_a_claims", content, {})])
    put(world.folder, "A1001", "2023-02", [("two", "part_a_claims", content, {})])
    moved = world.run("transfer")
    world.run("load", "A1001", "2023-01")
    said = world.run("load", "A1001", "2023-02")

    assert "2023-02/two: same content as raw/A1001/2023-01/one" in moved
    assert "two: same content as one, loaded before\n" == said
    assert [(20,)] == world.ask("SELECT count(*) FROM claims.part_a_claims")


def test_another_content_under_the_same_name_is_refused(world: World):
    """By S3's side, and by the ledger if somebody put it into S3 nevertheless."""
    put(world.folder, "A1001", "2023-01", [("one", "part_a_claims", claims(range(20))[0], {})])
    world.run("transfer")
    world.run("load", "A1001", "2023-01")
    put(world.folder, "A1001", "2023-01", [("one", "part_a_claims", claims(range(30))[0], {})])
    refused = world.run("transfer", status=2)
    put(world.folder, "A1001", "2023-02", [("one", "part_a_claims", claims(range(30))[0], {})])
    world.run("transfer", "--month", "2023-02")
    also_refused = world.run("load", "A1001", "2023-02", status=2)

    assert "error: s3://" in refused
    assert "has another content than the manifest says" in refused
    assert "error: 'one' was loaded with another content in 2023-01" in also_refused
    assert [(20,)] == world.ask("SELECT count(*) FROM claims.part_a_claims")


@paths
@pytest.mark.parametrize("order", [("2023-01", "2023-02"), ("2023-02", "2023-01")])
def test_the_newest_delivery_of_beneficiaries_wins_in_any_order(world: World, path: str, order: tuple[str, str]):
    """Who is in the older one only stays; who is twice in one file is there once."""
    old = people(range(100, 110), zip_code="11111")
    new = people(range(105, 115), zip_code="22222") + people(range(105, 106), zip_code="33333")
    put(world.folder, "A1001", "2023-01", [("old", "beneficiaries", old, {})])
    put(world.folder, "A1001", "2023-02", [("new", "beneficiaries", new, {})])
    world.run("transfer")
    for month in order:
        world.run("load", "A1001", month, "--path", path)
    book = {row[0]: row[1:] for row in world.ask(BOOK)}
    reasons = world.ask("SELECT DISTINCT split_part(reason, ' ', 1) FROM claims.quarantine ORDER BY 1")

    assert [("11111", 5), ("22222", 10)] == world.ask(
        "SELECT bene_zip_cd, count(*) FROM claims.beneficiaries GROUP BY 1 ORDER BY 1"
    )
    assert (11, 10, 1, 1, 0) == book["new"]
    assert ((10, 10, 0, 0, 5) if order[0] == "2023-01" else (10, 5, 5, 5, 0)) == book["old"]
    assert ([("duplicate",)] if order[0] == "2023-01" else [("duplicate",), ("superseded",)]) == reasons


def test_two_databases_load_files_of_one_name_through_one_disk(
    world: World, servers: Servers, ready: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The second begins and ends while the first has its file on the disk."""
    formatted = load_old._format

    def second_first(*arguments):
        monkeypatch.setattr(load_old, "_format", formatted)
        other.run("load", "A1001", "2023-01", "--path", "old", "--disk", str(tmp_path))
        return formatted(*arguments)

    monkeypatch.setattr(load_old, "_format", second_first)
    with world_of(servers, ready) as other:
        other.prepare()
        for one, count in ((world, 30), (other, 20)):
            content, _ = claims(range(count))
            put(one.folder, "A1001", "2023-01", [("one", "part_a_claims", content, {})])
            one.run("transfer")
        world.run("load", "A1001", "2023-01", "--path", "old", "--disk", str(tmp_path))
        amounts = [one.ask("SELECT rows FROM claims.files") for one in (world, other)]

    assert [[(30,)], [(20,)]] == amounts
    assert [] == list(tmp_path.iterdir())


@paths
@pytest.mark.parametrize("order", [("first", "again"), ("again", "first")])
def test_a_file_that_is_delivered_again_for_a_month_wins_in_any_order(world: World, path: str, order: tuple[str, str]):
    """
    The sender corrected beneficiaries; who is only in the first file stays, and the next month is newer than both.
    """
    first = ("first", "beneficiaries", people(range(100, 110), zip_code="11111"), {})
    again = ("again", "beneficiaries", people(range(105, 115), zip_code="22222"), {})
    later = ("later", "beneficiaries", people(range(114, 116), zip_code="33333"), {})
    put(world.folder, "A1001", "2023-02", [later])
    put(world.folder, "A1001", "2023-01", [first])
    world.run("transfer")
    put(world.folder, "A1001", "2023-01", [first, again])
    world.run("transfer")
    world.run("load", "A1001", "2023-02", "--path", path)
    for name in order:
        world.run("load", "A1001", "2023-01", "--file", name, "--path", path)
    book = {row[0]: row[1:] for row in world.ask(BOOK)}
    by_delivery = world.ask("SELECT name FROM claims.files WHERE month = '2023-01' ORDER BY delivered_at")

    assert [("11111", 5), ("22222", 9), ("33333", 2)] == world.ask(
        "SELECT bene_zip_cd, count(*) FROM claims.beneficiaries GROUP BY 1 ORDER BY 1"
    )
    assert (10, 9, 1, 1, 0) == book["again"]
    assert ((10, 10, 0, 0, 5) if order[0] == "first" else (10, 5, 5, 5, 0)) == book["first"]
    assert [("first",), ("again",)] == by_delivery


@paths
def test_of_two_loads_at_the_same_time_one_does_it(world: World, path: str):
    content, _ = claims(range(4000))
    put(world.folder, "A1001", "2023-01", [("one", "part_a_claims", content, {})])
    world.run("transfer")
    both = [command(world.settings, "load", "A1001", "2023-01", "--path", path) for _ in range(2)]
    said = [one.communicate(timeout=120) for one in both]

    assert [0, 0] == [one.returncode for one in both], said
    assert ["one: 4,000 rows, 0 lines quarantined (0 duplicates)\n", "one: loaded before\n"] == sorted(
        output for output, _ in said
    )
    assert [(4000,)] == world.ask("SELECT count(*) FROM claims.part_a_claims")


@paths
def test_a_delivery_with_fewer_lines_than_its_manifest_says_loads_nothing(world: World, path: str):
    content, _ = claims(range(20))
    put(world.folder, "A1001", "2023-01", [("one", "part_a_claims", content, {"records": 21})])
    world.run("transfer")
    said = world.run("load", "A1001", "2023-01", "--path", path, status=2)

    assert "error: 'one' has 21 records in its manifest, 20 were read" in said
    assert [] == world.ask(BOOK)
    assert [(0,)] == world.ask("SELECT count(*) FROM claims.part_a_claims")


def test_setup_again_changes_nothing(world: World, fetch_program: Path):
    """Also with another organisation, which gets its partitions."""
    before = world.ask("SELECT oid, relname FROM pg_class WHERE relnamespace = 'claims'::regnamespace ORDER BY 1")
    world.run("setup", "--send-keys", "--fetch", str(fetch_program))
    same = world.ask("SELECT oid, relname FROM pg_class WHERE relnamespace = 'claims'::regnamespace ORDER BY 1")
    world.run("setup", "--organisation", "B2001")

    assert before == same
    assert [(6,)] == world.ask("SELECT count(*) FROM pg_tables WHERE tablename LIKE '%b2001'")
    assert [(str(fetch_program),)] == world.ask("SELECT program FROM aws_s3.settings")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("load", "A1001", "2023-01"), "the delivery A1001/2023-01 is not complete in S3"),
        (("load", "a/..", "2023-01"), "'a/..' is no organisation"),
        (("load", "A1001", "2023-13"), "'2023-13' is no month"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(world: World, words: tuple[str, ...], sentence: str):
    said = world.run(*words, status=2)

    assert f"error: {sentence}" == said.splitlines()[0]
    assert said.splitlines()[1].startswith("hint: ")
