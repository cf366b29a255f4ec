"""Fixtures that every kind of test shares."""

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden",
        action="store_true",
        help="rewrite the golden files with what the program says now; review the difference",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """
    Compare a text with tests/golden/<path>; with --regenerate-golden, write it there instead.
    """
    regenerate = request.config.getoption("--regenerate-golden")

    def compare(path: str, text: str) -> None:
        file = GOLDEN / path
        if regenerate:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"{file} is missing: run pytest --regenerate-golden and review it"

        assert file.read_text(encoding="utf-8") == text

    return compare


# Before xdist's own hook, which reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start servers share one worker, so that two servers never meet on this machine."""
    for item in items:
        if item.get_closest_marker("live"):
            item.add_marker(pytest.mark.xdist_group("live"))
