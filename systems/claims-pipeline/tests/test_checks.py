"""Data tests: a good delivery passes them, and each kind of damage is a sentence with the numbers of both sides."""

import json
import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest
from conftest import World, world_of
from servers import Servers, command, put, query

pytestmark = pytest.mark.xdist_group("faults")
EVENTS = "claims.part_d_events_a1001"
ONE = f"(SELECT min(cur_clm_uniq_id) FROM {EVENTS})"
OTHER = f"(SELECT max(cur_clm_uniq_id) FROM {EVENTS})"
LINES = "claims.part_a_lines_a1001"
DAMAGES = {
    "a row is deleted": (
        f"DELETE FROM {EVENTS} WHERE cur_clm_uniq_id = {ONE}",
        r"'P\.A1001\.ACO\.ZC7\S+': the table has \d+ rows of it; the ledger says \d+, of which 0 were replaced",
    ),
    "an amount is changed by a cent": (
        f"UPDATE {EVENTS} SET clm_line_bene_pmt_amt = clm_line_bene_pmt_amt + 0.01 WHERE cur_clm_uniq_id = {ONE}",
        r"'P\.A1001\.ACO\.ZC7\S+': clm_line_bene_pmt_amt sums to \d+\.\d\d and should to \d+\.\d\d",
    ),
    "a row has the key of another": (
        (
            f"DROP INDEX claims.part_d_events_key;"
            f"UPDATE {EVENTS} SET cur_clm_uniq_id = {ONE} WHERE cur_clm_uniq_id = {OTHER}"
        ),
        r"part_d_events: 1 keys of A1001 occur more than once",
    ),
    "a line has no header": (
        (
            f"UPDATE {LINES} SET cur_clm_uniq_id = 1"
            f" WHERE cur_clm_uniq_id = (SELECT min(cur_clm_uniq_id) FROM {LINES}) AND clm_line_num = 1"
        ),
        r"part_a_lines: 1 rows of A1001 have no row in part_a_claims, damaged or not",
    ),
    "a row of another organisation is in the partition": (
        (
            f"INSERT INTO {EVENTS} SELECT (jsonb_populate_record(event, jsonb_build_object('cur_clm_uniq_id', 1,"
            f" 'file_id', (SELECT file_id FROM claims.files WHERE organisation = 'A1002' LIMIT 1)))).*"
            f" FROM {EVENTS} AS event WHERE cur_clm_uniq_id = {ONE}"
        ),
        r"part_d_events: 1 rows in the partition of A1001 are from no file of it",
    ),
    "a quarantined line is deleted": (
        (
            "DELETE FROM claims.quarantine WHERE (file_id, line_number) = (SELECT file_id, line_number"
            " FROM claims.quarantine JOIN claims.files USING (file_id)"
            " WHERE organisation = 'A1001' AND kind = 'part_d_events' AND month = '2023-01' LIMIT 1)"
        ),
        r"'P\.A1001\.ACO\.ZC7\S+': \d+ lines are quarantined, the ledger says \d+",
    ),
    "the ledger has another content": (
        (
            "UPDATE claims.files SET sha256 = repeat('0', 64)"
            " WHERE organisation = 'A1001' AND kind = 'beneficiaries' AND month = '2023-01'"
        ),
        r"'P\.A1001\.ACO\.ZC8\S+': sha256 is 0{64} in the ledger and [0-9a-f]{64} in the manifest",
    ),
}


@pytest.fixture(scope="module")
def loaded(servers: Servers, ready: str) -> Iterator[World]:
    """
    Generated deliveries: A1001 loaded in order, A1002's first, and A1003 with the second month first.
    """
    with world_of(servers, ready) as world:
        world.prepare()
        world.run("generate", str(world.folder), "--beneficiaries", "200", "--seed", "1")
        world.run("transfer")
        world.run("load", "A1001", "2023-01", "--path", "new")
        world.run("load", "A1001", "2023-02", "--path", "old")
        world.run("load", "A1002", "2023-01", "--path", "old")
        world.run("load", "A1003", "2023-02", "--path", "old")
        world.run("load", "A1003", "2023-01", "--path", "old")
        world.run("refresh")
        yield world


@pytest.fixture
def copy(servers: Servers, loaded: World) -> Iterator[World]:
    """The same with a database of its own, to be damaged."""
    admin, name = servers.addresses["postgres"], f"t{uuid.uuid4().hex[:12]}"
    query(admin, f"CREATE DATABASE {name} TEMPLATE {loaded.url.rpartition('/')[2]}")
    address = f"{admin.rpartition('/')[0]}/{name}"
    yield replace(loaded, settings={**loaded.settings, "CLAIMS_DATABASE_URL": address})
    query(admin, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("month", ["2023-01", "2023-02"])
def test_a_good_delivery_passes(loaded: World, month: str):
    """
    Rows of the older month's beneficiaries were replaced, and lines of both months are in the quarantine.
    """
    ((replaced, quarantined),) = loaded.ask(
        "SELECT sum(replaced), min(quarantined) FILTER (WHERE kind = 'part_d_events')"
        " FROM claims.files WHERE organisation = 'A1001'"
    )

    assert replaced > 0
    assert quarantined > 0
    assert "all tests passed\n" == loaded.run("check", "A1001", month, "--views")


@pytest.mark.parametrize("month", ["2023-01", "2023-02"])
def test_a_delivery_that_was_loaded_after_a_later_one_passes(loaded: World, month: str):
    """
    Beneficiaries of the first month were superseded, and the second month has the first of equal records.
    """
    reasons = loaded.ask(
        "SELECT DISTINCT split_part(reason, ' ', 1) FROM claims.quarantine JOIN claims.files USING (file_id)"
        " WHERE organisation = 'A1003' AND month = '2023-01'"
    )

    assert {("superseded",), ("duplicate",)} <= set(reasons)
    assert "all tests passed\n" == loaded.run("check", "A1003", month)


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_one_sentence(copy: World, what: str):
    statement, sentence = DAMAGES[what]
    copy.ask(statement)
    said = copy.run("check", "A1001", "2023-01", status=1).splitlines()

    assert ["1 test failed"] == said[1:], said
    assert re.fullmatch(sentence, said[0]), said[0]


@pytest.mark.parametrize("month", ["2023-01", "2023-02"])
@pytest.mark.parametrize(
    ("kind", "amount"), [("part_d_events", "clm_line_bene_pmt_amt"), ("part_a_claims", "clm_pmt_amt")]
)
def test_an_amount_is_compared_where_a_later_month_was_loaded_first(copy: World, month: str, kind: str, amount: str):
    """With the duplicates, of which the manifest expects some in the other month."""
    copy.ask(
        f"UPDATE claims.{kind}_a1003 SET {amount} = {amount} - 0.01 WHERE cur_clm_uniq_id ="
        f" (SELECT min(cur_clm_uniq_id) FROM claims.{kind} JOIN claims.files USING (organisation, file_id)"
        " WHERE organisation = 'A1003' AND month = %s)",
        month,
    )
    said = copy.run("check", "A1003", month, status=1).splitlines()

    assert ["1 test failed"] == said[1:], said
    assert re.fullmatch(
        rf"'P\.A1003\.ACO\.\S+': {amount} sums to -?[\d.]+ in the table and -?[\d.]+ in its duplicates, and should"
        r" to -?[\d.]+ together",
        said[0],
    ), said


def test_a_row_too_few_is_found_where_a_later_month_was_loaded_first(copy: World):
    """The cause is said once: sums are not compared then."""
    copy.ask(
        "DELETE FROM claims.part_d_events_a1003 WHERE cur_clm_uniq_id = (SELECT min(cur_clm_uniq_id)"
        " FROM claims.part_d_events JOIN claims.files USING (organisation, file_id)"
        " WHERE organisation = 'A1003' AND month = '2023-01')"
    )
    said = copy.run("check", "A1003", "2023-01", status=1)

    assert "': the table has " in said
    assert said.endswith("\n1 test failed\n")


def test_a_file_that_was_not_loaded_is_named(copy: World):
    said = copy.run("check", "A1002", "2023-02", status=1).splitlines()

    assert 7 == len(said)
    assert all(line.endswith("is in the manifest and was not loaded") for line in said[:6])
    assert "6 tests failed" == said[6]


@pytest.fixture
def repeated(world: World, request: pytest.FixtureRequest) -> World:
    """
    A month whose files have the content of the month before and other names; its manifest is the parameter's.
    """
    options = ("--beneficiaries", "50", "--months", "1")
    world.run("generate", str(world.folder), *options)
    first, second = (world.folder / "A1001" / month for month in ("2023-01", "2023-02"))
    second.mkdir()
    manifest = json.loads((first / "manifest.json").read_text())
    for file in manifest["files"]:
        shutil.copy(first / file["name"], second / f"{file['name']}.again")
        file["name"] += ".again"
        request.param(file)
    (second / "manifest.json").write_text(json.dumps({**manifest, "month": "2023-02"}))
    world.run("transfer", "--organisation", "A1001")
    for month in ("2023-01", "2023-02"):
        world.run("load", "A1001", month)
    return world


def as_before(_: dict) -> None:
    """The sender does not know that it sends all again."""


def foreseen(file: dict) -> None:
    """The sender foresees that each row is a duplicate."""
    again = file["defects"].get("duplicate", 0) + file["rows"]
    file["defects"] = {**file["defects"], "duplicate": again}
    file["rows"], file["sums"] = 0, dict.fromkeys(file["sums"], "0.00")


def as_events(file: dict) -> None:
    """The sender calls claims events."""
    if file["kind"] == "part_a_claims":
        file["kind"] = "part_d_events"


@pytest.mark.parametrize("repeated", [as_before, foreseen], indirect=True)
def test_content_that_was_loaded_under_another_name_passes(repeated: World):
    assert [("2023-01", 6)] == repeated.ask("SELECT month, count(*) FROM claims.files GROUP BY 1")
    for month in ("2023-01", "2023-02"):
        assert "all tests passed\n" == repeated.run("check", "A1001", month)


@pytest.mark.parametrize("repeated", [as_before], indirect=True)
def test_content_that_was_loaded_under_another_name_is_counted(repeated: World):
    """Damage is found as under its own name, and the sentence has both names."""
    claims = "claims.part_a_claims_a1001"
    repeated.ask(f"DELETE FROM {EVENTS} WHERE cur_clm_uniq_id = {ONE}")
    repeated.ask(
        f"UPDATE {claims} SET clm_pmt_amt = clm_pmt_amt + 0.01"
        f" WHERE cur_clm_uniq_id = (SELECT min(cur_clm_uniq_id) FROM {claims})"
    )
    repeated.ask(
        "UPDATE claims.files SET records = records + 1, quarantined = quarantined + 1 WHERE kind = 'part_b_lines'"
    )
    said = repeated.run("check", "A1001", "2023-02", status=1).splitlines()
    expected = (
        r"'\S+ZC1\S+\.again': clm_pmt_amt sums to [\d.]+ in the table and 0 in its duplicates, and should .+",
        r"'\S+ZC5\S+\.again': records is \d+ in the ledger and \d+ in the manifest",
        r"'\S+ZC5\S+\.again': \d+ lines are quarantined, the ledger says \d+",
        r"'\S+ZC7\S+\.again': the table has \d+ rows of it; the ledger says \d+, .+",
    )

    assert "4 tests failed" == said.pop()
    for sentence, form in zip(said, expected, strict=True):
        assert re.fullmatch(form + r" \(it was loaded as '\S+0'\)", sentence), sentence


@pytest.mark.parametrize("repeated", [as_events], indirect=True)
def test_content_that_was_loaded_as_another_kind_is_one_sentence(repeated: World):
    """Its rows are not looked for in the table of the wrong kind."""
    said = repeated.run("check", "A1001", "2023-02", status=1).splitlines()

    assert ["1 test failed"] == said[1:]
    assert "kind is part_a_claims in the ledger and part_d_events in the manifest" in said[0]


def test_a_view_that_is_older_than_its_tables_is_named(copy: World):
    copy.run("load", "A1002", "2023-02", "--path", "old")
    said = copy.run("check", "--views", status=1)
    copy.run("refresh")

    assert "final_part_d_events is not up to date: part_d_events changed\n" in said
    assert "17 tests failed\n" in said
    assert "all tests passed\n" == copy.run("check", "A1002", "2023-02", "--views")


def test_views_that_were_never_made_fail(world: World):
    said = world.run("check", "--views", status=1)

    assert "population is not up to date: it was never made\n" in said


def test_deliveries_are_listed_until_they_are_loaded(copy: World):
    before = copy.run("deliveries")
    as_json = json.loads(copy.run("deliveries", "--json"))
    copy.run("load", "A1002", "2023-02", "--path", "old")

    assert "A1002 2023-02\n" == before
    assert [{"organisation": "A1002", "month": "2023-02"}] == as_json
    assert "" == copy.run("deliveries")
    assert [] == json.loads(copy.run("deliveries", "--json"))


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda text: text[: len(text) // 2], "'A1001/2023-01/manifest.json' is no manifest: "),
        (lambda _: "", "'A1001/2023-01/manifest.json' is no manifest: "),
        (
            lambda text: text.replace("2023-01", "2023-02"),
            "'A1001/2023-01/manifest.json' is the manifest of A1001/2023-02",
        ),
    ],
    ids=["half written", "empty", "of another month"],
)
def test_a_bad_manifest_keeps_no_other_delivery_from_the_list(world: World, harm, sentence: str):
    """
    Its own delivery is listed, and its own transfer fails with the same sentence. Programs read only standard output.
    """
    for organisation in ("A1001", "A1002"):
        put(world.folder, organisation, "2023-01", [("one", "part_a_claims", b"x\n", {})])
    manifest = world.folder / "A1001/2023-01/manifest.json"
    manifest.write_text(harm(manifest.read_text()))
    listing = command(world.settings, "deliveries", "--json")
    output, error = listing.communicate(timeout=60)
    transferred = {
        name: world.run("transfer", "--organisation", name, "--month", "2023-01", status=status)
        for name, status in (("A1001", 2), ("A1002", 0))
    }

    assert 0 == listing.returncode
    assert [{"organisation": "A1001", "month": "2023-01"}, {"organisation": "A1002", "month": "2023-01"}] == json.loads(
        output
    )
    assert error.startswith(f"A1001/2023-01: {sentence}")
    assert 1 == error.count("\n")
    assert error.partition(": ")[2] in transferred["A1001"]
    assert "A1002/2023-01: complete, 2 bytes read\n" in transferred["A1002"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("check",), "there is nothing to check"),
        (("check", "A1001"), "a month is missing"),
        (("check", "a/..", "2023-01"), "'a/..' is no organisation"),
        (("check", "A1001", "2023-13"), "'2023-13' is no month"),
        (("check", "A1001", "2020-01"), "the delivery A1001/2020-01 is not complete in S3"),
        (("deliveries", "all"), "unrecognized arguments: all"),
    ],
)
def test_what_cannot_be_checked_is_one_sentence(loaded: World, words: tuple[str, ...], sentence: str):
    said = loaded.run(*words, status=2).splitlines()

    assert f"error: {sentence}" == said[0]
    assert said[1].startswith("hint: ")
    assert 2 == len(said)


@pytest.mark.parametrize("words", [("check", "--views"), ("refresh",), ("deliveries",)])
def test_a_database_without_tables_says_what_to_do(bare: World, words: tuple[str, ...]):
    said = bare.run(*words, status=2)

    assert said.startswith("error: the database lacks a table: ")
    assert said.endswith("hint: Run: claims-pipeline setup.\n")
