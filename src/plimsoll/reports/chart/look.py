"""Colours and font of the charts."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Colours and font of a chart; distinguishable without colour vision, by lightness."""

    surface: str
    ink: str
    quiet: str
    grid: str
    reads: str
    writes: str
    bound: str
    byte_balance: str
    io_balance: str
    volume_balance: str
    font: str


# After Okabe and Ito, "Color Universal Design" (2008): blue, vermillion, green, purple, orange;
# the light blue is darkened until a line of it has a contrast of 3 : 1 on white (WCAG 2.1, 1.4.11).
LIGHT = Look(
    surface="#ffffff",
    ink="#1b2733",
    quiet="#5b6975",
    grid="#e6eaee",
    reads="#4398d1",
    writes="#0b5a94",
    bound="#c8500a",
    byte_balance="#00795a",
    io_balance="#a8437f",
    volume_balance="#9a6a00",
    font="Roboto, Helvetica, Arial, DejaVu Sans, sans-serif",
)


# The same hues, lighter, on a surface that is nearly black.
DARK = Look(
    surface="#12171c",
    ink="#e7ecf1",
    quiet="#9ba8b4",
    grid="#28313a",
    reads="#86c5ef",
    writes="#2f7dbd",
    bound="#ff8f57",
    byte_balance="#3ecf9f",
    io_balance="#e58cc4",
    volume_balance="#e5b84a",
    font=LIGHT.font,
)


def page_look() -> Look:
    """Return the same names as CSS variables, for a chart inside a page that sets them."""
    names = {f.name: f"var(--{f.name.replace('_', '-')})" for f in fields(Look)}
    return Look(**(names | {"font": "inherit"}))


def css_variables(look: Look) -> str:
    """Return the colours of a look as CSS declarations, under the names that `page_look` uses."""
    named = [(f.name.replace("_", "-"), getattr(look, f.name)) for f in fields(look)]
    return " ".join(f"--{name}: {value};" for name, value in named if name != "font")
