"""`plimsoll prices show`: prices with their dates, and what is not known of them."""

from typer.testing import CliRunner, Result

from plimsoll.cli.commands import app


def show(*options: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(app, ["prices", "show", *options])


def row(result: Result, name: str) -> list[str]:
    """The cells of the one row of that name."""
    (line,) = [line for line in result.stdout.splitlines() if line.startswith(f"{name} ")]
    return line.split()[1:]


def test_every_class_of_an_engine_is_listed_by_licence():
    """With each licence a row, and those without a price below."""
    result = show("--engine", "oracle-se2", "--region", "eu-west-1")

    assert 0 == result.exit_code
    assert "db.m5.large, byol" in result.stdout
    assert "db.m5.large, included" in result.stdout
    assert "not known for oracle-se2: db." in result.stdout
    assert "cpu_surplus_credits" in result.stdout.rpartition("not known: ")[2]
