"""
Decode a CloudFormation template: JSON, or YAML with the short forms of functions (`!Ref`, `!Sub` …).

Rule 1: a template is decoded only up to the size that CloudFormation accepts.
Rule 2: YAML aliases are refused, as CloudFormation does: a few lines of them can stand for gigabytes.
"""

import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.sources.files.json_text import decode
from plimsoll.sources.files.standard_input import load_document

# Source: CloudFormation User Guide, quotas: a template in an S3 object has at most 1 MB.
TEMPLATE_BYTES_MAX = 1 << 20

_HINT = "Give the template itself, in YAML or JSON; for CDK, a file in cdk.out that ends in .template.json."


class DecodedTemplate(Struct, frozen=True, kw_only=True):
    """A template, and the line of each resource."""

    content: dict[str, Any]
    name: str
    """What messages call the file."""
    lines: dict[str, int]
    """By logical ID."""


def read_template(path: Path) -> DecodedTemplate:
    """
    Decode a file, or standard input for `-`.

    Raises:
        SourceError: it cannot be read.
        DataError: it is no template.
    """
    data, path = load_document(path)
    where = f"'{path}'"
    if len(data) > TEMPLATE_BYTES_MAX:
        raise DataError(f"{where} is larger than any template", _HINT)
    lines: dict[str, int] = {}
    if data.lstrip()[:1] == b"{":
        content = decode(data, where)
    else:
        content, lines = _yaml(data, where)
    resources = content.get("Resources") if isinstance(content, dict) else None
    if not isinstance(resources, dict):
        raise DataError(f"{where} has no resources, so it is no CloudFormation template", _HINT)
    if not lines:
        lines = _json_lines(data.decode(errors="replace"), resources)
    return DecodedTemplate(content=content, name=str(path), lines=lines)


def _json_lines(text: str, resources: dict[str, Any]) -> dict[str, int]:
    start = max(text.find('"Resources"'), 0)
    found = {}
    for name in resources:
        match = re.compile(rf'"{re.escape(name)}"\s*:\s*\{{').search(text, start)
        found[name] = text.count("\n", 0, match.start()) + 1 if match else 1
    return found


def _yaml(data: bytes, where: str) -> tuple[Any, dict[str, int]]:
    import yaml

    class _Loader(yaml.SafeLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                line = self.peek_event().start_mark.line + 1
                raise DataError(
                    f"line {line} of {where} has a YAML alias, which CloudFormation does not support",
                    "Write the value out.",
                )
            return super().compose_node(parent, index)

    try:
        loader = _Loader(data.decode())
        root = loader.get_single_node()
        content = _converted(root, loader) if root is not None else None
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is not text", _HINT) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f" at line {mark.line + 1}" if mark is not None else ""
        problem = str(getattr(error, "problem", None) or "it cannot be parsed").replace("\n", " ")
        raise DataError(f"{where} is not YAML{at}: {problem[:120]}", _HINT) from error
    except RecursionError as error:
        raise DataError(f"{where} is nested too deeply", _HINT) from error
    return content, _yaml_lines(root)


def _converted(node: Any, loader: Any) -> Any:
    """Return a node as JSON would have it; `!Sub x` becomes `{"Fn::Sub": "x"}`."""
    import yaml

    is_short = node.tag.startswith("!")
    if isinstance(node, yaml.MappingNode):
        value: Any = {str(key.value): _converted(item, loader) for key, item in node.value}
    elif isinstance(node, yaml.SequenceNode):
        value = [_converted(item, loader) for item in node.value]
    elif is_short or node.tag == "tag:yaml.org,2002:timestamp":
        value = node.value
    else:
        value = _scalar(node, loader)
    if not is_short:
        return value
    name = node.tag[1:]
    return {name if name in ("Ref", "Condition") else f"Fn::{name}": value}


def _scalar(node: Any, loader: Any) -> Any:
    try:
        return loader.construct_object(node)
    except ValueError:  # a number with too many digits, or out of range
        return node.value


def _yaml_lines(root: Any) -> dict[str, int]:
    return {
        str(entry.value): entry.start_mark.line + 1
        for name, resources in _entries(root)
        if name.value == "Resources"
        for entry, _ in _entries(resources)
    }


def _entries(node: Any) -> list[tuple[Any, Any]]:
    """Return the keys and values of a mapping; none of another node."""
    import yaml

    return list(node.value) if isinstance(node, yaml.MappingNode) else []
