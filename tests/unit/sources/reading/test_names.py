import pytest

from plimsoll.model.metric import BY_CLOUDWATCH_NAME, Metric
from plimsoll.sources.reading.names import CLASH, EC2, LOCAL, LOG_VOLUME, UNUSED, recognise, recognise_id
from plimsoll.sources.reading.reading import Statistic

LOCAL_STORAGE = Metric.FREE_LOCAL_STORAGE_BYTES


@pytest.mark.parametrize("name", BY_CLOUDWATCH_NAME)
def test_every_name_of_cloudwatch_is_known(name):
    assert recognise(name).metric is BY_CLOUDWATCH_NAME[name]
    assert recognise(f"orders-primary {name}").metric is BY_CLOUDWATCH_NAME[name]
    assert recognise(f"orders-primary {name}").instance == "orders-primary"


@pytest.mark.parametrize("metric", Metric)
def test_every_name_of_ours_is_known_and_in_our_unit(metric):
    named = recognise(metric.value)

    assert named.metric is metric
    assert named.is_ours


@pytest.mark.parametrize(
    ("text", "metric", "instance", "statistic", "unit"),
    [
        ("ReadIOPS", Metric.READ_OPS_PER_S, None, None, None),
        ("orders-primary ReadIOPS", Metric.READ_OPS_PER_S, "orders-primary", None, None),
        ("ReadIOPS Maximum", Metric.READ_OPS_PER_S, None, Statistic.MAXIMUM, None),
        ("a1 ReadIOPS Average", Metric.READ_OPS_PER_S, "a1", Statistic.AVERAGE, None),
        ("a1 ReadIOPS p99", Metric.READ_OPS_PER_S, "a1", Statistic.OTHER, None),
        ("eu-west-1 a1 ReadIOPS", Metric.READ_OPS_PER_S, "a1", None, None),
        ("AWS/RDS/ReadIOPS", Metric.READ_OPS_PER_S, None, None, None),
        ("amazonaws.com/AWS/RDS/EBSByteBalance%", Metric.BYTE_BALANCE_RATIO, None, None, None),
        ("Read IOPS", Metric.READ_OPS_PER_S, None, None, None),
        ("read_iops", Metric.READ_OPS_PER_S, None, None, None),
        ("ReadThroughput (MB/s)", Metric.READ_BYTES_PER_S, None, None, "MB/s"),
        ("ReadThroughput [KiB/s]", Metric.READ_BYTES_PER_S, None, None, "KiB/s"),
        ("CPUUtilization (Maximum)", Metric.CPU_RATIO, None, Statistic.MAXIMUM, None),
        ("aws_rds_read_throughput_average", Metric.READ_BYTES_PER_S, None, Statistic.AVERAGE, None),
        ("aws_rds_ebsbyte_balance_percent_minimum", Metric.BYTE_BALANCE_RATIO, None, Statistic.MINIMUM, None),
        ("aws_rds_ebsiobalance__average", Metric.IO_BALANCE_RATIO, None, Statistic.AVERAGE, None),
        ("aws.rds.ebsbyte_balance", Metric.BYTE_BALANCE_RATIO, None, None, None),
        ("aws.rds.cpuutilization", Metric.CPU_RATIO, None, None, None),
        ("aws_rds_read_iops_sum", Metric.READ_OPS_PER_S, None, Statistic.SUM, None),
        ("aws_rds_read_iops_sample_count", Metric.READ_OPS_PER_S, None, Statistic.COUNT, None),
        ("rds_read_throughput_bytes", Metric.READ_BYTES_PER_S, None, None, None),
        ("rds_cpu_usage_percent_average", Metric.CPU_RATIO, None, Statistic.AVERAGE, None),
        ("rds_free_storage_bytes", Metric.FREE_STORAGE_BYTES, None, None, None),
        # Local storage and capacity are what only Aurora has and is used; the rest is left out.
        ("FreeLocalStorage", LOCAL_STORAGE, None, None, None),
        ("aws_rds_free_local_storage_average", LOCAL_STORAGE, None, Statistic.AVERAGE, None),
        ("ACUUtilization", Metric.CAPACITY_RATIO, None, None, None),
        ("w ACUUtilization (Percent)", Metric.CAPACITY_RATIO, "w", None, "Percent"),
    ],
)
def test_labels_columns_and_other_tools_names(text, metric, instance, statistic, unit):
    named = recognise(text)

    assert named.metric is metric
    assert not named.is_ours
    assert named.instance == instance
    assert named.statistic == statistic
    assert named.unit == unit


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("WriteIOPSLogVolume", LOG_VOLUME),
        ("ReadLatencyLocalStorage", LOCAL),
        ("FreeLocalStoragePercent", LOCAL),
        ("FreeEphemeralStorage", LOCAL),
        ("ReadLatencyEphemeralStorage", LOCAL),
        ("EBSReadBytes", EC2),
        ("EBSWriteOps", EC2),
        ("VolumeReadBytes", EC2),
        ("InstanceEBSIOPSExceededCheck", EC2),
        ("ReplicaLag", UNUSED),
        ("CommitLatency", UNUSED),
        ("AuroraReplicaLag", UNUSED),
    ],
)
def test_documented_metrics_we_do_not_use_say_why(name, reason):
    assert recognise(name).metric is None
    assert recognise(name).ignored == reason
    assert recognise(f"orders-primary {name}").ignored == reason
    assert reason != CLASH


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        *(
            (text, None)
            for text in (
                "",
                "ReadQoS",
                "MyReadIOPSCopy",
                "Expression1",
                "ReadIOPS WriteIOPS",
                "the ReadIOPS of the orders database over the last two weeks in our region of choice",
                "\ud800",
                "a" * 100_000,
            )
        ),
        # RDS reports the sum of all volumes without a volume name; a single one must not be taken for it.
        *(
            (label, LOG_VOLUME)
            for label in ("orders rdsdbdata2 ReadIOPS", "rdsdbdata ReadIOPS", "RDSDBDATA4/WriteThroughput")
        ),
    ],
)
def test_resemblance_is_not_enough(text, ignored):
    assert (None, ignored) == (recognise(text).metric, recognise(text).ignored)


@pytest.mark.parametrize(
    ("query_id", "metric"),
    [
        *(
            (query_id, Metric.READ_OPS_PER_S)
            for query_id in ("readiops", "m_readiops", "m1_read_iops", "q_readIOPS", "readiops_0")
        ),
        ("m17", None),
    ],
)
def test_an_id_may_carry_the_name(query_id, metric):
    """One that only counts says nothing."""
    assert recognise_id(query_id).metric is metric
