"""
The Structs of a JSON report, its schema, its reference page and what is written say the same.

`python -m plimsoll.reports.schema` writes schemas and pages, `python -m plimsoll_lab.reports.schema` those of the lab.
"""

import json
import re
from importlib.resources import files

import jsonschema
import msgspec
import pytest

from contract.json_documents import DOCUMENTS, kept
from contract.tree import ROOT
from plimsoll.model.written import Ratio
from plimsoll.reports.render.json_values import json_text
from plimsoll.reports.schema.forms import schema_text, schemas
from plimsoll.reports.schema.page import page_with_fields
from plimsoll_lab.reports.schema.forms import lab_schemas

OF_LAB = lab_schemas()
SCHEMAS = schemas() | OF_LAB
FOLDERS = (files("plimsoll.reports") / "schema", files("plimsoll_lab.reports") / "schema")
KEPT = list(kept())


class ShareForm(msgspec.Struct):
    """A form with one bound."""

    share: Ratio


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_file_is_current(name):
    """The schema in the package is the one that the Structs give: run `python -m plimsoll.reports.schema`."""
    file = FOLDERS[name in OF_LAB] / f"{name}.schema.json"

    assert schema_text(SCHEMAS[name]) == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "start"), [("", "# T as JSON\n\n<!-- "), ("# A form\n\nWords.\n", "# A form\n\nWords.\n\n<!-- ")]
)
def test_a_page_without_the_mark_gets_it(page, start):
    """A new form needs no page that is prepared by hand; its second run changes nothing."""
    schema = {"title": "T", "description": "D", "properties": {}, "$defs": {}}
    written = page_with_fields(page, schema)

    assert written.startswith(start)
    assert written == page_with_fields(written, schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_reference_page_is_current(name):
    """The tables of the reference page are those that the Structs give, all objects of the form among them."""
    page = (ROOT / "docs" / "reference" / f"{name}-json.md").read_text(encoding="utf-8")

    assert page_with_fields(page, SCHEMAS[name]) == page


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_is_a_schema(name):
    """It is valid JSON Schema of draft 2020-12, and bears the form's name and version."""
    schema = SCHEMAS[name]
    jsonschema.Draft202012Validator.check_schema(schema)

    assert schema["$schema"].endswith("draft/2020-12/schema")
    assert schema["$id"] == schema["properties"]["schema"]["const"]
    assert schema["$id"].startswith(f"plimsoll.{name}")


def test_every_form_has_a_schema_file():
    """And none but those has one."""
    stored = [file.name for folder in FOLDERS for file in folder.iterdir()]
    named = {name.partition(".")[0] for name in stored if name.endswith(".json")}

    assert SCHEMAS.keys() == named >= DOCUMENTS.keys()


@pytest.mark.parametrize("name", SCHEMAS)
def test_documents_are_valid(name):
    """
    What golden tests and examples keep, and what the code writes, satisfies its schema.

    With the types of which the schema is made, tests/conftest.py reads back all that any test has the reports write.
    """
    identifiers = {SCHEMAS[name]["$id"], "plimsoll.explain/1" if name == "explain" else ""}
    found = [one for _, one in KEPT if one["schema"] in identifiers]
    if name in DOCUMENTS:
        found.append(json.loads(DOCUMENTS[name]()))

    assert found
    assert [] == [error for document in found for error in errors(document, name)]


def test_a_document_that_breaks_its_form_is_refused_wherever_it_is_written():
    """Here by a share above one, which no type checker sees."""
    with pytest.raises(msgspec.ValidationError, match="Expected `float`"):
        json_text(ShareForm(share=1.5))


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_is_explained(name):
    """Every object and field has a meaning that ends with a full stop."""
    objects = {name: SCHEMAS[name], **SCHEMAS[name]["$defs"]}
    rules = {f"{o}.{f}": rule for o, of in objects.items() for f, rule in of["properties"].items()}

    assert [] == [at for at, rule in (objects | rules).items() if not rule["description"].endswith(".")]


def test_the_kinds_of_caveat_are_those_that_are_given():
    """The form of a comparison lists the kinds of caveat that the diagnosis makes, none more or less."""
    law = "".join(
        (ROOT / "src/plimsoll/diagnosis/comparison" / name).read_text(encoding="utf-8")
        for name in ("alike.py", "compare.py")
    )
    kinds = SCHEMAS["comparison"]["$defs"]["caveat"]["properties"]["kind"]["enum"]

    assert set(re.findall(r'kind="(\w+)"', law)) == set(kinds)


def errors(document, name) -> list[str]:
    """What the schema of a form has against a document of it, or of one that is defined in it."""
    rule = SCHEMAS[name]
    parts = [
        part
        for part, inner in rule["$defs"].items()
        if inner["properties"].get("schema", {}).get("const") == document["schema"]
    ]
    if parts:
        rule = {"$ref": f"#/$defs/{parts[0]}", "$defs": rule["$defs"]}
    return [why.message for why in jsonschema.Draft202012Validator(rule).iter_errors(document)]
