"""The plan for a terminal: its order, its width, and commands that stay commands."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

import plans
from plimsoll.app.render import Report, render
from plimsoll.model.plan import Judgement
from plimsoll.reports.render.commands import command_lines
from unit.reports.fixture_diagnosis import pressed


def test_the_section_below_a_diagnosis_says_the_same():
    """It has a heading in place of the instance's name, and the same body."""
    plan = plans.claims()
    alone = render(plan, width=80, color=False)
    diagnosis, snapshot = pressed()
    text = render(Report(diagnosis=diagnosis, snapshot=snapshot, plan=plan), width=80)
    below = text[text.index("\nPLAN\n") :]

    assert below.startswith("\nPLAN\n  db.m6g.xlarge with the storage")
    assert alone[alone.index("DEMAND") :] == below[below.index("DEMAND") :]


def test_a_word_of_a_command_is_never_cut():
    """A word that is longer than the line stands whole; a copied command is still the command."""
    name = "orders-" + "x" * 70
    plan = plans.claims(options=(plans.option(commands=(f"aws rds reboot {name}",)),), unpriced=())
    shown = render(plan, width=60, color=False)

    assert f"      {name}\n" in shown


def test_the_output_of_a_command_is_broken_as_the_command():
    """Within `"$(…)"` more space changes nothing; within other quotes it would, so they stay whole."""
    command = "until [ \"$(aws rds describe-db-instances --query 'A[0].B' --output text)\" = on ]"
    lines = command_lines(command, 40)
    joined = "\n".join(lines).replace("\\\n", "")

    assert all(len(line) <= 40 for line in lines)
    assert command.split() == joined.split()
    for whole in ("\"$(echo 'a b c d e f g h')\"", '"a b c d e f g h i"', "'a b c d e f g h i'"):
        assert [whole] == command_lines(whole, 10)


WORD = st.text("abcz09./:-_", min_size=1, max_size=30) | st.text("ab '\"$\\&;#", min_size=1, max_size=12).map(
    shlex.quote
)


@given(st.lists(WORD, min_size=1, max_size=12), st.integers(20, 120))
def test_a_broken_command_is_the_same_command(words, width):
    """A shell reads the broken lines as it reads the one; no word is broken, and lines fit if words do."""
    command = "aws " + " ".join(words)
    lines = command_lines(command, width)

    assert shlex.split(command) == shlex.split("\n".join(lines).replace("\\\n", ""))
    longest = max(len(word) for word in ["aws", *words])
    assert max(width, longest + 4) >= max(len(line) for line in lines)


def test_an_option_stays_next_to_its_value():
    """Lines are broken before `--`, where the value fits behind it."""
    lines = command_lines(plans.order("db.m6g.xlarge"), 60)

    assert [
        "aws rds modify-db-instance --region us-east-1 \\",
        "  --db-instance-identifier claims-pipeline \\",
        "  --db-instance-class db.m6g.xlarge --apply-immediately",
    ] == lines


def test_a_comment_stays_a_comment():
    """A long comment among commands is broken into comments; a line that is no shell line is kept."""
    lines = command_lines("# wait until the status is available, then after six hours", 30)

    assert all(line.startswith("# ") and len(line) <= 30 for line in lines)
    assert ["aws 'half"] == command_lines("aws 'half", 4)


@pytest.mark.parametrize("judgement", Judgement)
def test_every_judgement_can_stand_first(judgement):
    """The headline has a style for each judgement of what is there."""
    plan = plans.claims(present=plans.present(judgement=judgement))

    assert render(plan, width=80, color=True)
