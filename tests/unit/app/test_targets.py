"""What a target is, parsed once from its text."""

import pytest

from plimsoll.app.targets import Files, Prometheus, Rds, is_several, target_of


@pytest.mark.parametrize(
    ("text", "target", "identifier", "many"),
    [
        ("rds:*", Rds("*"), None, True),
        ("rds:orders", Rds("orders"), None, False),
        ("rds:orders", Rds("orders"), "*", False),
        ("prom:http://h:9090", Prometheus("http://h:9090"), None, False),
        ("prom:http://h:9090", Prometheus("http://h:9090"), "orders-*", True),
        ("./metrics*", Files("./metrics*"), None, False),
        ("metrics", Files("metrics"), "*", True),
        ("metrics", Files("metrics"), "orders-*", False),
        ("-", Files("-"), None, False),
        ("RDS:orders", Files("RDS:orders"), None, False),
    ],
)
def test_a_text_names_a_target(text, target, identifier, many):
    """It is written as it was typed; a pattern names several, and of files only `--identifier '*'`."""
    found = target_of(text)

    assert (target, text, many) == (found, str(found), is_several(found, identifier))
    assert found is target_of(found)
