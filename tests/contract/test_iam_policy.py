"""The policy that the documentation offers allows what the AWS source asks for, and nothing else."""

import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contract.tree import LAB, ROOT, SRC, texts
from plimsoll.sources.aws.account import open_account
from plimsoll.sources.aws.metric_data import WANTED
from plimsoll.sources.aws.operations import OPERATIONS

POLICY = ROOT / "docs" / "reference" / "iam-policy.json"
AWS = SRC / "sources" / "aws"
# It writes to a double of AWS on loopback, never to an account.
EXPERIMENT = Path("lab/src/plimsoll_lab/experiments/account.py")
# It makes the client with which `load` reads the objects that a person names: s3:GetObject on these.
OBJECTS = Path("src/plimsoll/app/load.py")
# It reads and replaces the manifest of a lake that a person names, and nothing else.
MANIFEST = Path("src/plimsoll/fleet/conditional.py")
# Bounds the answers of whatever client is made.
BOUND = Path("src/plimsoll/sources/files/bounded_session.py")
# What only reads, by the verbs that AWS begins such operations with.
READS = re.compile(r"[a-z0-9-]+:(?:Describe|Get|List)[A-Z]\w+")


def statements() -> list[dict[str, Any]]:
    """The statements of the policy."""
    return json.loads(POLICY.read_text(encoding="utf-8"))["Statement"]


def allowed() -> list[tuple[str, str]]:
    """Every action of the policy with the resource it is allowed on."""
    return [(action, statement["Resource"]) for statement in statements() for action in statement["Action"]]


def test_it_is_a_policy_that_only_allows():
    """Version, effect and names are IAM's; what is not allowed is denied by itself."""
    document = json.loads(POLICY.read_text(encoding="utf-8"))

    assert {"Version", "Statement"} == set(document)
    assert "2012-10-17" == document["Version"]
    for statement in document["Statement"]:
        assert {"Sid", "Effect", "Action", "Resource"} == set(statement)
        assert re.fullmatch(r"[A-Za-z0-9]+", statement["Sid"])
        assert "Allow" == statement["Effect"]


def test_it_allows_exactly_what_is_asked_for():
    """Each operation of the source has its action once, on the narrowest resource that IAM knows."""
    assert sorted((o.action, o.resource) for o in OPERATIONS) == sorted(allowed())


def test_it_names_every_action_in_full_and_all_of_them_read():
    """No action has a wildcard, so no operation that AWS adds is allowed unseen."""
    assert all(READS.fullmatch(action) for action, _ in allowed())


def test_the_guide_explains_every_action():
    """The guide's table of access and its table of requests name each action, and no other."""
    guide = (ROOT / "docs" / "guides" / "read-from-aws.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z0-9]+:[A-Z]\w+)`", guide, re.MULTILINE)

    assert sorted([o.action for o in OPERATIONS] * 2) == sorted(named)
    assert f"An instance\nhas {len(WANTED)}," in guide


def test_the_source_sends_nothing_beside_its_table(monkeypatch: pytest.MonkeyPatch):
    """One module makes clients, and it refuses an operation that the table does not have."""
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    account = open_account(profile=None, region="eu-west-1", max_api_calls=1, now_s=lambda: 0.0)
    stranger = msgspec.structs.replace(OPERATIONS[0], name="DeleteDBInstance")
    makers = {
        path.name
        for path, text in texts(".py")
        if (ROOT / path).is_relative_to(AWS) and re.search(r"\.client\(|get_paginator", text)
    }

    assert {"account.py"} == makers
    with pytest.raises(AssertionError):
        account.call(stranger)


def test_only_the_source_asks_aws():
    """No other module of the package makes a client of AWS; one may sign requests to others with botocore."""
    others = [
        str(path)
        for path, text in texts(".py")
        if ((ROOT / path).is_relative_to(SRC) or (ROOT / path).is_relative_to(LAB))
        and not (ROOT / path).is_relative_to(AWS)
        and path not in (EXPERIMENT, OBJECTS, MANIFEST, BOUND)
        and re.search(r"^\s*(?:import|from) boto3\b|create_client", text, re.MULTILINE)
    ]

    assert not others


def test_a_load_only_reads_objects():
    """Its client is asked for nothing but an object and its head, for which s3:GetObject is enough."""
    text = (SRC / "load" / "copy" / "inputs.py").read_text(encoding="utf-8")

    assert {"head_object", "get_object"} == set(re.findall(r"client\.(\w+)", text))
