"""What is the same for ten tables is printed once, and is whole in JSON."""

import msgspec

import inspections
from plimsoll.app.render import render
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.diagnosis import Evidence

SOURCE = "A published source with the settings that it recommends, " + "by the kind of table, " * 6
WAY = "A stack sends every field that was loaded; why it does is told " + "here at some length, " * 6


def of_table(name: str) -> Cause:
    """A cause with a long source, a short fact and a long way out with code of its own."""
    return Cause(
        kind=CauseKind.TOAST,
        code="ToastValuesResent",
        severity="warning",
        subject=name,
        title=f"updates of {name} write values again",
        evidence=(Evidence(kind="source", text=SOURCE), Evidence(kind="rows", text="10 rows")),
        remedies=(
            Remedy(text="Ask first.", commands=(f"ask {name}",)),
            Remedy(text=WAY, commands=(f"code for {name}\n" + "more\n" * 9,), expected="less"),
        ),
    )


def three() -> object:
    """An inspection that found the same defect in three tables."""
    plain = inspections.quiet()
    return msgspec.structs.replace(plain, causes=tuple(map(of_table, ("a", "b", "c"))))


def test_a_long_paragraph_stands_with_the_first_that_has_it():
    """The others point there, and keep what is short or their own."""
    for text in (render(three(), width=100), render(three(), "markdown")):
        flat = " ".join(text.split())

        assert 1 == flat.count("A published source with the settings that it recommends, by")
        assert 1 == flat.count("A stack sends every field that was loaded;")
        assert 2 == flat.count("The same 1 way as under 1, with the names of this one.")
        assert 3 == flat.count("10 rows")
        assert ["ask a" in flat, "ask b" in flat, "ask c" in flat] == [True] * 3
        assert [True, False] == ["code for a" in flat, "code for b" in flat]


def test_a_line_of_its_own_stands_again_without_the_paragraph():
    """What is one statement for each table is not only pointed at."""
    plain = three()
    causes = tuple(
        msgspec.structs.replace(cause, remedies=(Remedy(text=WAY, commands=(f"ALTER {cause.subject};",)),))
        for cause in plain.causes
    )
    text = render(msgspec.structs.replace(plain, causes=causes), width=100)

    assert all(f"ALTER {name};" in text for name in "abc")
    assert 2 == text.count("As under 1.")
