"""
The JSON forms of pool sizes and of findings on a pooler's settings, their schemas and reference pages say
the same.

The tables of the pages are made from the schemas: when they differ, the failing test prints what the page
should hold.
"""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from contract.schema_page import objects, table, undescribed
from contract.tree import ROOT
from plimsoll.cli.commands import app
from plimsoll.model.pool_size import Basis, PoolVerdict

DOCUMENTS = {
    name: json.loads(
        (files("plimsoll.reports") / "schema" / f"{name}.schema.json").read_text(encoding="utf-8")
    )
    for name in ("pool-size", "lint")
}
OBJECTS = [
    (name, part) for name, document in DOCUMENTS.items() for part in ("answer", *document["$defs"])
]
POINTS = [f"--point={n}:{rate}" for n, rate in ((1, 100), (2, 190), (4, 340), (8, 520), (16, 600))]
SIZES = {
    "nothing known": (),
    "a rule of thumb": ("--max-connections", "500", "--vcpus", "8", "--others", "5"),
    "measured": ("--max-connections", "500", *POINTS),
    "fits": ("--max-connections", "5000"),
}
INI = """
[databases]
orders = host=db1 user=app pool_size=30 min_pool_size=2 pool_mode=transaction
* = host=db2 reserve_pool_size=3 max_db_connections=50
[users]
app = pool_size=40 reserve_pool_size=1 pool_mode=session max_user_connections=60
[pgbouncer]
pool_mode = transaction
server_lifetime = 0
"""
POOLERS = {
    "pgbouncer.ini": INI,
    "pgpool.conf": "num_init_children = 400\nmax_pool = 4\nchild_max_connections = 10\n",
    "sound.ini": "[pgbouncer]\nlisten_port = 6432\n",
}


def answer(*arguments: str) -> dict:
    """What a command prints for programs."""
    told = CliRunner().invoke(app, (*arguments, "--format", "json"), env={"PLIMSOLL_DSN": ""})
    return json.loads(told.stdout)


def sizes(name: str) -> dict:
    return answer("pool-size", "--service", "orders=4x20", "--service", "jobs=1x5", *SIZES[name])


def linted(name: str, folder: Path) -> dict:
    (folder / name).write_text(POOLERS[name])
    return answer("lint", "pooler", str(folder / name), "--max-connections", "100")


def errors(name: str, document: dict) -> list[str]:
    """What the schema has against a document."""
    validator = jsonschema.Draft202012Validator(DOCUMENTS[name])
    return [error.message for error in validator.iter_errors(document)]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_schema_is_a_schema(name: str):
    """
    The schema file is valid JSON Schema of draft 2020-12, and bears the form's name.
    """
    document = DOCUMENTS[name]
    jsonschema.Draft202012Validator.check_schema(document)

    assert f"plimsoll.{name}/1" == document["$id"] == document["properties"]["schema"]["const"]


@pytest.mark.parametrize("name", SIZES)
def test_pool_sizes_are_valid(name: str):
    """
    With nothing known, by a rule of thumb, measured, and where all fits.
    """
    assert [] == errors("pool-size", sizes(name))


@pytest.mark.parametrize("name", POOLERS)
def test_findings_are_valid(name: str, tmp_path: Path):
    """
    Of either pooler, and of settings in which nothing was found.
    """
    assert [] == errors("lint", linted(name, tmp_path))


def test_what_the_cases_hold_is_not_nothing(tmp_path: Path):
    """
    A curve, a pool for each service, databases, users, findings with remedies.
    """
    measured, found = sizes("measured"), linted("pgbouncer.ini", tmp_path)

    assert measured["room"]["curve"]["level_count"] == 5
    assert ["orders", "jobs"] == [one["service"] for one in measured["recommended"]]
    assert ["orders", "*"] == [one["name"] for one in found["pooler"]["databases"]]
    assert ["which release reads it is not known: give --version"] == found["notes"]
    assert [60] == [one["servers_max"] for one in found["pooler"]["users"]]
    assert any(remedy["commands"] for one in found["findings"] for remedy in one["remedies"])


def test_a_field_too_few_or_too_many_is_not_valid(tmp_path: Path):
    """
    The schemas ask for every field at every depth and know no other.
    """
    size, found = sizes("measured"), linted("pgbouncer.ini", tmp_path)
    del size["room"]["curve"]["n95"]
    size["services"][0]["colour"] = "red"
    del found["pooler"]["users"][0]["mode"]
    found["findings"][0]["colour"] = "red"

    assert [2, 2] == [len(errors("pool-size", size)), len(errors("lint", found))]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_field_of_the_schema_is_explained(name: str):
    """
    Every property has a description that ends with a full stop.
    """
    assert [] == undescribed(DOCUMENTS[name], "answer")


def test_the_words_of_the_schema_are_those_of_the_model():
    """
    Verdicts and bases in the schema are the model's, none more or less.
    """
    fields = DOCUMENTS["pool-size"]["properties"]

    assert [verdict.value for verdict in PoolVerdict] == fields["verdict"]["enum"]
    assert [basis.value for basis in Basis] == fields["basis"]["enum"]


@pytest.mark.parametrize(("name", "part"), OBJECTS)
def test_the_page_has_the_table_of_every_object(name: str, part: str):
    """
    The reference page holds, word for word, the table of fields of each object of the schema.
    """
    page = ROOT / "docs" / "reference" / f"{name}-json.md"

    assert table(objects(DOCUMENTS[name], "answer")[part]) in page.read_text(encoding="utf-8")
