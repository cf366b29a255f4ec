"""Options that several commands share, declared once and given to each command as one value."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple, get_type_hints


class SharedOption(NamedTuple):
    """An option of a group: its declaration for typer, and its default."""

    annotation: Any
    default: Any = None


class OptionGroup(NamedTuple):
    """
    Options that together fill one value.

    `make` takes each option by its name, and returns the value. An option that a command leaves out is not passed,
    so that the value keeps its own default.
    """

    make: Callable[..., Any]
    options: Mapping[str, SharedOption]

    def only(self, *names: str) -> "OptionGroup":
        """Return the group with these options alone."""
        return OptionGroup(self.make, {name: self.options[name] for name in names})

    def without(self, *names: str) -> "OptionGroup":
        """Return the group without these options."""
        kept = {name: option for name, option in self.options.items() if name not in names}
        return OptionGroup(self.make, kept)


def expand(command: Callable[..., None], **groups: OptionGroup) -> Callable[..., None]:
    """
    Return the command with the options of each group in place of the parameter of that name.

    Args:
        command: a function whose parameters typer reads, and one parameter for each group.
        groups: by the name of the parameter that takes the group's value.
    """
    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for name, parameter in signature(command).parameters.items()
        if name not in groups
    ]
    # The name of the group keeps apart two groups that have an option of the same name.
    shared = [
        Parameter(
            f"{group}_{name}",
            Parameter.KEYWORD_ONLY,
            annotation=option.annotation,
            default=option.default,
        )
        for group, options in groups.items()
        for name, option in options.options.items()
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        values = {
            group: options.make(**{name: given.pop(f"{group}_{name}") for name in options.options})
            for group, options in groups.items()
        }
        command(**given, **values)

    run.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=own + shared, return_annotation=None
    )
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in own + shared}
    # typer would follow this to the function whose parameters are the groups.
    del run.__wrapped__
    return run
