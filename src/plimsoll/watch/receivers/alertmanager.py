"""
Keep alerts at Prometheus Alertmanagers.

An alert is identified by its labels, so repetitions merge. Alertmanager itself decides who hears of it, and when
again. An open alert has no end: it is open for `resolve_timeout` after it was last sent, by the clock of Alertmanager,
so a wrong clock on this machine resolves nothing. Therefore the alert is sent every minute, and for five minutes after
its end, like Prometheus does.

If the severity changes, the labels change: the alert with the old severity ends in the same request.

Source: Alertmanager's API v2 (openapi.yaml): postableAlerts.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from plimsoll.errors import SourceError
from plimsoll.watch.law.message import Message, WatchState
from plimsoll.watch.receivers.receiver import RefusedError
from plimsoll.watch.receivers.secret import Secret
from plimsoll.watch.receivers.web import WebReceiver
from plimsoll.watch.receivers.wording import (
    NAME_LENGTH_MAX,
    SENTENCE_LENGTH_MAX,
    SIMULATED,
    one_line,
    safe_link,
    sentences,
    timestamp,
)

# Prometheus's words for the severities.
_SEVERITIES = {"critical": "critical", "warning": "warning", "note": "info"}


class AlertmanagerReceiver:
    """Sends each alert to all Alertmanagers of a cluster; one that accepts it is enough."""

    repeat_s = 60
    """Prometheus's --rules.alert.resend-delay."""
    repeat_resolved_s = 300
    """A judgement: an Alertmanager that restarts is back within five minutes."""

    def __init__(
        self,
        name: str,
        urls: Sequence[str],
        *,
        authorization: Secret | None = None,
        labels: dict[str, str] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        Prepare; nothing is sent yet.

        Args:
            name: of the receiver.
            urls: addresses of all members of the cluster, without `/api/v2`.
            authorization: value of the header Authorization; None for none.
            labels: further labels of every alert.
            now: epoch seconds; no alert ends later than that.
        """
        self.name = name
        self._urls = [url.rstrip("/") for url in urls]
        self._authorization = authorization
        self._labels = labels or {}
        self._now = now
        self._web = WebReceiver(name, [authorization] if authorization else [])

    def send(self, message: Message, earlier: str) -> str:
        """Deliver a message, and return the severity of the open alert."""
        severity = _SEVERITIES[message.severity]
        if earlier and (message.is_resolved or message.state is WatchState.UNKNOWN):
            # What is open stays the same alert, whatever severity its end or a gap has.
            severity = earlier
        alerts = [self._alert(message, severity, is_ended=message.is_resolved)]
        if earlier and earlier != severity:
            ended = self._alert(message, earlier, is_ended=True)
            # Otherwise its end reads as if the limit were no longer reached.
            summary = f"Goes on as {severity}: {ended['annotations']['summary']}"
            ended["annotations"]["summary"] = summary
            alerts.append(ended)
        self._post(msgspec.json.encode(alerts))
        return severity

    def _alert(self, message: Message, severity: str, *, is_ended: bool) -> dict[str, Any]:
        # Neither time may be in the future, where a wrong clock or simulated data could put it.
        ends_s = min(message.at_s, int(self._now()))
        alert: dict[str, Any] = {
            "labels": self._labels | labels_of(message, severity),
            "annotations": annotations_of(message),
            "startsAt": timestamp(min(message.since_s, ends_s)),
        }
        if is_ended:
            alert["endsAt"] = timestamp(ends_s)
        if link := safe_link(message.link):
            alert["generatorURL"] = link
        return alert

    def _post(self, content: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        if self._authorization is not None:
            headers["Authorization"] = self._authorization.reveal()
        failures: list[SourceError] = []
        for url in self._urls:
            try:
                self._web.delivered(self._web.post(f"{url}/api/v2/alerts", content, headers))
            except SourceError as error:
                failures.append(error)
        if len(failures) == len(self._urls):
            # One that may accept it later counts more than one that never will.
            raise min(failures, key=lambda error: isinstance(error, RefusedError))


def labels_of(message: Message, severity: str) -> dict[str, str]:
    """Return the labels that identify an alert; those of the instance have the names of Qonto's exporter."""
    found = {
        "alertname": alert_name(message.rule),
        "severity": severity,
        "aws_account_id": one_line(message.account, NAME_LENGTH_MAX),
        "aws_region": one_line(message.region, NAME_LENGTH_MAX),
        "dbidentifier": one_line(message.instance, NAME_LENGTH_MAX),
        "ceiling": one_line(message.ceiling, NAME_LENGTH_MAX),
        "episode": message.key,
        "simulated": "true" if message.is_simulated else "",
    }
    # To Prometheus, an empty label and none are the same; Alertmanager refuses some empty ones.
    return {name: value for name, value in found.items() if value}


def alert_name(rule: str) -> str:
    """Return the name of a rule's alert in Prometheus's form: `PlimsollBalanceEmpty`."""
    words = re.findall(r"[A-Za-z0-9]+", rule)
    return one_line("Plimsoll" + "".join(map(str.capitalize, words)), NAME_LENGTH_MAX)


def annotations_of(message: Message) -> dict[str, str]:
    """Return what people read; it may change while the alert stays the same."""
    title = one_line(message.title, SENTENCE_LENGTH_MAX)
    found = {
        "summary": f"{title} ({SIMULATED})" if message.is_simulated else title,
        "description": "\n".join(sentences(message.facts)),
        "advice": "\n".join(f"{number}. {step}" for number, step in enumerate(sentences(message.advice), 1)),
        "state": message.state.value,
        "data_until": timestamp(message.at_s),
        "runbook_url": safe_link(message.runbook),
    }
    return {name: value for name, value in found.items() if value}
