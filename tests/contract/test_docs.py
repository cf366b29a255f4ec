"""What the documents say is true: sessions run, links lead somewhere, words mean one thing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contract.documents import (
    Command,
    anchors,
    blocks,
    commands,
    documents,
    is_plimsoll,
    links,
    matches,
)
from contract.tree import ROOT, texts

COMMAND_S_MAX = 120
README_LINES_MAX = 120
PAGES = [path for path in documents() if path.relative_to(ROOT).parts[0] in {"README.md", "docs"}]
SESSIONS = [page for page in PAGES if commands(page.read_text(encoding="utf-8"))]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of a document as a person would, with 80 columns and without colour."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    places = {"PATH": path, "HOME": str(folder), "TMPDIR": str(folder)}
    # The modules that these tests import, where they are not the installed ones.
    places |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    # The day on which the prices in the documents were looked at: later, more of them are old.
    day = {"SOURCE_DATE_EPOCH": "1795305600"}
    looks = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "LANG": "C.UTF-8", "TZ": "UTC"}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=places | looks | day,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_S_MAX,
        check=False,
    )


def complaint(command: Command, result: subprocess.CompletedProcess[str]) -> str:
    """What differs between a document and what its command does; empty if nothing."""
    # 0: nothing binds; 1: something binds; 2 is right only where the document shows the error.
    shows_error = any(line.startswith("error: ") for line in command.output)
    expected_codes = {2} if shows_error else {0, 1}
    printed = [line.rstrip() for line in result.stdout.splitlines()]
    while printed and not printed[-1]:
        printed.pop()
    if result.returncode not in expected_codes:
        return f"exit status {result.returncode}\n{result.stdout}"
    if not command.output or matches(command.output, printed):
        return ""
    absent = [line for line in command.output if line.strip() != "…" and line not in printed]
    if absent:
        return "does not print\n" + "\n".join(absent)
    return "prints this in another order, or more:\n" + "\n".join(printed)


@pytest.mark.parametrize("page", SESSIONS, ids=name)
def test_sessions_run_as_written(page: Path, tmp_path: Path):
    """The `$ plimsoll …` lines of a page's console blocks run in order and print what the page shows."""
    if (ROOT / "examples").exists():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    wrong = [
        f"{name(page)}:{text.line}: $ {text.command}\n{why}"
        for text in commands(page.read_text(encoding="utf-8"))
        if is_plimsoll(text.command) and (why := complaint(text, run(text.command, tmp_path)))
    ]

    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", documents(), ids=name)
def test_links_lead_somewhere(page: Path):
    """Every link into the repository names a file that is there, and a heading that it has."""
    broken = [
        target
        for target in links(page.read_text(encoding="utf-8"))
        if not re.match(r"[a-z]+:", target) and not leads_somewhere(page, target)
    ]

    assert not broken, f"{name(page)}: {broken}"


def test_the_readme_shows_a_session():
    """README.md shows plimsoll at work, in a session that the test above runs."""
    shown = commands((ROOT / "README.md").read_text(encoding="utf-8"))

    assert any(is_plimsoll(result.command) and result.output for result in shown)


def test_the_index_names_every_page():
    """docs/index.md links every page under docs/, so that none is found by chance only."""
    index = ROOT / "docs" / "index.md"
    linked = {
        (index.parent / target.partition("#")[0]).resolve()
        for target in links(index.read_text(encoding="utf-8"))
        if not re.match(r"[a-z]+:", target)
    }
    absent = [name(p) for p in PAGES if p.parent != ROOT and p != index and p not in linked]

    assert not absent, f"not in docs/index.md: {absent}"


def leads_somewhere(page: Path, target: str) -> bool:
    """Whether a relative link from a page resolves, heading included."""
    path, _, heading = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return False
    return not heading or heading in anchors(file.read_text(encoding="utf-8"))


def test_the_readme_sets_up_with_two_commands():
    """README.md names `make run` and `make test` and no other way to set up."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = [
        line.removeprefix("$ ").strip()
        for language in ("console", "sh", "bash", "shell", "")
        for _, lines in blocks(text, language)
        for line in lines
    ]
    made = {line.split("#")[0].strip() for line in code if line.startswith("make")}
    other = [
        line
        for line in code
        if re.match(r"(sudo |python\S* -m )?(pip|uv|apt|apt-get|cargo|maturin|venv|conda)\b", line)
    ]

    assert {"make run", "make test"} == made
    assert not other


def test_the_readme_is_short():
    """README.md has what, proof, installation and three commands; the rest is one link away."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert text.count("\n") <= README_LINES_MAX


def test_glossary_words_mean_one_thing():
    """Every bold word of the glossary is explained once, and is used outside the glossary."""
    glossary = ROOT / "docs" / "glossary.md"
    text = glossary.read_text(encoding="utf-8")
    words = [
        word.strip().lower()
        for bold in re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE)
        for word in bold.split(",")
    ]
    elsewhere = "\n".join(
        content
        for path, content in texts(".py", ".rs", ".md", ".toml")
        if path != glossary.relative_to(ROOT)
    ).lower()
    unused = [
        word for word in words if not re.search(rf"\b{re.escape(word)}|{_as_name(word)}", elsewhere)
    ]

    assert words
    assert len(set(words)) == len(words), f"explained twice: {sorted(words)}"
    assert not unused, f"used nowhere: {unused}"


def _as_name(word: str) -> str:
    return re.escape(re.sub(r"[ \-]", "_", word))


def test_elision_stands_for_any_lines():
    """A line `…` stands for any number of lines, none included; every other line must be equal."""
    assert matches(("a", "…", "d"), ["a", "b", "c", "d"])
    assert matches(("a", "…"), ["a"])
    assert not matches(("a", "…", "d"), ["a", "b", "c"])
    assert not matches(("a",), ["a", "b"])


def test_sessions_are_read_command_by_command():
    """A console block is commands, each with the lines it prints; other blocks are not run."""
    page = "```console\n$ plimsoll a \\\n    --b\nout\n\n$ ls\n```\n```sh\n$ plimsoll c\n```\n"

    assert [
        Command(line=2, command="plimsoll a --b", output=("out",)),
        Command(line=6, command="ls", output=()),
    ] == commands(page)
