"""Whatever hangs on the way to AWS, the command ends: with one sentence, or without what is optional."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.aws import proxy, simulated
from fixtures.aws.commands import Outcome, between, plimsoll
from fixtures.aws.double import ACCESS, Double
from fixtures.aws.holdings import hold, write
from fixtures.aws.proxy import Rule

HOUR_S = 3600
END_S = simulated.recent_end_s()
NAME = "simulated-quiet"
COMMAND = ("diagnose", f"rds:{NAME}", *between((END_S - 3 * HOUR_S, END_S)))
METRICS, INSTANCES = "cloudwatch:GetMetricData", "rds:DescribeDBInstances"
OPTIONAL = ("rds:DescribeEvents", "ec2:DescribeInstanceTypes")

READ_S, EARNED_S = 4.0, 0.5
SHORTER = (
    f"import plimsoll.sources.aws.meter as p; p.READ_S = {READ_S}; p.EARNED_S = {EARNED_S}\n"
    "import plimsoll.sources.aws.credentials as c; c.PROCESS_S = 2.0"
)
"""The time limits of a reading, a fifteenth of what they are; a program has 2 s instead of 60."""
MFA = """
[profile base]
aws_access_key_id = AKIAEXAMPLE
aws_secret_access_key = {secret}
[profile shop]
source_profile = base
role_arn = arn:aws:iam::123456789012:role/reader
mfa_serial = arn:aws:iam::123456789012:mfa/ann
"""


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """An account with one instance."""
    folder = tmp_path_factory.mktemp("account")
    snapshot = simulated.moved(simulated.example("quiet"), END_S, identifier=NAME)
    with Double(write(folder, [hold(folder, snapshot)])) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(double: Double) -> Outcome:
    """The instance diagnosed while nothing hangs."""
    return plimsoll(double.port, *COMMAND)


def with_profile(double: Double, folder: Path, text: str) -> Outcome:
    """What a profile called `shop` comes to."""
    (folder / "config").write_text(text)
    return plimsoll(
        double.port, *COMMAND, *("--profile", "shop"), before=SHORTER, AWS_CONFIG_FILE=str(folder / "config")
    )


@pytest.mark.parametrize(
    ("program", "expected"),
    [("false", "failed"), ("echo no json", "printed no JSON"), ("sleep 100", "did not end in 2 s")],
)
def test_a_credential_process_is_named(
    program: str, expected: str, double: Double, undisturbed: Outcome, tmp_path: Path
):
    """One that fails, prints something else or hangs: no request, one sentence, and soon."""
    text = f"[profile shop]\ncredential_process = {program}\n"
    found = with_profile(double, tmp_path, text)

    assert (2, "", {}) == (found.status, found.stdout, found.counts), found.shown()
    assert [f"error: the credential_process of the AWS profile {expected}"] == found.errors
    assert found.took_s < 2 * undisturbed.took_s + 2.0 + 4.0


def test_a_code_is_not_waited_for_without_a_terminal(double: Double, tmp_path: Path):
    """A role that wants a second factor: nobody can type it, so no request is sent."""
    secret = ACCESS["AWS_SECRET_ACCESS_KEY"]
    found = with_profile(double, tmp_path, MFA.format(secret=secret))

    assert (2, "", {}) == (found.status, found.stdout, found.counts), found.shown()
    assert ["error: the AWS profile needs an MFA code, but there is no terminal to enter it"] == (found.errors)
    assert "aws sts get-session-token" in found.hints[0]


@pytest.mark.parametrize("action", [INSTANCES, METRICS, *OPTIONAL])
def test_the_limit_of_a_reading_holds_wherever_it_stalls(action: str, double: Double, undisturbed: Outcome):
    """A byte every two seconds would take hours; the reading ends at its limit, which each answer extends."""
    rules = [Rule(action=action, fault=proxy.dripping)]
    found = plimsoll(double.port, *COMMAND, rules=rules, before=SHORTER)
    allowed_s = READ_S + EARNED_S * sum(undisturbed.counts.values())

    assert found.took_s < allowed_s + 2 * undisturbed.took_s + 2.0, found.shown()
    assert 0 < found.counts[action] <= 2
    if action in OPTIONAL:
        assert "" != found.stdout, found.shown()
        assert action in found.stdout
    else:
        assert (2, "", 1) == (found.status, found.stdout, len(found.errors)), found.shown()
