"""
Make the options of a command from Structs, and the words of a command line from their values.

Rule 1: an option is declared once, by a field: `Annotated[type, Option("--name VALUE", "Heading")]`. The docstring
        of the field is the help text, and its default is that of the option.
Rule 2: a field whose type is such a Struct is a group of options; `Annotated[Kind, OptionGroup(Kind).only(…)]`
        takes some of them.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from inspect import Parameter, isclass, signature
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from plimsoll.app.options import Option
from plimsoll.model.field_docstrings import field_docstrings


class OptionGroup(NamedTuple):
    """The options that fill a Struct together; one that a command does not have keeps its default."""

    kind: type[Struct]
    """Its method `check`, if it has one, refuses values that do not fit."""
    left_out: frozenset[str] = frozenset()
    """Fields that the command does not have."""
    suffix: str = ""
    """End of each option's name, for example `-a`."""
    panel: str | None = None
    """Heading in the help; None takes those of the fields."""

    def only(self, *names: str) -> "OptionGroup":
        """Return the group with only these options."""
        return self.without(*(set(self.kind.__struct_fields__) - set(names)))

    def without(self, *names: str) -> "OptionGroup":
        """Return the group without these options."""
        return self._replace(left_out=self.left_out | set(names))

    def parameters(self, prefix: str) -> Iterator[Parameter]:
        """Yield a parameter that typer reads for each option, in the order of the fields."""
        help_of, defaults = field_docstrings(self.kind), {field.name: field.default for field in fields(self.kind)}
        for name, part in self._parts():
            if isinstance(part, OptionGroup):
                yield from part.parameters(f"{prefix}{name}_")
                continue
            default = None if defaults[name] == () else defaults[name]
            yield Parameter(
                prefix + name,
                Parameter.KEYWORD_ONLY,
                annotation=_declared(*part, help_of[name], suffix=self.suffix, panel=self.panel),
                default=Parameter.empty if default is NODEFAULT else default,
            )

    def made(self, prefix: str, given: Mapping[str, Any]) -> Any:
        """Return the value that parameters fill."""
        values: dict[str, Any] = {}
        for name, part in self._parts():
            if isinstance(part, OptionGroup):
                values[name] = part.made(f"{prefix}{name}_", given)
            else:
                value, (kind, option) = given[prefix + name], part
                if option.parse is not None and value is not None:
                    value = option.parse(value)
                values[name] = tuple(value or ()) if get_origin(kind) is tuple else value
        made = self.kind(**values)
        if (check := getattr(made, "check", None)) is not None:
            check()
        return made

    def _parts(self) -> Iterator[tuple[str, "tuple[Any, Option] | OptionGroup"]]:
        hints = get_type_hints(self.kind, include_extras=True)
        for name in self.kind.__struct_fields__:
            if name not in self.left_out:
                yield name, _group_of(hints[name]) or get_args(hints[name])


def _group_of(hint: Any) -> OptionGroup | None:
    """Return the options of a type; None if it is the type of one value."""
    if get_origin(hint) is Annotated and isinstance(group := get_args(hint)[1], OptionGroup):
        return group
    return OptionGroup(hint) if isclass(hint) and issubclass(hint, Struct) else None


def _declared(kind: Any, option: Option, text: str, *, suffix: str, panel: str | None) -> Any:
    """Return the type of a parameter with what typer has to know about it."""
    if option.parse is not None:
        kind = str | None
    elif get_origin(kind) is tuple:
        kind = list[get_args(kind)[0]] | None  # type: ignore[misc]
    words = option.names.split()
    names = [f"{word}{suffix}" for word in words if word.startswith("-")]
    more = {name: value for name in ("min", "max", "envvar") if (value := getattr(option, name)) is not None}
    return Annotated[
        kind,
        (typer.Option if names else typer.Argument)(
            *names,
            metavar=" ".join(words[len(names) :]) or None,
            help=text.replace("{min}", str(option.min)).replace("{max}", str(option.max)),
            rich_help_panel=panel or option.panel,
            show_default=option.shows_default,
            **more,
        ),
    ]


def expand(command: Callable[..., int | None], **groups: OptionGroup) -> Callable[..., None]:
    """
    Replace each parameter of a command that is a Struct of options with these options.

    Args:
        command: a function whose other parameters typer reads; its result is the exit status.
        groups: by the name of a parameter, the options it takes; all of its type if it is not named here.
    """
    hints = get_type_hints(command, include_extras=True)
    found = {name: groups.get(name) or _group_of(hints[name]) for name in signature(command).parameters}
    filled = {name: group for name, group in found.items() if group is not None}
    parameters = [
        parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for name, parameter in signature(command).parameters.items()
        if name not in filled
    ]
    # Prefix the name of the group: two groups may have an option of the same name.
    for name, group in filled.items():
        parameters += group.parameters(f"{name}_")

    @wraps(command)
    def run(**given: Any) -> None:
        values = {name: group.made(f"{name}_", given) for name, group in filled.items()}
        status = command(**{name: given[name] for name in found if name not in filled}, **values)
        if status is not None:
            raise typer.Exit(status)

    run.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=None
    )
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    # typer would follow __wrapped__ to the function that has the groups as parameters.
    del run.__wrapped__
    return run


def typed(options: Struct, *names: str, suffix: str = "") -> list[str]:
    """
    Return the words of a command line that give the same options again.

    Args:
        options: what was given; a value that is the default is left out.
        names: fields in the order of the words; all of them if none is named.
        suffix: end of each option's name, as of the group.
    """
    hints = get_type_hints(type(options), include_extras=True)
    defaults = {field.name: field.default for field in fields(type(options))}
    words: list[str] = []
    for name in names or type(options).__struct_fields__:
        given = getattr(options, name)
        if given != defaults[name]:
            option = get_args(hints[name])[1].names.split()[0]
            for value in given if isinstance(given, tuple) else (given,):
                words += [f"{option}{suffix}", f"{value:.12g}" if isinstance(value, float) else str(value)]
    return words
