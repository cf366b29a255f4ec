"""`plimsoll alarm`: print the alarms that would have warned you."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import InstanceOptions, Option, ReadOptions
from plimsoll.app.targets import Target, target_of
from plimsoll.cli.option_groups import OptionGroup, expand, typed
from plimsoll.cli.options import READ
from plimsoll.cli.output import OUTPUT_PANEL, Output, check_writable
from plimsoll.cli.progress import TERMINAL
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


class AlarmOutput(Output, frozen=True, kw_only=True):
    """Where alarms go, and in which form."""

    format_given: Annotated[AlarmForm, Option("--format FORM", OUTPUT_PANEL)] = AlarmForm.TEXT  # type: ignore[assignment]
    """Print text, cli, terraform, cloudformation, prometheus, grafana or json."""
    file: Annotated[Path | None, Option("-o --output FILE", OUTPUT_PANEL)] = None
    """Write to this file instead of standard output."""
    action: Annotated[str | None, Option("--action ARN", OUTPUT_PANEL)] = None
    """SNS topic to notify, in the CloudWatch forms (default: a variable to set)."""
    exporter: Annotated[AlarmExporter | None, Option("--exporter NAME", OUTPUT_PANEL)] = None
    """
    Use the names of yace or cloudwatch (cloudwatch_exporter): with --format prometheus (default: yace), or with
    --format grafana (default: none, the dashboard reads CloudWatch).
    """

    def check(self) -> None:
        """
        Refuse a file that cannot be written, and an option that the form has no place for.

        Raises:
            UsageError: there is one.
        """
        check_writable(self.file)
        form = self.format_given
        notified = (AlarmForm.CLI, AlarmForm.TERRAFORM, AlarmForm.CLOUDFORMATION)
        if self.action is not None and form not in notified:
            raise UsageError(
                f"--action has no place in --format {form.value}",
                "Use it with --format cli, terraform or cloudformation.",
            )
        if self.exporter is not None and form not in (AlarmForm.PROMETHEUS, AlarmForm.GRAFANA):
            raise UsageError(
                f"--exporter has no place in --format {form.value}", "Use it with --format prometheus or grafana."
            )


class AlarmOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    target: Annotated[Target | None, Option("[TARGET]", parse=target_of)] = None
    """
    rds:NAME, prom:URL, a recorded snapshot, or a file or folder of exported metrics (default: the instance that
    --class and --storage describe).
    """
    instance: InstanceOptions
    read: Annotated[ReadOptions, READ.without("counts")]
    output: Annotated[AlarmOutput, OptionGroup(AlarmOutput).without("html", "is_brief")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("alarm")(expand(alarm))


def alarm(options: AlarmOptions) -> None:
    """
    Print the alarms that would have warned you: what to watch on this instance, and when each would have fired.

    Exit status: 0 printed, 2 bad input.
    """
    from plimsoll.app.alarm import alarms_of

    target, output = options.target, options.output
    found = alarms_of(target, options.instance, options.read, TERMINAL)
    if output.format_given is AlarmForm.TEXT:
        from plimsoll.reports.alarm.document import alarm_document
        from plimsoll.reports.document.text import document_text

        words = ["plimsoll", "alarm", *([str(target)] if target else []), *typed(options.instance)]
        text = document_text(alarm_document(found, command_line(words)), width=output.width, color=output.has_color)
    else:
        text = _text(found, output.format_given, output.action, output.exporter)
    output.emit(text, "alarms")


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
