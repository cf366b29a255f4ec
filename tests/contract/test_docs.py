"""What the documents say is true: sessions run, links lead somewhere, words mean one thing."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from contract.documents import Command, anchors, blocks, commands, documents, is_plimsoll, links, matches
from contract.here import person, run_here
from contract.tree import LAB, ROOT, texts
from plimsoll import __version__

COMMAND_S_MAX = 120
README_LINES_MAX = 120
PAGES = [path for path in documents() if path.relative_to(ROOT).parts[0] in {"README.md", "docs"}]
# Pages whose commands run as programs, by a shell: an answer, an error, the version, `~`, and a child process.
AS_PROGRAMS = {
    "README.md",
    "docs/guides/complete-commands.md",
    "docs/guides/install.md",
    "docs/guides/run-under-a-gate.md",
    "docs/reference/exit-status.md",
}
SESSIONS = [page for page in PAGES if commands(page.read_text(encoding="utf-8"))]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def as_program(command: str, folder: Path) -> tuple[int, str]:
    """Exit status and output of a command that a shell runs."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_S_MAX,
        check=False,
    )
    return done.returncode, done.stdout


def in_process(command: str, _folder: Path) -> tuple[int, str]:
    """The same of a command that runs here, without a shell and without a new interpreter."""
    status, output = run_here(shlex.split(command)[1:])
    return status, output.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder with the examples, as the home of a person whose terminal has 80 columns and no colour."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    looks = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "LANG": "C.UTF-8", "TZ": "UTC"}
    # The day on which the prices in the documents were looked at: later, more of them are old.
    day = {"SOURCE_DATE_EPOCH": "1795305600"}
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    with person(tmp_path, kept | looks | day | dict.fromkeys(("HOME", "TMPDIR"), str(tmp_path))):
        yield tmp_path


def complaint(command: Command, status: int, output: str) -> str:
    """What differs between a document and what its command does; empty if nothing."""
    # 0: nothing binds; 1: something binds; 2 is right only where the document shows the error.
    shows_error = any(line.startswith("error: ") for line in command.output)
    expected_codes = {2} if shows_error else {0, 1}
    printed = [line.rstrip() for line in output.splitlines()]
    while printed and not printed[-1]:
        printed.pop()
    if status not in expected_codes:
        return f"exit status {status}\n{output}"
    if not command.output or matches(command.output, printed):
        return ""
    absent = [line for line in command.output if line.strip() != "…" and line not in printed]
    if absent:
        return "does not print\n" + "\n".join(absent)
    return "prints this in another order, or more:\n" + "\n".join(printed)


@pytest.mark.parametrize("page", SESSIONS, ids=name)
def test_sessions_run_as_written(page: Path, folder: Path):
    """The `$ plimsoll …` lines of a page's console blocks run in order and print what the page shows."""
    run = as_program if name(page) in AS_PROGRAMS else in_process
    wrong = [
        f"{name(page)}:{text.line}: $ {text.command}\n{why}"
        for text in commands(page.read_text(encoding="utf-8"))
        if is_plimsoll(text.command) and (why := complaint(text, *run(text.command, folder)))
    ]

    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("run", [as_program, in_process])
def test_a_session_that_differs_is_found(run, folder: Path):
    """Another word, another order and another exit status, in a process of its own and in this one."""
    shown = Command(line=1, command="plimsoll --version", output=(f"plimsoll {__version__}",))

    assert not complaint(shown, *run(shown.command, folder))
    assert complaint(replace(shown, output=("plimsoll 0",)), *run(shown.command, folder))
    assert complaint(shown, *run("plimsoll diagnose nowhere.json", folder))


def test_no_session_needs_a_shell_in_this_process():
    """What runs here has no pipe, redirection, variable, pattern or second command."""
    texts = [
        text.command
        for page in SESSIONS
        if name(page) not in AS_PROGRAMS
        for text in commands(page.read_text(encoding="utf-8"))
        if is_plimsoll(text.command)
    ]
    quoted = re.compile(r"'[^']*'|\"[^\"$`]*\"")

    assert [] == [text for text in texts if re.search(r"[|<>&;$`*?~]", quoted.sub("", text))]


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
    """docs/index.md links every page under docs/, or docs/lab.md those of the lab; none is found by chance only."""
    index, of_lab = ROOT / "docs" / "index.md", ROOT / "docs" / "lab.md"
    linked = {
        (index.parent / target.partition("#")[0]).resolve()
        for page in (index, of_lab)
        for target in links(page.read_text(encoding="utf-8"))
        if not re.match(r"[a-z]+:", target)
    }
    absent = [name(p) for p in PAGES if p.parent != ROOT and p != index and p not in linked]

    assert not absent, f"neither in docs/index.md nor in docs/lab.md: {absent}"


def test_the_pages_of_the_lab_are_those_that_the_wheel_of_plimsoll_leaves_out():
    """docs/lab.md links them, `lab/src/plimsoll_lab/docs` has a link of the file system to each."""
    docs, folder = ROOT / "docs", LAB / "docs"
    patterns = runpy.run_path(str(ROOT / "packaging/backend.py"))["PAGES_OF_LAB"]
    left_out = {path for pattern in patterns for path in docs.glob(pattern)}
    linked = {folder / path.relative_to(docs): path for path in left_out}

    assert linked == {path: path.resolve() for path in folder.rglob("*.md")}
    named = {(docs / t).resolve() for t in links((docs / "lab.md").read_text(encoding="utf-8")) if "#" not in t}
    assert left_out - {docs / "lab.md"} == named


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
        word.strip().lower() for bold in re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE) for word in bold.split(",")
    ]
    elsewhere = "\n".join(
        content for path, content in texts(".py", ".rs", ".md", ".toml") if path != glossary.relative_to(ROOT)
    ).lower()
    unused = [word for word in words if not re.search(rf"\b{re.escape(word)}|{_as_name(word)}", elsewhere)]

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
