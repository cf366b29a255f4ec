"""
The JSON Schema of a document, from the Structs that it is made of.

Rule 1: the Structs are the only source. Field names and types are those that `reports.render.form` writes, meanings
        are the docstrings below the fields, titles and descriptions the docstrings of the classes.
Rule 2: every field is required and no other is allowed, at every depth.
Rule 3: a document inside another one is an object here; its own schema describes it.
"""

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from plimsoll.model.field_docstrings import field_docstrings
from plimsoll.model.written import Mark
from plimsoll.reports.render.form import FormField, fields_of, is_document

Rule = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_MOMENT = "UTC, ISO 8601 to the second with `Z`."


def schema_of(document: type[msgspec.Struct], *beside: type[msgspec.Struct]) -> Rule:
    """
    Return the JSON Schema of a document, with a definition for each object in it.

    Args:
        document: the Struct; its docstring is a title, an empty line and a description.
        beside: further documents that are defined in the same schema.
    """
    prefix = document.__name__.removesuffix("Document")
    title, _, description = inspect.cleandoc(document.__doc__ or "").partition("\n\n")
    properties = _object(document, document, prefix, description)
    parts = dict.fromkeys(_parts(document), document)
    for more in beside:
        parts |= dict.fromkeys((more, *_parts(more)), more)
    return {
        "$schema": _DRAFT,
        "$id": properties["properties"]["schema"]["const"],
        "title": title.removesuffix("."),
        **properties,
        "$defs": {_name(part, prefix): _object(part, form, prefix, part.__doc__ or "") for part, form in parts.items()},
    }


def _object(cls: type[msgspec.Struct], document: type[msgspec.Struct], prefix: str, description: str) -> Rule:
    fields = fields_of(cls, document)
    return {
        "description": _one_line(description),
        "type": "object",
        "additionalProperties": False,
        "required": [one.name for one in fields],
        "properties": {one.name: {**_rule(one.kind, prefix), "description": _meaning(one)} for one in fields},
    }


def _rule(hint: Any, prefix: str) -> Rule:
    """Return the JSON Schema of a type."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        options = [_rule(option, prefix) for option in inside if option is not type(None)]
        return _or_null(options) if type(None) in inside else {"anyOf": options}
    if origin is Literal:
        return {"const": inside[0]} if len(inside) == 1 else {"enum": list(inside)}
    if origin is tuple:
        return _list(inside, prefix)
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return {"enum": [word.value for word in hint]}
    if inspect.isclass(hint) and issubclass(hint, msgspec.Struct):
        return {"type": "object"} if is_document(hint) else {"$ref": f"#/$defs/{_name(hint, prefix)}"}
    return msgspec.json.schema(hint)


def _list(inside: tuple[Any, ...], prefix: str) -> Rule:
    """Return the schema of a list of any length, or of a fixed number of elements."""
    some = {"type": "array", "items": _rule(inside[0], prefix)}
    if inside[-1] is Ellipsis:
        return some
    assert len(set(inside)) == 1, "a list of several types has no name for what stands where"
    return {**some, "minItems": len(inside), "maxItems": len(inside)}


def _or_null(options: list[Rule]) -> Rule:
    """Return the schema extended by null, within `enum` or `type` if there is one."""
    if len(options) == 1 and "enum" in options[0]:
        return {"enum": [*options[0]["enum"], None]}
    if len(options) == 1 and "type" in options[0]:
        return {**options[0], "type": [options[0]["type"], "null"]}
    types = [option["type"] for option in options if option.keys() == {"type"}]
    if len(types) == len(options):
        return {"type": [*types, "null"]}
    return {"anyOf": [*options, {"type": "null"}]}


def _parts(cls: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """Return the Structs in a Struct, at every depth, each once, in order of first occurrence."""
    found: dict[type[msgspec.Struct], None] = {}

    def visit(outer: type[msgspec.Struct]) -> None:
        for one in fields_of(outer, cls):
            for part in _structs(one.kind):
                if part not in found and not is_document(part):
                    found[part] = None
                    visit(part)

    visit(cls)
    return list(found)


def _structs(hint: Any) -> Iterator[type[msgspec.Struct]]:
    if inspect.isclass(hint) and get_origin(hint) is None and issubclass(hint, msgspec.Struct):
        yield hint
    for inside in get_args(hint):
        yield from _structs(inside)


def _name(cls: type[msgspec.Struct], prefix: str) -> str:
    """Return `ceiling_time` for `CeilingTimeObject`, without the name of the document."""
    name = cls.__name__.removesuffix("Object").removesuffix("Document")
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name.removeprefix(prefix) or name).lower()


def _meaning(one: FormField) -> str:
    """Return the docstring of a field; of a moment with how it is written."""
    text = field_docstrings(one.owner).get(one.attribute)
    assert text, f"no docstring below {one.owner.__name__}: {one.attribute}"
    text = _one_line(text)
    return f"{text} {_MOMENT}" if one.mark is Mark.MOMENT else text


def _one_line(text: str) -> str:
    """Return a docstring on one line; what is None in the model is null in a report."""
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))
