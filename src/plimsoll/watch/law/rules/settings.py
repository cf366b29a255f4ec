"""What every rule lets people set, in the table `[rules.NAME]` of the configuration."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

Minutes = Annotated[int, Meta(ge=0, le=60 * 24 * 31)]
Ratio = Annotated[float, Meta(gt=0, le=1)]


class RuleSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of any rule; a rule adds its own, and its own defaults."""

    is_on: bool = field(default=True, name="on")
    notify: Literal["nearing", "bound"] = "bound"
    """The softest state that sends a message. Softer ones are stored and not sent."""
    for_minutes: Minutes = 10
    """How long the condition must hold before the state is bound."""
    nearing_for_minutes: Minutes = 10
    """The same for the softer condition."""
    clear_minutes: Minutes = 30
    """How long it must not hold before the alert is resolved: longer than the pause between two parts of a
    job, and than the change from the burst to the baseline."""
