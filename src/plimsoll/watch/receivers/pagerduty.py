"""
Open and resolve alerts at PagerDuty, by Events API v2.

All messages of an episode have its key as `dedup_key`, so PagerDuty keeps one alert and merges repetitions.

Source: PagerDuty's Events API v2: summary 1,024 characters, dedup_key 255, event 512 KB; 202 on success.
"""

from typing import Any

import msgspec

from plimsoll.watch.law.message import Message, WatchState
from plimsoll.watch.receivers.secret import Secret
from plimsoll.watch.receivers.web import WebReceiver
from plimsoll.watch.receivers.wording import (
    NAME_LENGTH_MAX,
    headline,
    links_of,
    moment,
    one_line,
    safe_link,
    sentences,
    timestamp,
    where,
)

_SUMMARY_LENGTH_MAX = 1_024  # PagerDuty's limit

# PagerDuty's words for the severities; it also has "error", between critical and warning.
_SEVERITIES = {"critical": "critical", "warning": "warning", "note": "info"}

SERVICES = {"us": "https://events.pagerduty.com/v2/enqueue", "eu": "https://events.eu.pagerduty.com/v2/enqueue"}
"""Address of the API for each service region of PagerDuty."""


class PagerDuty:
    """Triggers an alert for each episode, updates it, and resolves it."""

    repeat_s = 0
    repeat_resolved_s = 0

    def __init__(self, name: str, routing_key: Secret, *, url: str = SERVICES["us"]) -> None:
        """Prepare; `routing_key` is the integration key of a service or an orchestration."""
        self.name = name
        self._routing_key = routing_key
        self._url = url
        self._web = WebReceiver(name, [routing_key])

    def send(self, message: Message, earlier: str) -> str:
        """Deliver a message, and return the severity of the open alert."""
        severity = _SEVERITIES[message.severity]
        if earlier and message.state is WatchState.UNKNOWN:
            # An open alert does not become less severe because nothing is known of it any more.
            severity = earlier
        event = event_of(message, severity) | {"routing_key": self._routing_key.reveal()}
        headers = {"Content-Type": "application/json"}
        self._web.delivered(self._web.post(self._url, msgspec.json.encode(event), headers))
        return severity


def event_of(message: Message, severity: str) -> dict[str, Any]:
    """Return the event of a message, without the routing key."""
    links = [{"href": url, "text": name} for name, url in links_of(message)]
    event: dict[str, Any] = {
        "event_action": "resolve" if message.is_resolved else "trigger",
        "dedup_key": message.key,
        "client": "Plimsoll",
        "links": links,
        "payload": {
            "summary": one_line(f"{headline(message)}. {message.title}", _SUMMARY_LENGTH_MAX),
            "source": one_line(message.instance, NAME_LENGTH_MAX) or "unnamed instance",
            "severity": severity,
            "timestamp": timestamp(message.at_s),
            "component": one_line(message.ceiling, NAME_LENGTH_MAX),
            "group": where(message),
            "class": one_line(message.rule, NAME_LENGTH_MAX),
            "custom_details": {
                "state": message.state.value,
                "facts": sentences(message.facts),
                "what to do first": sentences(message.advice),
                "open since": moment(message.since_s),
                "data until": moment(message.at_s),
                "simulated data": message.is_simulated,
                "message": message.number,
            },
        },
    }
    if link := safe_link(message.link):
        event["client_url"] = link
    return event
