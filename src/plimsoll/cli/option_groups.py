"""Declare options that several commands share once, and pass them to each command as one value."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple, get_type_hints


class SharedOption(NamedTuple):
    """An option of a group: its typer declaration and its default."""

    annotation: Any
    default: Any = None


class OptionGroup(NamedTuple):
    """
    Options that fill one value together.

    `make` takes each option by name and returns the value. An option that a command does not have is not passed,
    so the value keeps its own default.
    """

    make: Callable[..., Any]
    options: Mapping[str, SharedOption]

    def only(self, *names: str) -> "OptionGroup":
        """Return the group with only these options."""
        return OptionGroup(self.make, {name: self.options[name] for name in names})

    def without(self, *names: str) -> "OptionGroup":
        """Return the group without these options."""
        kept = {name: option for name, option in self.options.items() if name not in names}
        return OptionGroup(self.make, kept)


def expand(command: Callable[..., None], **groups: OptionGroup) -> Callable[..., None]:
    """
    Replace each parameter of a command that names a group with the options of that group.

    Args:
        command: a function whose parameters typer reads, and one parameter for each group.
        groups: groups, by the name of the parameter that takes the value.
    """
    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for name, parameter in signature(command).parameters.items()
        if name not in groups
    ]
    # Prefix the name of the group: two groups may have an option of the same name.
    shared = [
        Parameter(f"{group}_{name}", Parameter.KEYWORD_ONLY, annotation=option.annotation, default=option.default)
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
    # typer would follow __wrapped__ to the function that has the groups as parameters.
    del run.__wrapped__
    return run
