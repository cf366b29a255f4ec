"""Every kind of finding is explained, by a document that exists."""

import re

import pytest

from contract.tree import ROOT
from plimsoll.diagnosis.epochs import LOADING_CODE
from plimsoll.diagnosis.waiting.findings import CODE as WAITING_CODE
from plimsoll.model.cause import CauseKind
from plimsoll.model.family import FAMILIES
from plimsoll.reports.render.explanations import EXPLANATIONS, Topic, explanations_of, topic_of_cause, topic_of_finding


def codes_in_the_source() -> set[str]:
    """Reason codes that the diagnosis writes out."""
    text = (ROOT / "src/plimsoll/diagnosis/findings.py").read_text(encoding="utf-8")
    found = set(re.findall(r'code="([A-Za-z]+)"', text)) | {LOADING_CODE, WAITING_CODE}
    facts = FAMILIES.values()
    return found | {f.code for f in facts} | {f.exhausted_code for f in facts if f.exhausted_code}


def test_every_finding_and_cause_is_explained():
    assert [] == [code for code in codes_in_the_source() if topic_of_finding(code) is None]
    assert all(topic_of_cause(kind) in EXPLANATIONS for kind in CauseKind)
    assert topic_of_finding("OfAnotherProgram") is None


@pytest.mark.parametrize("topic", Topic)
def test_an_explanation_is_sentences_and_names_a_document(topic: Topic):
    one = EXPLANATIONS[topic]

    assert one.text.endswith(".")
    assert list((ROOT / "docs").rglob(f"{one.document}.md"))
    assert one.command == f"plimsoll docs {one.document}"


def test_each_is_there_once_in_the_order_of_the_page():
    found = explanations_of([Topic.WAL, None, Topic.CEILING, Topic.WAL])

    assert [Topic.WAL, Topic.CEILING] == [one.topic for one in found]
