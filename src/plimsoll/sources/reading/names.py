"""
Recognise metrics by name: CloudWatch's names, labels, column heads, and names of other tools.

A name is compared without case and punctuation, so `ReadIOPS`, `read_iops`, `Read IOPS`,
`aws.rds.read_iops` and `aws_rds_read_iops_average` are one. Nothing is matched by resemblance:
what is left after taking away known prefixes, statistics and units must be a whole name.
"""

import re
from functools import lru_cache

from msgspec import Struct

from plimsoll.model.metric import BY_CLOUDWATCH_NAME, Metric
from plimsoll.sources.reading.quantities import is_unit
from plimsoll.sources.reading.reading import Statistic, statistic_of


class NamedMetric(Struct, frozen=True, kw_only=True):
    """Metric, instance, statistic and unit in a name."""

    metric: Metric | None = None
    """None if the name is not a metric that is used."""
    is_ours: bool = False
    """Whether it is one of our names, whose values are in our units."""
    instance: str | None = None
    statistic: Statistic | None = None
    unit: str | None = None
    ignored: str | None = None
    """Why a documented metric is not used; None for a metric that is used or unknown."""


_BRACKETS = re.compile(r"\s*[(\[]\s*([^()\[\]]*?)\s*[)\]]")
_SEPARATORS = re.compile(r"[\s/,;:|]+")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}\Z")
_NOISE = frozenset({"aws", "rds", "amazonaws.com", "amazonaws", "com", "dbinstanceidentifier"})
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+\Z")
_PERCENTILE_END = re.compile(r"p\d{2,}\Z")
_VOLUME = re.compile(r"rdsdbdata\d?\Z", re.IGNORECASE)
"""Name of one of several volumes of an instance, in RDS for Oracle and SQL Server."""
_QUERY_ID = re.compile(r"\A(?:m|q|e|id|metric|query)?\d*_|_\d+\Z")
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def _plain(text: str) -> str:
    return _NOT_PLAIN.sub("", text.lower())


_KNOWN: dict[str, Metric] = {_plain(name): metric for name, metric in BY_CLOUDWATCH_NAME.items()}
_OURS: dict[str, Metric] = {_plain(metric.value): metric for metric in Metric}
# Names that are not CloudWatch's name in another spelling; prometheus-rds-exporter writes these.
_KNOWN |= {"cpuusage": Metric.CPU_RATIO, "freestorage": Metric.FREE_STORAGE_BYTES}

_PREFIXES = ("awsrds", "amazonawscomawsrds", "rds")
_STATISTIC_ENDS = ("samplecount", "sum", "average", "maximum", "minimum", "mean", "avg", "max", "min")
_UNIT_ENDS = ("percent", "bytespersecond", "persecond", "bytes", "seconds", "count")

LOG_VOLUME = "metric of a log or additional volume, ignored"
LOCAL = "metric of the local instance store, ignored"
EC2 = "metric of the EC2 or EBS namespace, ignored"
CLASH = "two requests use its Id for different metrics, ignored"
UNUSED = "not used by the diagnosis, ignored"

# Documented for AWS/RDS (RDS User Guide and Aurora User Guide, 2026-04) but without a rule that reads
# it. Aurora's latencies of statements and commits are in milliseconds; those of storage, which are
# read, are in seconds as they are for the other engines.
_UNUSED = frozenset(
    {
        "abortedclients",
        "activetransactions",
        "aurorabinlogreplicalag",
        "auroraestimatedsharedmemorybytes",
        "auroramemoryhealthstate",
        "auroraoptimizedreadscachehitratio",
        "aurorareplicalag",
        "aurorareplicalagmaximum",
        "aurorareplicalagminimum",
        "auroraslowconnectionhandlecount",
        "auroraslowhandshakecount",
        "auroravolumebyteslefttotal",
        "backtrackchangerecordscreationrate",
        "backtrackchangerecordsstored",
        "backtrackwindowactual",
        "backtrackwindowalert",
        "backupretentionperiodstorageused",
        "binlogdiskusage",
        "blockedtransactions",
        "buffercachehitratio",
        "checkpointlag",
        "commitlatency",
        "committhroughput",
        "connectionattempts",
        "cpucreditusage",
        "dbloadcpu",
        "dbloadrelativetonumvcpus",
        "ddllatency",
        "ddlthroughput",
        "deadlocks",
        "deletelatency",
        "deletethroughput",
        "dmllatency",
        "dmlthroughput",
        "engineuptime",
        "failedsqlserveragentjobscount",
        "iamdbauthconnectionrequests",
        "insertlatency",
        "insertthroughput",
        "loginfailures",
        "maximumusedtransactionids",
        "networkthroughput",
        "numbinarylogfiles",
        "oldestlogicalreplicationslotlag",
        "oldestreplicationslotlag",
        "purgeboundary",
        "purgefinishedpoint",
        "queries",
        "rdstoaurorapostgresqlreplicalag",
        "replicalag",
        "replicationchannellag",
        "replicationslotdiskusage",
        "resultsetcachehitratio",
        "rollbacksegmenthistorylistlength",
        "rowlocktime",
        "selectlatency",
        "selectthroughput",
        "serverlessdatabasecapacity",
        "snapshotstorageused",
        "storagenetworkreceivethroughput",
        "storagenetworkthroughput",
        "storagenetworktransmitthroughput",
        "sumbinarylogsize",
        "tempdbavailabledataspace",
        "tempdbavailablelogspace",
        "tempdbdatafileusage",
        "tempdblogfileusage",
        "tempstorageiops",
        "tempstoragethroughput",
        "totalbackupstoragebilled",
        "transactionagemaximum",
        "transactionlogsdiskusage",
        "transactionlogsgeneration",
        "truncatefinishedpoint",
        "updatelatency",
        "updatethroughput",
        "volumebytesused",
        "volumereadiops",
        "volumewriteiops",
    }
)
# FreeLocalStorage in bytes is read; its percentage says the same, and the rates of that disk are not
# those of the database's storage.
_LOCAL_ENDS = ("localstorage", "ephemeralstorage", "localstoragepercent")
_EC2_STARTS = ("ebsread", "ebswrite", "instanceebs", "volumeavg", "volumeiops", "volumethroughput")
_EC2_NAMES = frozenset(
    {"volumequeuelength", "volumeconsumedreadwriteops", "volumestallediocheck", "volumereadbytes"}
    | {"volumewritebytes", "volumereadops", "volumewriteops", "volumeidletime"}
    | {"volumetotalreadtime", "volumetotalwritetime"}
)


@lru_cache(maxsize=65536)
def recognise(text: str) -> NamedMetric:
    """
    Parse a label, a column head or a metric name.

    Examples: `orders-primary ReadIOPS`, `ReadThroughput (MB/s)`, `aws_rds_cpuutilization_maximum`.
    A part that is neither metric, statistic, unit nor namespace is the instance if it stands
    alone and could be an identifier.
    """
    bare, statistic, unit = _without_brackets(text)
    named = _whole(bare)
    if named is None:
        named = _among_parts(bare)
    return NamedMetric(
        metric=named.metric,
        is_ours=named.is_ours,
        instance=named.instance,
        statistic=named.statistic or statistic,
        unit=unit,
        ignored=named.ignored,
    )


def recognise_id(query_id: str) -> NamedMetric:
    """Parse the Id of a query: `m_readiops`, `q1_read_iops`, `cpuutilization`."""
    named = _whole(query_id) or _whole(_QUERY_ID.sub("", query_id))
    return named or NamedMetric()


def _without_brackets(text: str) -> tuple[str, Statistic | None, str | None]:
    statistic: Statistic | None = None
    unit: str | None = None
    for inside in _BRACKETS.findall(text):
        if is_unit(inside):
            unit = inside
        else:
            statistic = statistic or statistic_of(inside)
    return _BRACKETS.sub(" ", text).strip(), statistic, unit


def _whole(text: str) -> NamedMetric | None:
    plain = _plain(text)
    if plain in _OURS:
        return NamedMetric(metric=_OURS[plain], is_ours=True)
    for prefix in ("", *_PREFIXES):
        if not plain.startswith(prefix):
            continue
        rest = plain.removeprefix(prefix)
        found = _known(rest)
        if found is not None:
            return found
        if (trimmed := _PERCENTILE_END.sub("", rest)) != rest and (found := _known(trimmed)):
            return NamedMetric(metric=found.metric, ignored=found.ignored, statistic=Statistic.OTHER)
        for end in _STATISTIC_ENDS:
            if rest.endswith(end):
                found = _known(rest.removesuffix(end))
                if found is not None:
                    return NamedMetric(metric=found.metric, ignored=found.ignored, statistic=statistic_of(end))
    return None


def _known(plain: str) -> NamedMetric | None:
    for name in (plain, *(plain.removesuffix(end) for end in _UNIT_ENDS if plain.endswith(end))):
        if name in _KNOWN:
            return NamedMetric(metric=_KNOWN[name])
        if (reason := _ignored(name)) is not None:
            return NamedMetric(ignored=reason)
    return None


def _ignored(plain: str) -> str | None:
    if plain.endswith("logvolume"):
        return LOG_VOLUME
    if plain.endswith(_LOCAL_ENDS) and not plain.endswith("freelocalstorage"):
        return LOCAL
    if plain in _UNUSED:
        return UNUSED
    if plain in _EC2_NAMES or plain.startswith(_EC2_STARTS):
        return EC2
    return None


def _among_parts(text: str) -> NamedMetric:
    parts = [p.strip("'\"") for p in _SEPARATORS.split(text)]
    if len(parts) == 1:
        parts = text.split(".")
    parts = [p for p in parts if p]
    if not 2 <= len(parts) <= 12:  # a label has a handful of words; more is prose
        return NamedMetric()
    found = [(index, named) for index, part in enumerate(parts) if (named := _whole(part))]
    if len(found) != 1:
        return NamedMetric()
    at, named = found[0]
    if named.metric is not None and any(_VOLUME.match(part) for part in parts):
        return NamedMetric(ignored=LOG_VOLUME)
    others = [p for index, p in enumerate(parts) if index != at and p.lower() not in _NOISE and not _REGION.match(p)]
    statistics = [s for p in others if (s := statistic_of(p)) is not None]
    names = [p for p in others if statistic_of(p) is None and _IDENTIFIER.match(p)]
    return NamedMetric(
        metric=named.metric,
        is_ours=named.is_ours,
        ignored=named.ignored,
        statistic=named.statistic or (statistics[0] if statistics else None),
        instance=names[0] if len(names) == 1 and len(names) + len(statistics) == len(others) else None,
    )
