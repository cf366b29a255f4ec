"""
Hold the size of each part of the repository: `python bench/house.py --require`, or `--write`.

A room is a package of `src/plimsoll` (its loose files are one room), or another folder of `FOLDERS`: the lab is one room.
Lines are physical lines of Python, in `crates` of Rust. ARCHITECTURE.md shows the lines of each room: `--write` writes
that table, and `--require` ends with status 1 if a room has more lines than the table shows. A commit that raises a number of the
table gives the reason in a line of its message, or a later commit does: `Growth: ROOM REASON`.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = "ARCHITECTURE.md"
PACKAGE = "src/plimsoll"
FOLDERS = ("lab", "tests", "crates", "systems", "integrations", "bench")
START = "<!-- rooms: written by python bench/house.py --write -->\n"
END = "<!-- end of rooms -->"
# What is built or installed, besides folders whose name begins with a dot.
BUILT = {"build", "dist", "out", "target", "__pycache__"}


def sizes(root: Path) -> dict[str, tuple[int, int]]:
    """Return the number of files and of lines of each room, by its path."""
    found: dict[str, tuple[int, int]] = {}
    for folder in (PACKAGE, *FOLDERS):
        for path in _files(root / folder, ".rs" if folder == "crates" else ".py"):
            inside = path.relative_to(root / folder).parts
            is_package = folder == PACKAGE and len(inside) > 1
            room = f"{PACKAGE}/{inside[0]}" if is_package else folder
            files, lines = found.get(room, (0, 0))
            found[room] = files + 1, lines + path.read_bytes().count(b"\n")
    return found


def _files(folder: Path, suffix: str) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(n for n in folders if n not in BUILT and not n.startswith("."))
        yield from (Path(where, name) for name in names if name.endswith(suffix))


def table(found: Mapping[str, tuple[int, int]]) -> str:
    """Return the rooms as rows of Markdown, the package first, each part by name."""
    order = sorted(found, key=lambda room: (not room.startswith(PACKAGE), room))
    rows = [f"| `{room}` | {found[room][0]:,} | {found[room][1]:,} |\n" for room in order]
    return "".join(["| room | files | lines |\n|---|---|---|\n", *rows])


def shown(text: str) -> dict[str, int]:
    """Return the lines of each room that a page shows; empty if it has no table."""
    between = text.partition(START)[2].partition(END)[0]
    rows = re.findall(r"^\| `([\w./-]+)` \| [\d,]+ \| ([\d,]+) \|$", between, re.MULTILINE)
    return {room: int(lines.replace(",", "")) for room, lines in rows}


def write(root: Path) -> None:
    """Write the table into the page, between its marks."""
    page = root / PAGE
    head, mark, rest = page.read_text(encoding="utf-8").partition(START)
    page.write_text(f"{head}{mark}{table(sizes(root))}{END}{rest.partition(END)[2]}", "utf-8")


def grown(root: Path) -> list[str]:
    """Return a sentence for each room that has more lines than the page shows; print those that shrank."""
    found = {room: lines for room, (_, lines) in sizes(root).items()}
    allowed = shown((root / PAGE).read_text(encoding="utf-8"))
    less = [f"{room} by {n - found.get(room, 0):,}" for room, n in allowed.items()
            if found.get(room, 0) < n]  # fmt: skip
    if less:
        print(f"smaller than {PAGE} shows: {', '.join(less)} lines; --write takes that over")
    return [
        f"{room} has {lines:,} lines, {lines - allowed.get(room, 0):,} more than {PAGE} shows; to accept that, "
        f"run `python bench/house.py --write` and commit with a line `Growth: {room} REASON`"
        for room, lines in sorted(found.items())
        if lines > allowed.get(room, 0)
    ]


def unexplained(root: Path) -> list[str]:
    """Return a sentence for each room whose number the last change of the table raised without a reason."""
    last = _git(root, "log", "-1", "--format=%H", "-G", r"^\| `[a-z/]+` \|", "--", PAGE)
    before = last and _git(root, "show", f"{last}^:{PAGE}")
    if not before:
        print("reasons for growth were not checked: there is no history here")
        return []
    # The commit that wrote the first table raised nothing.
    then = shown(before)
    now = shown(_git(root, "show", f"{last}:{PAGE}")) if then else {}
    messages = _git(root, "log", "--format=%B", f"{last}^..HEAD")
    given = set(re.findall(r"^Growth: `?([\w./-]+)`? +\S", messages, re.MULTILINE))
    return [
        f"{room} was raised from {then.get(room, 0):,} to {lines:,} lines in {last[:8]} without a reason; give it in the "
        f"message of a commit, in a line `Growth: {room} REASON`"
        for room, lines in now.items()
        if room not in given and lines > then.get(room, 0)
    ]


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints; nothing where it fails, for example in a source distribution."""
    command = ["git", "-c", "safe.directory=*", *arguments]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--require", action="store_true", help="fail if a room has grown")
    action.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--root", type=Path, default=ROOT, help="of the repository")
    given = parser.parse_args()
    if given.write:
        write(given.root)
        return 0
    wrong = [*grown(given.root), *unexplained(given.root)]
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
