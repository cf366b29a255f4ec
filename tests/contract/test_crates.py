"""The crates: modules import one another in no circle, and every function is called."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter

from contract.tree import SRC, texts

# Functions that are called by name from outside Rust.
_ENTRIES = {"main", "_core"}

_COMMENT = re.compile(r"//.*")
_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[path.*\n)?mod \w+ ?(?:;|\{\n.*?^\})\n", re.DOTALL | re.MULTILINE)
# rustfmt closes a block under the line that opens it, so no parser is needed.
_TRAIT_IMPL = re.compile(r"^impl\b[^;{]*? for [^{]*\{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(r"\bcrate::(\w+|\{[^}]*\})")


def test_modules_of_a_crate_import_one_another_in_no_circle():
    """No circle of imports leads through several modules of a crate; a folder is one module."""
    for crate in ("plimsoll-core", "plimsoll-gate", "plimsoll-py"):
        # Raises CycleError, which names the circle.
        TopologicalSorter(_arrows(_sources(crate))).prepare()


def test_every_function_of_the_crates_is_called():
    """
    Each function of crates/*/src is named there outside its declaration, tests left out.

    The compiler takes what is public for used, and tests for users.
    """
    assert set() == uncalled(_sources().values())


def test_every_function_of_the_compiled_core_is_called():
    """What the stub of the core declares is what `kernel.py` and `wire.py` use."""
    stub = ast.parse((SRC / "_core.pyi").read_text(encoding="utf-8"))
    named = [node for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    declared = {node.name for node in named if not node.name.startswith("_")}
    text = "".join((SRC / f"{name}.py").read_text(encoding="utf-8") for name in ("kernel", "wire"))

    assert declared | {"STAGES_MAX"} == set(re.findall(r"\b_core\.(\w+)", text))


def test_what_only_tests_use_is_found():
    """A call in a comment or in a test is no call, and an import there is none."""
    source = (
        "/// Like [`alone`], see [`crate::e`].\n"
        "use crate::a::B;\n"
        "pub fn alone() {}\n"
        "fn used() {}\n"
        "fn main() {\n    used();\n    crate::c::d();\n}\n"
        "impl Drop for Thing {\n    fn drop(&mut self) {}\n}\n"
        "#[cfg(test)]\nmod tests {\n    use crate::g::H;\n    fn a_test() {\n        alone();\n    }\n}\n"
    )

    assert {"alone"} == uncalled([_product(source)])
    assert {"b": {"a", "c"}} == _arrows({"b": _product(source)})


def uncalled(sources: Iterable[str]) -> set[str]:
    """
    Return names of functions that are named nowhere but where they are declared.

    A function of a trait that is not ours is called by whoever knows the trait. Names alone are
    compared: where two functions share one, a call of either is a call of both.
    """
    text = "\n".join(sources)
    named, declared = Counter(re.findall(r"\w+", text)), Counter(re.findall(r"\bfn (\w+)", text))
    own = set(re.findall(r"\bfn (\w+)", _TRAIT_IMPL.sub("", text))) - _ENTRIES
    return {name for name in own if named[name] <= declared[name]}


def _arrows(sources: Mapping[str, str]) -> dict[str, set[str]]:
    return {
        module: {name for found in _IMPORT.findall(text) for name in re.findall(r"\w+", found)} - {module}
        for module, text in sources.items()
    }


def _sources(crate: str | None = None) -> dict[str, str]:
    """Product code of a crate, or of all, by module; what lies in a folder is one module."""
    found: dict[str, str] = {}
    for path, text in texts(".rs"):
        if path.parts[0] != "crates" or path.parts[2] != "src" or path.stem.endswith("_tests"):
            continue
        if crate in (None, path.parts[1]):
            module = path.parts[3].removesuffix(".rs") if crate else path.as_posix()
            found[module] = found.get(module, "") + _product(text)
    assert found, f"no crate {crate}"
    return found


def _product(text: str) -> str:
    return _COMMENT.sub("", _TESTS.sub("", text))
