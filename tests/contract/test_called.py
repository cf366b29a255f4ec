"""Every function of the package is called by the package or a measurement, not by tests alone."""

import ast
from collections import Counter
from collections.abc import Iterable

from contract.tree import ROOT, SRC, Function, functions, python_files

# Name → why something calls it that no file here names.
CALLED_FROM_OUTSIDE = {
    "begin_auth": "overrides what asyncssh asks of a server about a user",
    "connection_made": "overrides what asyncssh calls with a new connection",
    "connection_lost": "overrides what uvicorn calls when a connection ends",
    "data_received": "overrides what uvicorn calls with bytes of a request",
    "on_response_complete": "overrides what uvicorn calls after an answer",
    "send_400_response": "overrides what uvicorn calls for what is no HTTP",
    "public_key_auth_supported": "overrides what asyncssh asks of a server about keys",
    "do_GET": "overrides what http.server calls for a request",
    "do_HEAD": "overrides what http.server calls for a request",
    "handle_error": "overrides what http.server calls after an error in a request",
    "do_POST": "overrides what http.server calls for a request",
    "log_message": "overrides what http.server calls to log a request",
    "compose_node": "overrides what PyYAML calls for a part of a document",
    "construct_mapping": "overrides what PyYAML calls for a table",
    "wrap_bio": "overrides what asyncio calls to begin a connection with TLS",
    "format_options": "overrides what Click calls for the options of a command's help",
    "format_usage": "overrides what Click calls for the first line of a command's help",
    "resolve_command": "overrides what Click calls to find a subcommand",
}

# A function under one of these is called as any other; under another decorator, by who decorates it.
_PLAIN = {"property", "staticmethod", "classmethod", "cache", "cached_property", "contextmanager"}


def test_every_function_is_called():
    """
    Each function and method of src/plimsoll is named in src or bench outside itself, or listed.

    And what is listed is still there, and still called by nothing here.
    """
    sources = dict(python_files(SRC))
    callers = [*sources.values(), *(tree for _, tree in python_files(ROOT / "bench"))]

    assert CALLED_FROM_OUTSIDE.keys() == uncalled(sources.values(), callers)


def test_a_function_that_calls_only_itself_is_found():
    """Recursion is no use; a call, a decorator that keeps it, and a name in `__all__` are."""
    tree = ast.parse(
        "def alone(): alone()\n"
        "def used(): pass\n"
        "@app.command()\n"
        "def command(): used()\n"
        "class C:\n"
        "    def __len__(self): return 0\n"
        "    @property\n"
        "    def forgotten(self): return 1\n"
        "    def method(self): return self.method()\n"
    )

    assert {"alone", "forgotten", "method"} == uncalled([tree], [tree])


def uncalled(trees: Iterable[ast.Module], callers: Iterable[ast.Module]) -> set[str]:
    """
    Names of functions that no caller names outside the function itself.

    Names alone are compared: where two functions share one, a call of either is a call of both.
    """
    found = set()
    named: Counter[str] = Counter()
    for caller in callers:
        named.update(_names(caller))
    for function in (function for tree in trees for function in functions(tree)):
        if (
            _is_called_by_its_name(function)
            and named[function.name] <= _names(function)[function.name]
        ):
            found.add(function.name)
    return found


def _is_called_by_its_name(function: Function) -> bool:
    if function.name.startswith("__") and function.name.endswith("__"):
        return False
    return all(_last(decorator) in _PLAIN for decorator in function.decorator_list)


def _last(decorator: ast.expr) -> str:
    decorator = decorator.func if isinstance(decorator, ast.Call) else decorator
    return decorator.attr if isinstance(decorator, ast.Attribute) else ast.unparse(decorator)


def _names(tree: ast.AST) -> Counter[str]:
    """Every name that is read, as a variable, as an attribute or as a word of a string."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found[node.id] += 1
        elif isinstance(node, ast.Attribute):
            found[node.attr] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found[node.value] += node.value.isidentifier()
    return found
