"""
The JSON form of a proof, its schema and its reference page say the same.
"""

import json
from importlib.resources import files

import jsonschema
import pytest

from contract.schema_page import objects, table, undescribed
from contract.tree import ROOT
from plimsoll.model.toast import TOAST_PROOF_SCHEMA, ToastCase, ToastProof, ToastSample
from plimsoll.reports.toast.proof import render_toast_proof_json

SCHEMA_FILE = files("plimsoll.reports") / "schema" / "toast-proof.schema.json"
PAGE = ROOT / "docs" / "reference" / "toast-proof-json.md"
DOCUMENT = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def errors(document) -> list[str]:
    """What the schema has against a document."""
    validator = jsonschema.Draft202012Validator(DOCUMENT)
    return [error.message for error in validator.iter_errors(document)]


def proof() -> dict:
    """A proof with everything in it."""
    case = ToastCase(
        name="send the same value again",
        storage="external",
        value_bytes=9980,
        stored_bytes=9980,
        statement="update t set body = $1 where id = 1",
        rows_updated=1,
        chunks_written=5,
        chunks_dead=5,
        wal_bytes=11_030,
        buffers=25,
    )
    sample = ToastSample(
        table="public.docs",
        column="body",
        seconds=10.0,
        untouched=1,
        resent_same=2,
        resent_changed=3,
        resent_unknown=4,
    )
    told = ToastProof(
        place="127.0.0.1:5432/orders",
        version="18.6",
        chunk_bytes=1996,
        cases=(case,),
        copies=(case, case),
        sample=(sample,),
        notes=("this server was built without lz4",),
    )
    return json.loads(render_toast_proof_json(told))


def test_the_schema_is_a_schema():
    """
    The schema file is valid JSON Schema of draft 2020-12, and bears the form's name.
    """
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)

    assert TOAST_PROOF_SCHEMA == DOCUMENT["$id"] == DOCUMENT["properties"]["schema"]["const"]


def test_proofs_are_valid():
    """
    With a copy and a sample whose mean is not known.
    """
    assert [] == errors(proof())


def test_a_field_too_few_or_too_many_is_not_valid():
    """
    The schema asks for every field at every depth and knows no other.
    """
    document = proof()
    del document["cases"][0]["chunks_dead"]
    document["sample"][0]["colour"] = "red"

    assert 2 == len(errors(document))


def test_every_field_of_the_schema_is_explained():
    """
    Every property has a description that ends with a full stop.
    """
    assert [] == undescribed(DOCUMENT, "proof")


@pytest.mark.parametrize("name", ["proof", *DOCUMENT["$defs"]])
def test_the_page_has_the_table_of_every_object(name):
    """
    The reference page holds, word for word, the table of fields of each object of the schema.
    """
    assert table(objects(DOCUMENT, "proof")[name]) in PAGE.read_text(encoding="utf-8")
