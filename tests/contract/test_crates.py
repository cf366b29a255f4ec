"""The crates: modules import one another in no circle, and every function is called."""

import ast
import re
from collections.abc import Iterable, Mapping

from contract.test_rooms import circles
from contract.tree import SRC, texts

# Functions that are called by name from outside Rust.
_ENTRIES = {"main", "_core"}

_COMMENT = re.compile(r"//.*")
_TESTS = re.compile(
    r"^#\[cfg\(test\)\]\n(?:#\[path.*\n)?mod \w+ ?(?:;|\{\n.*?^\})\n", re.DOTALL | re.MULTILINE
)
# rustfmt closes a block under the line that opens it, so no parser is needed.
_TRAIT_IMPL = re.compile(r"^impl\b[^;{]*? for [^{]*\{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
_FUNCTION = re.compile(r"\bfn (\w+)")
_IMPORT = re.compile(r"\bcrate::(\w+|\{[^}]*\})")


def test_modules_of_a_crate_import_one_another_in_no_circle():
    """No circle of imports leads through several modules of a crate; a folder is one module."""
    for crate in ("plimsoll-core", "plimsoll-gate", "plimsoll-py"):
        assert [] == circles(_arrows(_sources(crate)))


def test_every_function_of_the_crates_is_called():
    """Each function of crates/*/src is named there outside its declaration, tests left out."""
    assert set() == uncalled(_sources().values())


def test_every_function_of_the_compiled_core_is_called():
    """What the stub of the core declares is what `kernel.py` and `wire.py` use."""
    stub = ast.parse((SRC / "_core.pyi").read_text(encoding="utf-8"))
    named = [node for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    declared = {node.name for node in named if not node.name.startswith("_")}
    users = [ast.parse((SRC / f"{n}.py").read_text(encoding="utf-8")) for n in ("kernel", "wire")]
    used = {
        node.attr
        for user in users
        for node in ast.walk(user)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "_core"
    }

    assert declared | {"STAGES_MAX"} == used


def test_the_compiler_looks_for_dead_code_in_the_gate():
    """
    The gate's library shows only the modules that its program names; no warning is silenced.

    What only tests use of a private module is dead code to the compiler, and a warning is an error
    in `make lint`. What is public it takes for used.
    """
    sources = _sources("plimsoll-gate")
    public = set(re.findall(r"^pub mod (\w+)", sources["lib"], re.MULTILINE))
    named = set(re.findall(r"plimsoll_gate::(\w+)", sources["main"]))

    assert named == public
    assert [] == [name for name, text in sources.items() if "allow(dead_code" in text]


def test_a_function_that_only_tests_call_is_found():
    """A call in a comment, in a test, or in another function's declaration is no call."""
    source = (
        "/// Like [`alone`].\n"
        "pub fn alone() {}\n"
        "fn used() {}\n"
        "fn main() {\n    used();\n}\n"
        "impl Drop for Thing {\n    fn drop(&mut self) {}\n}\n"
        "#[cfg(test)]\nmod tests {\n    fn a_test() {\n        alone();\n    }\n}\n"
    )

    assert {"alone"} == uncalled([_product(source)])


def test_imports_of_a_module_are_found():
    """`use crate::a::B` and `crate::c::d()` are imports, those of tests are not."""
    source = (
        "//! See [`crate::e`].\n"
        "use crate::a::B;\n"
        "fn f() {\n    crate::c::d();\n}\n"
        "#[cfg(test)]\nmod tests {\n    use crate::g::H;\n}\n"
    )

    assert {"b": {"a", "c"}} == _arrows({"b": _product(source)})


def uncalled(sources: Iterable[str]) -> set[str]:
    """
    Return names of functions that are named nowhere but where they are declared.

    A function of a trait that is not ours is called by whoever knows the trait. Names alone are
    compared: where two functions share one, a call of either is a call of both.
    """
    text = "\n".join(sources)
    own = _TRAIT_IMPL.sub("", text)
    return {
        name
        for name in set(_FUNCTION.findall(own)) - _ENTRIES
        if len(re.findall(rf"\b{name}\b", text)) <= len(re.findall(rf"\bfn {name}\b", text))
    }


def _arrows(sources: Mapping[str, str]) -> dict[str, set[str]]:
    arrows: dict[str, set[str]] = {}
    for module, text in sources.items():
        for found in _IMPORT.findall(text):
            arrows.setdefault(module, set()).update(re.findall(r"\w+", found))
        arrows.get(module, set()).discard(module)
    return arrows


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
