"""
Whatever goes wrong between the command and AWS ends in one clear sentence, and writes nothing half.

Each case runs the real command through a proxy that fails on order. The cases run beside each other,
since most of their time is waiting between retries.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import Struct

from fixtures.aws import proxy, simulated
from fixtures.aws.commands import Outcome, between, plimsoll, requests_said
from fixtures.aws.double import Double
from fixtures.aws.holdings import Cluster, Held, hold, write
from fixtures.aws.monitoring import load_counters, write_documents
from fixtures.aws.proxy import Fault, Rule
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot

HOUR_S = 3600
END_S = simulated.recent_end_s()
SPAN = (END_S - 2 * HOUR_S, END_S)
AT_ONCE = 6
# Tokens without end are followed 200 times, for log events 100 times.
REQUESTS_MOST = 320

WATCHED, SERVERLESS = "simulated-watched", "simulated-serverless"
METRICS, INSTANCES = "cloudwatch:GetMetricData", "rds:DescribeDBInstances"
EVENTS, TYPES, CLUSTERS = ("rds:DescribeEvents", "ec2:DescribeInstanceTypes", "rds:DescribeDBClusters")
LOGS, INSIGHTS = "logs:GetLogEvents", "pi:GetResourceMetrics"
OPTIONAL = (EVENTS, TYPES, LOGS, INSIGHTS)


class Case(Struct, frozen=True, kw_only=True):
    """How the proxy fails, and what is to be seen."""

    rules: tuple[Rule, ...] = ()
    says: tuple[str, ...] = ()
    """Parts of the sentences that name the cause, one for each failure."""
    remedy: str = ""
    """Part of the sentence that names the remedy."""
    target: str = WATCHED
    variables: dict[str, str] = {}


def fails(action: str, fault: Fault, times: int | None = None) -> Rule:
    """Fail for an action, or for every one if it is empty, so many times or always."""
    return Rule(action=action, fault=fault, times=times)


def garbled(action: str) -> str:
    return f"the answer to {action} was cut off or garbled"


NO_KEYS = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}

UNDISTURBED = {name: Case(target=name) for name in (WATCHED, SERVERLESS)}

# A second or third attempt brings the answer.
PASSING = {
    "throttled": Case(rules=(fails(METRICS, proxy.throttled, 2), fails(INSIGHTS, proxy.throttled, 1))),
    "errors of AWS": Case(
        rules=(fails(METRICS, proxy.broken, 1), fails(INSTANCES, proxy.unavailable, 1), fails(EVENTS, proxy.broken, 1))
    ),
    "resets": Case(rules=(fails(METRICS, proxy.reset, 1), fails(LOGS, proxy.reset, 1))),
    "a truncated page": Case(rules=(fails(METRICS, proxy.truncated, 1),)),
    "ten seconds late": Case(rules=(fails(METRICS, proxy.slow, 1), fails(EVENTS, proxy.slow, 1))),
    "a byte every two seconds": Case(rules=(fails(INSTANCES, proxy.dripping, 1),)),
    "metrics on pages without end": Case(rules=(fails(METRICS, proxy.endless),)),
}

# What is needed does not come: the cause in one sentence, the remedy in another.
FAILING = {
    "throttled": Case(rules=(fails(METRICS, proxy.throttled),), says=(f"AWS throttled {METRICS}",), remedy="later"),
    "errors of AWS": Case(rules=(fails(METRICS, proxy.broken),), says=("an error on its side",), remedy="Health"),
    "metrics cut short": Case(rules=(fails(METRICS, proxy.cut_short),), says=(garbled(METRICS),), remedy="proxy"),
    "metrics garbled": Case(rules=(fails(METRICS, proxy.garbage),), says=(garbled(METRICS),), remedy="proxy"),
    "instances truncated": Case(rules=(fails(INSTANCES, proxy.truncated),), says=(garbled(INSTANCES),), remedy="proxy"),
    "reset": Case(
        rules=(fails(METRICS, proxy.reset),),
        says=("127.0.0.1 closed the connection without answering cloudwatch:GetMetricData",),
        remedy="firewall",
    ),
    "redirected": Case(
        rules=(fails(INSTANCES, proxy.redirected),),
        says=(f"{INSTANCES} was redirected to another address (301)",),
        remedy="AWS_ENDPOINT_URL",
    ),
    "an error in plain text": Case(
        rules=(fails(INSTANCES, proxy.plain_error),),
        says=(f"the answer to {INSTANCES} was an error 500 that is not from AWS",),
        remedy="proxy",
    ),
    "no web identity token": Case(
        says=("the web identity token '/none' cannot be read: no such file",),
        remedy="AWS_WEB_IDENTITY_TOKEN_FILE",
        variables=NO_KEYS
        | {"AWS_WEB_IDENTITY_TOKEN_FILE": "/none", "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/r"},
    ),
    "no address": Case(
        says=("AWS_ENDPOINT_URL is not a URL",), remedy="https://HOST", variables={"AWS_ENDPOINT_URL": "not a url"}
    ),
    "metrics denied": Case(
        rules=(fails(METRICS, proxy.denied),), says=(f"access denied to {METRICS}",), remedy=f"Allow {METRICS}"
    ),
    "instances denied": Case(
        rules=(fails(INSTANCES, proxy.denied),), says=(f"access denied to {INSTANCES}",), remedy=f"Allow {INSTANCES}"
    ),
    "expired": Case(rules=(fails("", proxy.expired),), says=("credentials have expired",), remedy="sso login"),
    "expired on the way": Case(
        rules=(fails(METRICS, proxy.expired),), says=("credentials have expired",), remedy="sso login"
    ),
    "no credentials": Case(says=("no AWS credentials were found",), remedy="--profile", variables=NO_KEYS),
    "nobody listens": Case(
        says=("unable to reach 127.0.0.1",),
        remedy="AWS_ENDPOINT_URL",
        variables={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
    ),
}

# What is optional does not come: the rest is read, and gaps say what is not known and why.
LEAVING = {
    "all denied": Case(
        rules=tuple(fails(action, proxy.denied) for action in OPTIONAL),
        says=tuple(f"access denied to {action}" for action in OPTIONAL),
    ),
    "capacity denied": Case(
        rules=(fails(CLUSTERS, proxy.denied),), says=(f"access denied to {CLUSTERS}",), target=SERVERLESS
    ),
    "each in its way": Case(
        rules=(
            fails(EVENTS, proxy.garbage),
            fails(TYPES, proxy.cut_short),
            fails(LOGS, proxy.broken),
            fails(INSIGHTS, proxy.throttled),
        ),
        says=(garbled(EVENTS), garbled(TYPES), f"AWS failed to answer {LOGS}", f"AWS throttled {INSIGHTS}"),
    ),
    "pages without end": Case(
        rules=(fails(EVENTS, proxy.endless), fails(LOGS, proxy.endless)),
        says=(f"the pages of {EVENTS} repeat and do not end", "partly read: 100 requests"),
    ),
}
# In this order they are begun; the longest wait first.
GROUPS = {"undisturbed": UNDISTURBED, "leaving": LEAVING, "passing": PASSING, "failing": FAILING}


def watched(folder: Path) -> Held:
    """An instance of which everything optional is there to be lost."""
    snapshot = simulated.moved(simulated.example("search-service"), END_S, identifier=WATCHED)
    return hold(
        folder,
        snapshot,
        described={"MonitoringInterval": 30},
        enhanced_file=write_documents(folder / "documents.jsonl", snapshot, SPAN, interval_s=30),
        counters=load_counters(snapshot, sessions=8.0, waiting=6.0, waiting_for_io=5.0),
    )


def serverless(folder: Path) -> Held:
    """An instance whose cluster says what it may become."""
    snapshot = simulated.moved(simulated.example("quiet"), END_S, identifier=SERVERLESS)
    fields = dict.fromkeys(("EngineVersion", "StorageType", "AllocatedStorage", "MultiAZ"))
    fields |= {
        "DBInstanceClass": "db.serverless",
        "Engine": "aurora-postgresql",
        "DBClusterIdentifier": "simulated-cluster",
    }
    return hold(folder, snapshot, described=fields)


def run(port: int, case: Case) -> Outcome:
    """Record the instance of a case while the proxy fails as it says."""
    command = ("record", f"rds:{case.target}", "-o", "out.json", *between(SPAN))
    return plimsoll(port, *command, rules=case.rules, **case.variables)


Outcomes = dict[tuple[str, str], Future[Outcome]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    """What each case came to, by its group and name; all of them are under way from the beginning."""
    folder = tmp_path_factory.mktemp("account")
    clusters = [Cluster(identifier="simulated-cluster", engine="aurora-postgresql", capacity_acu_max=16.0)]
    holdings = write(folder, [watched(folder), serverless(folder)], clusters)
    with Double(holdings) as double, ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            (group, name): pool.submit(run, double.port, case)
            for group, cases in GROUPS.items()
            for name, case in cases.items()
        }


def kept(outcome: Outcome) -> Snapshot:
    """The snapshot that a run left; there is nothing else in its folder."""
    assert 0 == outcome.status, outcome.shown()
    assert ["out.json"] == list(outcome.files)
    return decode_snapshot(outcome.files["out.json"])


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_changes_nothing(name: str, outcomes: Outcomes):
    """After a fault that passes the snapshot is the one of an undisturbed reading."""
    outcome = outcomes["passing", name].result()
    undisturbed = outcomes["undisturbed", WATCHED].result()

    assert kept(undisturbed) == kept(outcome), outcome.shown()
    assert [] == outcome.errors
    assert outcome.counts == requests_said(outcome.stderr)
    assert sum(undisturbed.counts.values()) <= sum(outcome.counts.values()) <= REQUESTS_MOST


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_is_said_in_one_sentence(name: str, outcomes: Outcomes):
    """Exit status 2, one cause and one remedy on standard error, and no file, not even a part of one."""
    case, outcome = FAILING[name], outcomes["failing", name].result()

    assert (2, "", {}) == (outcome.status, outcome.stdout, outcome.files), outcome.shown()
    assert (1, 1) == (len(outcome.errors), len(outcome.hints)), outcome.shown()
    assert case.says[0] in outcome.errors[0]
    assert case.remedy in outcome.hints[0]
    assert not outcome.errors[0].endswith(".")
    assert outcome.hints[0].endswith(".")
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("name", LEAVING)
def test_what_is_optional_is_missed_and_named(name: str, outcomes: Outcomes):
    """The rates are those of an undisturbed reading; for each failure a gap says what is not known."""
    case, outcome = LEAVING[name], outcomes["leaving", name].result()
    undisturbed = kept(outcomes["undisturbed", case.target].result())
    snapshot = kept(outcome)
    new = [gap for gap in snapshot.gaps if gap not in undisturbed.gaps]
    rates = [m for m in undisturbed.series if m.value.endswith(("bytes_per_s", "ops_per_s"))]

    for part in case.says:
        assert any(part in gap.reason and gap.remedy for gap in new), (part, snapshot.gaps)
    assert rates
    assert all(undisturbed.series[m] == snapshot.series[m] for m in rates)
    assert sum(outcome.counts.values()) <= REQUESTS_MOST
    assert [] == outcome.errors


def test_one_thing_is_asked_for_so_often_and_no_more(outcomes: Outcomes):
    """
    Four attempts with ever longer gaps where AWS throttles, at an error on its side or a connection that breaks; a refusal
    is final at once.
    """
    asked = {name: outcomes["failing", name].result().counts.get(METRICS, 0) for name in FAILING}

    assert 4 == asked["throttled"] == asked["reset"] == asked["errors of AWS"]
    assert 1 == asked["metrics denied"] == asked["expired on the way"]
    assert 0 == asked["expired"]
    assert max(asked.values()) <= 4
