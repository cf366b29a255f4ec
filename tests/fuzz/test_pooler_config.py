"""Configuration files of poolers that are anything: a configuration or a sentence, never a crash."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.app.render import render
from plimsoll.catalog import schema
from plimsoll.catalog.load import catalog
from plimsoll.errors import PlimsollError
from plimsoll.lint.pooler import ServerRoom, lint
from plimsoll.model.lint import PoolerFindings
from plimsoll.sources.pooler.config import read_pooler_config

NAMES = sorted({row.setting for row in catalog().rows(schema.POOLER_DEFAULTS)})
ROOMS = st.builds(ServerRoom, connection_max=st.none() | st.integers(1, 10_000), reserved=st.integers(0, 100))
VALUES = st.one_of(
    st.integers(-5, 10**12).map(str),
    st.sampled_from(["on", "off", "transaction", "statement", "5min", "''", "1e9", "9" * 500, "-1"]),
    st.text(max_size=12),
)
SETTINGS = st.lists(st.tuples(st.sampled_from([*NAMES, "backend_hostname1"]), VALUES), max_size=12)
DATABASES = st.lists(st.tuples(st.text(max_size=6), st.text(max_size=30)), max_size=4)
VERSIONS = st.none() | st.sampled_from(["3.4.0", "4.1.2", "4.3.5", "1.18.0", "1.21.0", "1.25"])


def judged(text: str, kind: str | None, version: str | None, room: ServerRoom) -> None:
    """Read, lint, say: whatever it is, the rules answer and the text keeps its width."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pooler.conf"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            config = read_pooler_config(path, kind=kind, version=version)
        except PlimsollError:
            return
    causes = lint(config, catalog(), room)
    found = PoolerFindings(config=config, causes=causes)
    assert all(len(line) <= 80 or "=" in line for line in render(found, width=80).splitlines())
    assert render(found, "markdown")
    assert render(found, "html")
    assert all(cause.title and cause.refuted_by and cause.evidence for cause in causes)


@given(text=st.text(), kind=st.sampled_from([None, "pgpool", "pgbouncer"]), room=ROOMS)
def test_any_text(text: str, kind: str | None, room: ServerRoom):
    """Text that nobody wrote as a configuration."""
    judged(text, kind, None, room)


@given(settings=SETTINGS, version=VERSIONS, room=ROOMS)
def test_any_settings_of_pgpool(settings, version, room):
    """Its own names with values that make no sense."""
    judged("".join(f"{n} = {v}\n" for n, v in settings), "pgpool", version, room)


@given(settings=SETTINGS, databases=DATABASES, version=VERSIONS, room=ROOMS)
def test_any_settings_of_pgbouncer(settings, databases, version, room):
    """Its own names with values that make no sense, and databases."""
    lines = ["[databases]", *(f"{n} = pool_size={v}" for n, v in databases), "[pgbouncer]"]
    lines += [f"{n} = {v}" for n, v in settings]
    judged("\n".join(lines), "pgbouncer", version, room)
