"""`plimsoll alarm`: print the alarms that would have warned you."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import INSTANCE, READ
from plimsoll.cli.output import OUTPUT_PANEL, check_writable, file_option, is_color, width_option, write_text
from plimsoll.cli.waiting import TERMINAL
from plimsoll.errors import UsageError
from plimsoll.model.alarm import AlarmSet
from plimsoll.model.shell import command_line


class AlarmForm(StrEnum):
    """How alarms are printed."""

    TEXT = "text"
    CLI = "cli"
    TERRAFORM = "terraform"
    CLOUDFORMATION = "cloudformation"
    PROMETHEUS = "prometheus"
    GRAFANA = "grafana"
    JSON = "json"


class AlarmExporter(StrEnum):
    """The exporter that brings CloudWatch metrics to Prometheus."""

    YACE = "yace"
    CLOUDWATCH = "cloudwatch"


_Form = Annotated[
    AlarmForm,
    typer.Option(
        "--format",
        metavar="FORM",
        help="Print text, cli, terraform, cloudformation, prometheus, grafana or json.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
_Action = Annotated[
    str | None,
    typer.Option(
        "--action",
        metavar="ARN",
        help="SNS topic to notify, in the CloudWatch forms (default: a variable to set).",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
_Exporter = Annotated[
    AlarmExporter | None,
    typer.Option(
        "--exporter",
        metavar="NAME",
        help="Use the names of yace or cloudwatch (cloudwatch_exporter): with --format prometheus (default: yace), "
        "or with --format grafana (default: none, the dashboard reads CloudWatch).",
        rich_help_panel=OUTPUT_PANEL,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command = expand(alarm, flags=INSTANCE, read_options=READ.without("counts"))
    app.command("alarm")(command)


def alarm(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="rds:NAME, prom:URL, a recorded snapshot, or a file or folder of exported metrics "
            "(default: the instance that --class and --storage describe).",
        ),
    ] = None,
    *,
    flags: InstanceOptions,
    read_options: ReadOptions,
    form: _Form = AlarmForm.TEXT,
    action: _Action = None,
    exporter: _Exporter = None,
    file: Annotated[Path | None, file_option("Write to this file instead of standard output.")] = None,
    width: Annotated[int | None, width_option()] = None,
) -> None:
    """
    Print the alarms that would have warned you: what to watch on this instance, and when each would have fired.

    Exit status: 0 printed, 2 bad input.
    """
    check_writable(file)
    _check_fit(form, action, exporter)
    from plimsoll.app.alarm import alarms_of

    found = alarms_of(target, flags, read_options, TERMINAL)
    if form is AlarmForm.TEXT:
        from plimsoll.reports.alarm.document import alarm_document
        from plimsoll.reports.document.text import document_text

        words = ["plimsoll", "alarm", *([target] if target else []), *_described(flags)]
        is_printed = file is None or str(file) == "-"
        text = document_text(alarm_document(found, command_line(words)), width=width, color=is_printed and is_color())
    else:
        text = _text(found, form, action, exporter)
    if file is None or str(file) == "-":
        typer.echo(text, nl=False)
    else:
        write_text(file, text, "alarms")


def _check_fit(form: AlarmForm, action: str | None, exporter: AlarmExporter | None) -> None:
    """
    Refuse an option that the form has no place for.

    Raises:
        UsageError: there is one.
    """
    notified = (AlarmForm.CLI, AlarmForm.TERRAFORM, AlarmForm.CLOUDFORMATION)
    if action is not None and form not in notified:
        raise UsageError(
            f"--action has no place in --format {form.value}", "Use it with --format cli, terraform or cloudformation."
        )
    if exporter is not None and form not in (AlarmForm.PROMETHEUS, AlarmForm.GRAFANA):
        raise UsageError(
            f"--exporter has no place in --format {form.value}", "Use it with --format prometheus or grafana."
        )


def _text(found: AlarmSet, form: AlarmForm, action: str | None, exporter: AlarmExporter | None) -> str:
    """Return alarms in a form that another program reads."""
    if form is AlarmForm.JSON:
        from plimsoll.app.render import render

        return render(found, "json")
    if form is AlarmForm.GRAFANA:
        from plimsoll.reports.alarm.grafana import grafana_dashboard

        return grafana_dashboard(found, None if exporter is None else exporter.value)
    if form is AlarmForm.PROMETHEUS:
        from plimsoll.reports.alarm.prometheus import prometheus_rules

        return prometheus_rules(found, (exporter or AlarmExporter.YACE).value)
    from plimsoll.reports.alarm import cloudwatch

    forms = {
        AlarmForm.CLI: cloudwatch.shell_commands,
        AlarmForm.TERRAFORM: cloudwatch.terraform,
        AlarmForm.CLOUDFORMATION: cloudwatch.cloudformation,
    }
    return forms[form](found, action)


def _described(flags: InstanceOptions) -> list[str]:
    """Return the options that describe the instance."""
    given = (
        ("--class", flags.db_class),
        ("--engine", flags.engine),
        ("--storage", flags.storage),
        ("--size-gib", flags.size_gib),
        ("--iops", flags.iops),
        ("--throughput-mibps", flags.throughput_mibps),
        ("--launched", flags.launched),
        ("--identifier", flags.identifier),
    )
    return [
        word
        for name, value in given
        if value is not None
        for word in (name, f"{value:g}" if isinstance(value, float) else str(value))
    ]
