"""Read the docstrings below the fields of a class: they are the texts of JSON schemas and of help."""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise


def field_docstrings(cls: type) -> dict[str, str]:
    """Return the docstring of each field of a class and of its bases, on one line."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] not in ("builtins", "msgspec"):
            found |= _of_module(base.__module__).get(base.__qualname__, {})
    return found


@cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of the fields of each class of a module, which is parsed once."""
    found: dict[str, dict[str, str]] = {}

    def visit(body: list[ast.stmt], outer: str) -> None:
        for definition in body:
            if isinstance(definition, ast.ClassDef):
                found[f"{outer}{definition.name}"] = dict(_fields(definition))
                visit(definition.body, f"{outer}{definition.name}.")
            elif isinstance(definition, ast.FunctionDef):
                visit(definition.body, f"{outer}{definition.name}.<locals>.")

    visit(ast.parse(inspect.getsource(sys.modules[name])).body, "")
    return found


def _fields(definition: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield each field and property of a class with its docstring."""
    for one in definition.body:
        if isinstance(one, ast.FunctionDef) and (text := ast.get_docstring(one)):
            yield one.name, " ".join(text.split())
    for field, below in pairwise(definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield field.target.id, " ".join(text.split())
