"""The last samples of a snapshot, as exporters and the textfile collector of node_exporter have them."""

import re

from msgspec.structs import replace

from builders import snapshot, timed
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll_lab.reports.openmetrics import name_of, render_openmetrics

INSTANCE = Instance(
    identifier='orders "primary"\\one',
    db_class="db.t3.xlarge",
    engine="postgres",
    region="eu-central-1",
    storage=Storage(kind="gp2", size_gib=1000),
)
SAMPLE = re.compile(r'^(plimsoll_[a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\} (\S+)$')


def rendered() -> str:
    return render_openmetrics(
        snapshot(
            {Metric.READ_BYTES_PER_S: [1e6, 86.875e6], Metric.BYTE_BALANCE_RATIO: [0.5, 0.25]},
            timed(Metric.WRITE_LATENCY_S, [1_615_161_600], [0.0049]),
            timed(Metric.READ_LATENCY_S, [], []),
            timed(Metric.QUEUE_DEPTH, [1_615_161_600, 1_615_161_660], [3.5, float("nan")]),
            instance=INSTANCE,
        ),
        account_id="123456789012",
    )


def samples() -> dict[str, str]:
    lines = [line for line in rendered().splitlines() if not line.startswith("#")]
    found = {}
    for line in lines:
        match = SAMPLE.match(line)
        assert match, line
        found[match[1]] = match[3]
    return found


def test_the_last_known_sample_of_each_metric_is_given():
    """Base units in the names; what has no sample has no line, since missing is not zero."""
    found = samples()

    assert "86875000.0" == found["plimsoll_read_bytes_per_second"]
    assert "0.25" == found["plimsoll_byte_balance_ratio"]
    assert "0.0049" == found["plimsoll_write_latency_seconds"]
    assert "3.5" == found["plimsoll_queue_depth"]
    assert "1615161660.0" == found["plimsoll_sample_timestamp_seconds"]
    assert "plimsoll_read_latency_seconds" not in found
    assert "plimsoll_cpu_ratio" not in found


def test_the_three_labels_of_other_exporters_stand_on_every_sample():
    """So one join on account, region and name works; quotes and backslashes in names are escaped."""
    identity = 'aws_account_id="123456789012",aws_region="eu-central-1",dbidentifier="orders \\"primary\\"\\\\one"'
    lines = [line for line in rendered().splitlines() if not line.startswith("#")]

    assert all(identity in line for line in lines)


def test_what_was_bought_is_reported_once():
    """An info sample with class, storage type, engine and origin; the note, which may change, is no label."""
    (info,) = [line for line in rendered().splitlines() if line.startswith("plimsoll_instance_info")]

    assert 'instance_class="db.t3.xlarge",storage_type="gp2",engine="postgres"' in info
    assert 'source="a test"' in info
    assert info.endswith(" 1.0")
    noted = render_openmetrics(replace(snapshot(instance=INSTANCE), note='at clock "60"\nor so'))
    assert '# HELP plimsoll_instance_info what the samples are of. at clock \\"60\\"\\nor so' in noted.splitlines()


def test_the_text_is_openmetrics_that_the_textfile_collector_takes():
    """Each family has a type and a help before its samples, all are gauges, none has a time; it ends in EOF."""
    lines = rendered().splitlines()
    types = [line.split()[2:] for line in lines if line.startswith("# TYPE")]

    assert "# EOF" == lines[-1]
    assert rendered().endswith("# EOF\n")
    assert {"gauge"} == {kind for _, kind in types}
    assert [name for name, _ in types] == list(samples())
    for name, _ in types:
        at = lines.index(f"# TYPE {name} gauge")
        assert lines[at + 1].startswith(f"# HELP {name} ")
        assert lines[at + 2].startswith(f"{name}{{")


def test_every_metric_has_a_name_of_its_own_with_its_unit_spelled_out():
    """No two metrics share a name, and no name ends in an abbreviated unit."""
    names = [name_of(metric) for metric in Metric]

    assert len(set(names)) == len(names)
    assert not [name for name in names if name.endswith(("_s", "_per_s"))]
    assert "read_operations_per_second" == name_of(Metric.READ_OPS_PER_S)
    assert "transactions_per_second" == name_of(Metric.TRANSACTIONS_PER_S)


def test_a_snapshot_without_samples_still_says_what_it_is_of():
    """Nothing is made up for it."""
    lines = render_openmetrics(snapshot(instance=INSTANCE)).splitlines()

    assert 4 == len(lines)
    assert lines[2].startswith("plimsoll_instance_info")
