"""The tables of a reference page, as its schema says them."""


def objects(document, top):
    """The objects of a schema by name, `top` for the document itself."""
    return {top: document, **document["$defs"]}


def table(definition):
    """The fields of one object as a Markdown table."""
    rows = [
        f"| `{field}` | {_kind(rule)} | {rule['description']} |"
        for field, rule in definition["properties"].items()
    ]
    return "\n".join(["| Field | Type | Meaning |", "| --- | --- | --- |", *rows])


def undescribed(document, top):
    """The fields whose description is not a sentence."""
    return [
        f"{name}.{field}"
        for name, definition in objects(document, top).items()
        for field, rule in definition["properties"].items()
        if not rule.get("description", "").endswith(".")
    ]


def _kind(rule):
    """The type of a field in words: `number or null`, `list of [interval](#interval)`."""
    if "$ref" in rule:
        name = rule["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.replace('_', '-')})"
    if "anyOf" in rule:
        return " or ".join(_kind(option) for option in rule["anyOf"])
    if "const" in rule:
        return f"`{rule['const']}`"
    if "enum" in rule:
        return ", ".join("null" if word is None else f"`{word}`" for word in rule["enum"])
    if rule["type"] == "array":
        return f"list of {_kind(rule['items'])}"
    return rule["type"] if isinstance(rule["type"], str) else " or ".join(rule["type"])
