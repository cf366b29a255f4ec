"""Load files or S3 objects into a table at the pace of the allowance."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.options import InstanceOptions, PaceTarget, ReadOptions
from plimsoll.app.progress import SILENT, Progress
from plimsoll.errors import UsageError
from plimsoll.load.copy.commits import CommitWatch
from plimsoll.load.copy.inputs import S3, Input, LocalFile, S3Object
from plimsoll.load.copy.run import LoadProgress, LoadRun
from plimsoll.load.copy.table import CopyOptions
from plimsoll.load.pace.law.commits import check_slower_ratio
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.pace import Pace
from plimsoll.model.instance import Instance


class LoadRequest(Struct, frozen=True, kw_only=True):
    """What to load, where to, and by which metrics."""

    files: tuple[str, ...]
    """Paths, or `s3://BUCKET/KEY`."""
    table: str
    dsn: str
    copy: CopyOptions
    target: str | None = None
    """`rds:NAME` or `prom:URL`; None goes by the limits of `instance` alone, without metrics."""
    instance: InstanceOptions = InstanceOptions()
    read_options: ReadOptions = ReadOptions()
    terms: PaceTerms = PaceTerms()
    workers_max: int = 8
    is_truncated_first: bool = False
    """Whether the table is emptied before, and what was loaded into it forgotten."""
    commit_latency_ratio: float | None = None
    """How many times as long commits of others may take, from 1.05; None does not watch them."""


Watch = Callable[[Pace, Callable[[], LoadProgress]], None]
"""Is told once, before the first byte, what to show."""


def load_files(
    request: LoadRequest, *, watch: Watch | None = None, progress: Progress = SILENT, stop: Event | None = None
) -> LoadProgress:
    """
    Load everything that is not loaded yet, and return what was done.

    Args:
        request: what to load, and where to.
        watch: is told once, before the first byte, what to show.
        progress: shown while metrics are read.
        stop: ends the load from another thread when it is set; chunks that are not committed are rolled back.

    Raises:
        LoadStopped: `stop` was set before everything was loaded; what was loaded stays.
        UsageError: a file, a table or a column is not there, or no storage limit is known.
        DataError: the server refuses a row, or a file is damaged; what was loaded stays.
        SourceError: the server, S3 or the account refuses, or does not answer; what was loaded stays.
    """
    inputs = inputs_of(request.files, request.read_options)
    pace = _pace_of(request, progress)
    run = LoadRun(
        inputs,
        request.table,
        dsn=request.dsn,
        options=request.copy,
        pace=pace,
        workers_max=request.workers_max,
        stop=stop,
        is_truncated_first=request.is_truncated_first,
    )
    ratio = None if request.commit_latency_ratio is None else check_slower_ratio(request.commit_latency_ratio)
    commits = None if ratio is None else CommitWatch(request.dsn, pace, ratio)
    with ExitStack() as stack:
        stack.enter_context(pace)
        run.find()
        if commits is not None:
            with progress.waiting(lambda: "commits before the load are measured"):
                stack.enter_context(commits)
        if watch is not None:
            watch(pace, run.progress)
        done = run.run()
        return done if commits is None else replace(done, commits=commits.seen())


def inputs_of(files: Sequence[str], read_options: ReadOptions) -> tuple[Input, ...]:
    """
    Return the files in order, each looked at.

    Raises:
        UsageError: one is not there, or is named twice.
        SourceError: S3 refuses, or does not answer.
    """
    client = None
    found: list[Input] = []
    for name in files:
        if name.startswith(S3):
            client = client or _s3_client(read_options)
            found.append(S3Object(name, client))
        else:
            found.append(LocalFile(Path(name)))
    by_content: dict[str, str] = {}
    for one in found:
        # Part files may be empty.
        if one.size_bytes and one.identity in by_content:
            raise UsageError(
                f"'{by_content[one.identity]}' and '{one.name}' have the same content",
                "Name it once: the ledger would take it for loaded.",
            )
        by_content[one.identity] = one.name
    return tuple(found)


def _s3_client(read_options: ReadOptions) -> object:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    from plimsoll.sources.aws.role import assume_role
    from plimsoll.sources.files.bounded_session import BoundedSession

    # Reads that stop are taken up again by the input itself.
    config = Config(retries={"mode": "standard"}, connect_timeout=5, read_timeout=30)
    try:
        core = BoundedSession(profile=read_options.profile)
        session = boto3.Session(botocore_session=core, region_name=read_options.region)
        if read_options.role_arn is not None:
            assume_role(core, read_options.role_arn, session.region_name or "us-east-1")
        return session.client("s3", config=config)
    except BotoCoreError as error:
        raise UsageError(
            f"unable to use the AWS configuration: {type(error).__name__}", "Check --profile and --region."
        ) from error


def _pace_of(request: LoadRequest, progress: Progress) -> Pace:
    from plimsoll.app.instance import with_flags
    from plimsoll.app.pace import named_pace, pace_by_limits

    if request.target is not None:
        target = PaceTarget(
            target=request.target, instance=request.instance, read_options=request.read_options, dsn=request.dsn
        )
        return named_pace(target, request.terms, progress)[0]
    if request.instance.db_class is None and request.instance.storage is None:
        raise UsageError(
            "there is nothing to pace by", "Give --target rds:NAME, or at least --class, --storage and --size-gib."
        )
    instance = with_flags(Instance(engine="postgres"), request.instance)
    return pace_by_limits(instance, request.terms, request.dsn)
