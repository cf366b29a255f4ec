"""A real Alertmanager that tells a recorder of every alert, at once."""

from fixtures.receivers.doubles import Recorder
from plimsoll_lab.servers.prometheus import Alertmanager


def alertmanager_for(told: Recorder) -> Alertmanager:
    """Each alert by itself, without waiting for others of its group."""
    route = {
        "receiver": "here",
        "group_by": ["..."],
        "group_wait": "0s",
        "group_interval": "1s",
        "repeat_interval": "1h",
    }
    receivers = [{"name": "here", "webhook_configs": [{"url": told.url}]}]
    return Alertmanager({"route": route, "receivers": receivers})
