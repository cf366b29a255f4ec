"""`plimsoll watch example`: print a configuration with all keys."""

from importlib import resources

import msgspec

from plimsoll.watch.law.rulebook import RULES, RuleTables


def print_example() -> None:
    """Print a file that watches every instance of an account, with all other keys as comments."""
    print(example(), end="")  # noqa: T201


def example() -> str:
    """Return the text of the file; the tables of rules have their defaults."""
    text = resources.files("plimsoll.watch").joinpath("example.toml").read_text("utf-8")
    return text + "".join(_table(name) for name in RULES)


def _table(rule: str) -> str:
    settings = RuleTables().of(rule)
    lines = [f"\n[rules.{rule}]"]
    for field in msgspec.structs.fields(settings):
        value = msgspec.json.encode(getattr(settings, field.name)).decode()
        lines.append(f"# {field.encode_name} = {value}")
    return "\n".join(lines) + "\n"
