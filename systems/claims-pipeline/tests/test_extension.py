"""aws_s3 for plain PostgreSQL: what RDS documents, hostile names, and who may do what."""

import csv
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import psycopg
import pytest
from between import PASS, Between
from conftest import World
from servers import ROOT

from claims_pipeline.storage import Storage

pytestmark = pytest.mark.xdist_group("servers")
IMPORT = "SELECT aws_s3.table_import_from_s3(%s, %s, %s, aws_commons.create_s3_uri(%s, %s, 'us-east-1'))"
HOSTILE = [
    "plain.csv",
    "it's; touch /tmp/claims-was-here",
    "$(touch /tmp/claims-was-here)",
    "`touch /tmp/claims-was-here`",
    'a"b\\c\\',
    "line\nbreak",
    "ümlaut/and space/%25",
    "--endpoint",
    "'||'",
]


def load(world: World, table: str, key: str, options: str = "(format csv)", columns: str = "") -> str:
    bucket = world.settings["CLAIMS_S3_BUCKET"]
    return world.ask(IMPORT, table, columns, options, bucket, key)[0][0]


@pytest.mark.parametrize("key", HOSTILE)
def test_a_key_is_a_key_whatever_it_contains(world: World, store: Storage, key: str):
    """The shell runs nothing of it, and the object with that name is read."""
    world.ask("CREATE TABLE t (a text, b int)")
    try:
        store.put(key, b"x,1\ny,2\n")
    except Exception:  # the store keeps files and does not take every name; then the name must be one that fails
        with pytest.raises(psycopg.Error):
            load(world, "t", key)
    else:
        said = load(world, "t", key)
        assert f'2 rows imported into relation "t" from file {key} of 8 bytes' == said
        assert [("x", 1), ("y", 2)] == world.ask("SELECT * FROM t ORDER BY 1")
    shell = world.ask("SELECT pg_stat_file('/tmp/claims-was-here', true) IS NULL")

    assert [(True,)] == shell


@pytest.mark.parametrize("word", ["b'x", "$(id)", "a b", "b\n", "--head", "../x"])
def test_a_bucket_or_region_that_is_none_is_refused(world: World, word: str):
    world.ask("CREATE TABLE t (a text)")
    for bucket, region in ((word, "us-east-1"), ("bucket", word)):
        with pytest.raises(psycopg.errors.ExternalRoutineException):
            world.ask(
                "SELECT aws_s3.table_import_from_s3('t', '', '', aws_commons.create_s3_uri(%s, 'k', %s))",
                bucket,
                region,
            )


@pytest.mark.parametrize(
    ("options", "content"),
    [
        ("", b"x\t1\n\\N\t2\n"),
        ("(format text)", b"x\t1\n\\N\t2\n"),
        ("(FORMAT csv)", b"x,1\n,2\n"),
        ("(format csv, header true)", b"a,b\nx,1\n,2\n"),
        ("(format csv, header)", b"a,b\nx,1\n,2\n"),
        ("(format 'csv', delimiter '|', null '-')", b"x|1\n-|2\n"),
        ("DELIMITER ':' NULL AS '-'", b"x:1\n-:2\n"),
        ("WITH CSV HEADER DELIMITER E'\\t'", b"a\tb\nx\t1\n\t2\n"),
        ("(format csv, quote '''')", b"'x',1\n,2\n"),
        ("(format csv, null 'it''s')", b"x,1\nit's,2\n"),
        ("(format csv, force_null (a), delimiter ',')", b'x,1\n"",2\n'),
    ],
)
def test_options_of_copy_mean_what_they_mean_there(world: World, store: Storage, options: str, content: bytes):
    world.ask("CREATE TABLE t (a text, b int)")
    store.put("k", content)
    load(world, "t", "k", options)

    assert [("x", 1), (None, 2)] == world.ask("SELECT * FROM t ORDER BY b")


def test_binary_is_read(world: World, store: Storage):
    world.ask("CREATE TABLE t (a text, b int)")
    with psycopg.connect(world.url) as connection:
        statement = "COPY (VALUES ('x', 1), (NULL, 2)) TO STDOUT (FORMAT binary)"
        with connection.cursor().copy(statement) as copy:
            store.put("k", b"".join(bytes(part) for part in copy))
    load(world, "t", "k", "(format binary)")

    assert [("x", 1), (None, 2)] == world.ask("SELECT * FROM t ORDER BY b")


@pytest.mark.parametrize(
    "options",
    [
        "(format csv); DROP TABLE t",
        "(format csv, program 'id')",
        "(filename '/etc/passwd')",
        "(format csv, format text)",
        "csv'",
        "(format csv) WHERE true",
        "FREEZE",
    ],
)
def test_options_that_are_none_are_refused(world: World, options: str):
    world.ask("CREATE TABLE t (a text)")
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        load(world, "t", "k", options)

    assert [(0,)] == world.ask("SELECT count(*) FROM t")


def test_columns_are_those_of_the_list(world: World, store: Storage):
    """Others get their defaults; a generated column is computed; a name may need quotes."""
    world.ask(
        'CREATE TABLE t (a text, "B c" int, d text DEFAULT \'made\', e int GENERATED ALWAYS AS ("B c" * 2) STORED)'
    )
    store.put("k", b"1,x\n")
    load(world, "t", "k", columns='"B c", A')
    with pytest.raises(psycopg.errors.UndefinedColumn):
        load(world, "t", "k", columns="a, (SELECT 1)")

    assert [("x", 1, "made", 2)] == world.ask("SELECT * FROM t")


def test_the_form_with_single_parameters_and_both_with_keys(world: World, store: Storage):
    """Keys in SQL could be read by others, so they are refused."""
    world.ask("CREATE TABLE t (a text)")
    store.put("k", b"x\n")
    said = world.ask("SELECT aws_s3.table_import_from_s3('t', '', '', %s, 'k', 'us-east-1')", store.bucket)
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        world.ask(
            "SELECT aws_s3.table_import_from_s3('t', '', '', aws_commons.create_s3_uri('b', 'k', 'r'),"
            " aws_commons.create_aws_credentials('a', 'b', ''))"
        )
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        world.ask("SELECT aws_s3.table_import_from_s3('t', '', '', 'b', 'k', 'r', 'a', 'b', '')")

    assert [('1 rows imported into relation "t" from file k of 2 bytes',)] == said


def test_a_row_that_does_not_fit_imports_nothing(world: World, store: Storage):
    world.ask("CREATE TABLE t (a text, b int)")
    store.put("k", b"x,1\ny,none\n")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        load(world, "t", "k")

    assert [(0,)] == world.ask("SELECT count(*) FROM t")


@pytest.mark.parametrize(
    ("bucket", "key", "word"), [(None, "none", "does not exist"), ("no-such-bucket", "k", "does not exist")]
)
def test_what_is_missing_is_a_sentence_for_the_client(world: World, bucket: str | None, key: str, word: str):
    world.ask("CREATE TABLE t (a text)")
    with pytest.raises(psycopg.errors.ExternalRoutineException, match=word):
        world.ask(IMPORT, "t", "", "", bucket or world.settings["CLAIMS_S3_BUCKET"], key)


@contextmanager
def as_role(world: World, role: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(world.url, autocommit=True) as connection:
        connection.execute(f"SET ROLE {role}")
        yield connection


@pytest.fixture
def role(world: World) -> Iterator[str]:
    name = f"r_{world.settings['CLAIMS_S3_BUCKET']}"
    world.ask(f"CREATE ROLE {name}")
    world.ask(f"GRANT ALL ON SCHEMA public TO {name}")
    yield name
    world.ask(f"DROP OWNED BY {name}")
    world.ask(f"DROP ROLE {name}")


def test_only_a_member_of_the_role_imports(world: World, store: Storage, role: str):
    """And only into tables that it may write to."""
    store.put("k", b"x\n")
    world.ask("CREATE TABLE other (a text)")
    values = ("", "", store.bucket, "k")
    with as_role(world, role) as connection:
        connection.execute("CREATE TABLE mine (a text)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(IMPORT, ("mine", *values))
    world.ask(f"GRANT rds_s3_import TO {role}")
    with as_role(world, role) as connection:
        connection.execute(IMPORT, ("mine", *values))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(IMPORT, ("other", *values))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("COPY mine FROM PROGRAM 'echo x'")
        for statement in (
            "UPDATE aws_s3.settings SET program = 'sh'",
            "SELECT * FROM aws_s3.settings",
            "CREATE FOREIGN TABLE mine2 (a text) SERVER aws_s3_objects OPTIONS (program 'id')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)

    assert [("x",)] == world.ask("SELECT * FROM mine")
    assert [(0,)] == world.ask("SELECT count(*) FROM other")


def test_a_trigger_of_the_importer_gets_no_privilege(world: World, store: Storage, role: str):
    """It runs as the importer, not as the role that may run programs."""
    store.put("k", b"x\n")
    world.ask(f"GRANT rds_s3_import TO {role}")
    with as_role(world, role) as connection:
        connection.execute("CREATE TABLE mine (a text, who text)")
        connection.execute(
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.who := current_user; RETURN NEW; END'"
        )
        connection.execute("CREATE TRIGGER t BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION f()")
        connection.execute(IMPORT, ("mine", "a", "", store.bucket, "k"))

    assert [("x", role)] == world.ask("SELECT * FROM mine")


def test_keys_are_in_no_statement(world: World, store: Storage):
    """Not of the import, and not of the setup that sends them to the server."""
    secret = world.settings["AWS_SECRET_ACCESS_KEY"]
    world.ask("CREATE TABLE seen (query text)")
    store.put("k", b"x\n")
    world.ask(
        "CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN INSERT INTO seen SELECT query FROM pg_stat_activity; RETURN NEW; END'"
    )
    world.ask("CREATE TABLE t (a text)")
    world.ask("CREATE TRIGGER look BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION look()")
    load(world, "t", "k")

    assert [(True, False)] == world.ask(
        "SELECT bool_or(query LIKE '%%table_import%%'), bool_or(position(%s IN query) > 0) FROM seen", secret
    )


def rows(count: int) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows((n, f"row {n} of the object") for n in range(count))
    return text.getvalue().encode()


@pytest.mark.parametrize(
    "plans",
    [
        [("500", 0), ("500", 0)],
        [("cut", 100_000), ("cut", 1), ("cut", 300_000)],
        [("hang", 200_000)],
        [("slow", 2_000_000)],
    ],
    ids=["500", "cut", "hang", "slow"],
)
def test_an_import_survives_a_store_that_fails_for_a_while(world: World, store: Storage, plans: list[tuple[str, int]]):
    """Every row once."""
    content = rows(40_000)
    store.put("k", content)
    host, _, port = world.settings["CLAIMS_S3_ENDPOINT"].removeprefix("http://").partition(":")
    world.ask("CREATE TABLE t (n bigint, what text)")
    with Between((host, int(port)), lambda n: plans[n - 2] if 0 <= n - 2 < len(plans) else PASS) as between:
        world.ask("UPDATE aws_s3.settings SET endpoint = %s", f"http://{host}:{between.port}")
        if plans[0][0] == "hang":
            # Not 20 s in a test: a program of the test's own says how long a connection may last.
            shorten(world, "--connection 1")
        load(world, "t", "k")

    assert [(40_000, 40_000, 39_999)] == world.ask("SELECT count(*), count(DISTINCT n), max(n) FROM t")
    assert len(plans) < between.count


def test_the_size_of_an_object_is_asked_without_its_content(world: World, store: Storage):
    """A GET whose answer nobody reads makes S3 send some of it."""
    store.put("k", b"x\n")
    world.ask("CREATE TABLE t (a text)")
    host, _, port = world.settings["CLAIMS_S3_ENDPOINT"].removeprefix("http://").partition(":")
    with Between((host, int(port)), lambda _: PASS) as between:
        world.ask("UPDATE aws_s3.settings SET endpoint = %s", f"http://{host}:{between.port}")
        load(world, "t", "k")

    assert ["HEAD", "GET"] == between.methods


def shorten(world: World, options: str) -> None:
    """Put a program in front of claims-fetch that gives it more options."""
    ((program,),) = world.ask("SELECT program FROM aws_s3.settings")
    wrapper = Path(f"{program}-{options.count('a')}")
    wrapper.write_text(f'#!/bin/sh\nexec {program} {options} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    world.ask("UPDATE aws_s3.settings SET program = %s", str(wrapper))


def test_an_import_fails_whole_when_the_store_goes_away(world: World, store: Storage):
    """With a sentence, and without a row."""
    store.put("k", rows(40_000))
    host, _, port = world.settings["CLAIMS_S3_ENDPOINT"].removeprefix("http://").partition(":")
    world.ask("CREATE TABLE t (n bigint, what text)")
    plan = lambda n: PASS if n == 1 else ("cut", 500_000) if n == 2 else ("500", 0)  # noqa: E731
    shorten(world, "--attempts 3")
    with Between((host, int(port)), plan) as between:
        world.ask("UPDATE aws_s3.settings SET endpoint = %s", f"http://{host}:{between.port}")
        with pytest.raises(psycopg.Error) as raised:
            load(world, "t", "k")

    assert [(0,)] == world.ask("SELECT count(*) FROM t")
    assert raised.value.sqlstate in ("38000", "22P04")


def test_it_is_an_extension_too(bare: World, fetch_program: Path):
    """CREATE EXTENSION finds it by extension_control_path, which PostgreSQL 18 has."""
    place = fetch_program.parent / "share/extension"
    shutil.copytree(ROOT / "extension", place, dirs_exist_ok=True)
    store = boto3.client(
        "s3",
        endpoint_url=bare.settings["CLAIMS_S3_ENDPOINT"],
        aws_access_key_id=bare.settings["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=bare.settings["AWS_SECRET_ACCESS_KEY"],
        region_name="us-east-1",
    )
    bare.prepare()
    store.put_object(Bucket=bare.settings["CLAIMS_S3_BUCKET"], Key="k", Body=b"x\n")
    with psycopg.connect(bare.url, autocommit=True) as connection:
        connection.execute(f"SET extension_control_path = '{place.parent}:$system'".encode())
        connection.execute("CREATE EXTENSION aws_s3 CASCADE")
    bare.run("setup", "--send-keys", "--fetch", str(fetch_program))
    bare.ask("CREATE TABLE t (a text)")
    load(bare, "t", "k")

    assert [("aws_commons",), ("aws_s3",), ("file_fdw",)] == bare.ask(
        "SELECT extname FROM pg_extension WHERE extname <> 'plpgsql' ORDER BY 1"
    )
    assert [("x",)] == bare.ask("SELECT * FROM t")
