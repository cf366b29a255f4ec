"""Names in printed commands, run in a real shell that a name must not get hold of."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import database_stories
from contract.tree import ROOT
from plimsoll.app.render import render
from plimsoll.catalog.load import catalog
from plimsoll.causes.inspect import inspect
from plimsoll.model.database import Observation
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.shell import command_line, shell_word
from plimsoll.plan.market.rules import commands_of
from programs import ran

HOSTILE = (
    '"sch.ema"."$(touch pwned)"',
    'public."Order"',
    'public."`touch pwned`; touch pwned"',
    "public.\"o'; touch pwned; '\"",
    'public."say ""so"" & touch pwned #"',
    'public."two\nlines; touch pwned\n"',
    'public."$HOME !! \\ * ? [a-z] {a,b} ~ > pwned"',
    "-rf",
    "'; touch pwned; '",
    "\\'; touch pwned",
)

# What is pasted stands behind these: programs that only note what they were given.
_NOTE = """
note() { printf '%s\\0' "$@" >> given; }
plimsoll() { note plimsoll "$@"; }
aws() { note aws "$@"; }
"""


def pasted(command: str, folder: Path) -> list[str]:
    """The words that a program gets when the command is pasted into bash; nothing else may happen."""
    done = ran(["bash", "-c", _NOTE + command], cwd=folder)
    assert not done.returncode, done.stderr
    assert ["given"] == [path.name for path in folder.iterdir()]
    return (folder / "given").read_text().split("\0")[:-1]


def renamed(observation: Observation, name: str) -> Observation:
    """The observation with another name for its table."""

    def of(reading):
        relations = tuple(replace(one, name=name) if one.kind == "table" else one for one in reading.relations)
        return replace(reading, relations=relations)

    return replace(observation, first=of(observation.first), last=of(observation.last))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_word_is_passed_on_as_it_is(name: str, tmp_path: Path):
    """Whatever its letters, a program gets just that, and no other runs."""
    assert ["plimsoll", "prove", name] == pasted(command_line(["plimsoll", "prove", name]), tmp_path)


def test_a_nul_is_left_out():
    """No program could be given one."""
    assert "ab" == shell_word("a\0b")


@pytest.mark.attack(
    "A table has a name such as `$(touch pwned)`, and a user pastes the printed command into bash",
    "only the printed program runs; the name is one word of its command line",
)
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", ["cause", "text", "markdown"])
def test_the_proof_that_a_cause_names_takes_the_tables_name_as_one_word(name: str, form: str, tmp_path: Path):
    """In every form; lines that are printed below each other are pasted together."""
    found = inspect(renamed(database_stories.rewriting(), name))
    commands = [c for cause in found.causes for r in cause.remedies for c in r.commands]
    (command,) = (c for c in commands if c.startswith("plimsoll prove"))
    if form != "cause":
        printed = render(found, width=200) if form == "text" else render(found, "markdown")
        start = printed.index("plimsoll prove toast")
        command = printed[start : printed.index("--decode 10s", start)] + "--decode 10s"
    given = pasted(command, tmp_path)

    assert ["plimsoll", "prove", "toast", "DSN", "--table"] == given[:5]
    assert ["--decode", "10s"] == given[6:]
    if form == "cause":
        assert name == given[5]


@pytest.mark.attack(
    "An instance or a region in a snapshot has such a name", "the same is true of the printed AWS commands"
)
@pytest.mark.parametrize("name", [name for name in HOSTILE if name.isprintable()])
def test_the_order_of_a_plan_takes_identifier_and_region_as_words(name: str, tmp_path: Path):
    """Snapshots say what an instance is called, and anybody can write one."""
    before = Instance(
        identifier=name,
        db_class="db.r5.large",
        engine="postgres",
        region=name,
        storage=Storage(kind="gp3", size_gib=500),
    )
    (line,) = commands_of(before, replace(before, db_class="db.r5.xlarge"), catalog())
    given = pasted(line, tmp_path)

    assert ["aws", "rds", "modify-db-instance"] == given[:3]
    assert name == given[given.index("--region") + 1]
    assert any(word in (name, f"--db-instance-identifier={name}") for word in given[3:5])


def test_commands_are_made_in_one_place():
    """No other file quotes for a shell."""
    folder = ROOT / "src/plimsoll"
    files = [p for p in folder.rglob("*.py") if "shlex" in p.read_text()]

    assert [folder / "model/shell.py"] == files
