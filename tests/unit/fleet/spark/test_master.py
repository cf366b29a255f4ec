"""A master URL decides what must be here, what must answer, and what may listen."""

import pytest

from plimsoll.fleet.spark.master import addresses, chosen_master, is_connect, is_local, settings, starts_java


@pytest.mark.parametrize(
    ("given", "environment", "master"),
    [
        (None, {}, "local[*,4]"),
        ("local", {}, "local[1,4]"),
        ("local[2]", {}, "local[2,4]"),
        ("local[2,1]", {}, "local[2,1]"),
        ("local-cluster[2,1,1024]", {}, "local-cluster[2,1,1024]"),
        ("yarn", {"SPARK_HOME": "/usr/lib/spark"}, "yarn"),
        (None, {"SPARK_HOME": "/usr/lib/spark"}, None),
        (None, {"PYSPARK_GATEWAY_PORT": "1"}, None),
        (None, {"SPARK_REMOTE": "sc://here"}, "sc://here"),
        ("local[2]", {"SPARK_REMOTE": "sc://here"}, "local[2,4]"),
    ],
)
def test_a_master_is_given_or_configured_or_this_machine_with_retries(given, environment, master):
    assert master == chosen_master(given, environment)


@pytest.mark.parametrize(
    ("master", "environment", "needs_java"),
    [
        ("local[2]", {}, True),
        ("yarn", {}, True),
        (None, {"SPARK_HOME": "/usr/lib/spark"}, True),
        ("sc://here", {}, False),
        (None, {"PYSPARK_GATEWAY_PORT": "1"}, False),
    ],
)
def test_java_is_needed_where_the_driver_starts(master, environment, needs_java):
    assert needs_java is starts_java(master, environment)


@pytest.mark.parametrize(
    ("master", "found"),
    [
        ("sc://here", [("here", 15_002)]),
        ("sc://here:443/;use_ssl=true;token=x", [("here", 443)]),
        ("spark://one:7077,two:7078", [("one", 7077), ("two", 7078)]),
        ("spark://", []),
        ("yarn", []),
        ("local[2]", []),
        (None, []),
    ],
)
def test_what_must_answer_before_a_session_starts(master, found):
    assert found == addresses(master)


def test_only_a_master_on_this_machine_is_kept_to_loopback():
    assert "127.0.0.1" == settings("local-cluster[2,1,1024]")["spark.driver.bindAddress"]
    assert "false" == settings("local[2]")["spark.ui.enabled"]
    assert {} == settings("yarn") == settings(None)
    assert (True, False) == (is_local("local[2]"), is_local("spark://local:7077"))
    assert (True, False) == (is_connect("sc://here"), is_connect(None))
