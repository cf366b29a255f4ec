"""What Spark raises becomes one sentence that names what to do."""

import pytest

from plimsoll.errors import ExtraMissing, SourceError, Unreachable, UsageError
from plimsoll.fleet.spark.failure import failure_of
from plimsoll.fleet.spark.task import TaskError


@pytest.mark.parametrize(
    ("text", "log", "kind", "message"),
    [
        ("SparkException: Could not parse Master URL: 'x'", "", UsageError, "'x' is not a Spark"),
        ("gone", "All masters are unresponsive! Giving up.", Unreachable, "did not accept"),
        ("No module named 'plimsoll'", "", UsageError, "cannot import 'plimsoll'"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker", "", UsageError, "another version of Python"),
        ("Python worker exited unexpectedly (crashed)", "", SourceError, "killed again and again"),
        ("ExecutorLostFailure (executor 3 exited)", "", SourceError, "killed again and again"),
        # An executor that was lost before another failure does not hide it.
        ("java.io.IOException: No space left", "ExecutorLostFailure", SourceError, "Spark failed: No space left"),
    ],
)
def test_known_failures_have_a_sentence_of_their_own(text, log, kind, message):
    found = failure_of(RuntimeError(text), log, "x")

    assert kind is type(found)
    assert message in found.message
    assert found.hint


def test_the_reason_of_a_task_comes_first():
    packed = TaskError("unable to read 'x'", "Check it.")
    found = failure_of(RuntimeError(f"ExecutorLostFailure …\n{packed}"), "", "x")

    assert ("unable to read 'x'", "Check it.") == (found.message, found.hint)


def test_a_missing_package_names_the_extra():
    found = failure_of(ImportError("grpcio >= 1.76 must be installed"), "", "sc://here")

    assert isinstance(found, ExtraMissing)
    assert "pip install 'plimsoll-db[spark]'" in found.hint


def test_pages_of_java_become_the_last_cause_on_one_line():
    text = (
        "An error occurred.\norg.apache.spark.SparkException: Job aborted\n\tat a.b(C.scala:1)\n"
        f"Caused by: java.io.IOException: {'No space ' * 60}\n\tat d.e(F.java:2)\n"
    )
    found = failure_of(RuntimeError(text), "", "x")

    assert found.message.startswith("Spark failed: No space No space")
    assert found.message.endswith(" …")
    assert "\n" not in found.message
