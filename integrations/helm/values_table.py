"""
Write the table of values into README.md from the comments of values.yaml: `python values_table.py`.

A comment that begins with `# --` describes the value, or all of the values, below it.
"""

import json
import re
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
VALUES = FOLDER / "plimsoll-watch" / "values.yaml"
README = FOLDER / "README.md"
BEGIN, END = "<!-- values -->\n", "<!-- end of values -->\n"
LINE = re.compile(r"^(?P<indent> *)(?:# -- (?P<text>.*)|(?P<key>\w+):)")


def table() -> str:
    """Return the rows, in the order of the file."""
    text = VALUES.read_text(encoding="utf-8")
    found = ["| value | default | meaning |", "|---|---|---|"]
    path: list[str] = []
    meaning = ""
    for line in text.splitlines():
        match = LINE.match(line)
        if match is None:
            continue
        if match["text"] is not None:
            meaning = match["text"]
            continue
        path = [*path[: len(match["indent"]) // 2], match["key"]]
        if meaning:
            shown = _shown(yaml.safe_load(text), path)
            found.append(f"| `{'.'.join(path)}` | {shown} | {meaning} |")
            meaning = ""
    return "\n".join(found) + "\n"


def readme() -> str:
    """Return README.md with the table of now."""
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


def _shown(values: dict[str, Any], path: list[str]) -> str:
    value: Any = values
    for key in path:
        value = value[key]
    if isinstance(value, dict) and value:
        return "see values.yaml"
    if isinstance(value, str) and "\n" in value:
        return "see values.yaml"
    return f"`{json.dumps(value)}`"


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
