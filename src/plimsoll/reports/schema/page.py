"""The reference page of a document: the fields of each object as a Markdown table."""

from typing import Any

Rule = dict[str, Any]

BEGIN = "<!-- Written by `python -m plimsoll.reports.schema` from here on. -->"


def page_with_fields(page: str, schema: Rule) -> str:
    """
    Return the page with everything below its mark written from the schema.

    A new page has no text and gets a title; a page without the mark gets it at its end.
    """
    words, mark, _ = (page or f"# {schema['title']} as JSON\n").partition(BEGIN)
    if not mark:
        words = f"{words.rstrip()}\n\n"
    return f"{words}{BEGIN}\n\n{fields_of(schema)}"


def fields_of(schema: Rule) -> str:
    """Return a section for the document and one for each object in it."""
    objects = {"document": schema, **schema["$defs"]}
    sections = [f"## {_heading(name)}\n\n{rule['description']}\n\n{_table(rule)}\n" for name, rule in objects.items()]
    return "\n".join(sections)


def _heading(name: str) -> str:
    return name.replace("_", " ").capitalize().replace("Ebs", "EBS")


def _table(rule: Rule) -> str:
    rows = [f"| `{field}` | {_kind(of)} | {of['description']} |" for field, of in rule["properties"].items()]
    return "\n".join(["| Field | Type | Meaning |", "| --- | --- | --- |", *rows])


def _kind(rule: Rule) -> str:
    """Return the type of a field in words: `number or null`, `list of [interval](#interval)`."""
    if "$ref" in rule:
        name = rule["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.replace('_', '-')})"
    if "anyOf" in rule:
        return " or ".join(_kind(option) for option in rule["anyOf"])
    if "const" in rule:
        return f"`{rule['const']}`"
    if "enum" in rule:
        return ", ".join("null" if word is None else f"`{word}`" for word in rule["enum"])
    if rule["type"] == "array" and "items" in rule:
        return f"list of {_kind(rule['items'])}"
    return rule["type"] if isinstance(rule["type"], str) else " or ".join(rule["type"])
