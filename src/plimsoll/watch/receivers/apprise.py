"""
Send messages to the services that the Apprise library knows, more than 150 of them. Needs the extra `notify`.

Their addresses contain secrets, so Apprise's own log is switched off: it may contain parts of an address. Apprise does
not say why a service failed, so every failure is tried again.
"""

import logging
from typing import Any

from plimsoll.errors import ExtraMissing, SourceError, UsageError
from plimsoll.watch.law.message import Message
from plimsoll.watch.receivers.secret import Secret
from plimsoll.watch.receivers.wording import headline, text_of

_KINDS = {"critical": "failure", "warning": "warning", "note": "info"}

# A judgement: as for other receivers, a whole delivery takes at most 30 s.
_DELIVERY_S = 30.0


class AppriseReceiver:
    """Sends each message as plain text, with the picture where a service takes one."""

    repeat_s = 0
    repeat_resolved_s = 0

    def __init__(self, name: str, url: Secret) -> None:
        """
        Prepare; nothing is sent yet.

        Args:
            name: of the receiver.
            url: address in the form of Apprise, for example of Microsoft Teams or Telegram.

        Raises:
            ExtraMissing: Apprise is not installed.
            UsageError: Apprise does not know the address.
        """
        self.name = name
        self._services = _services(name, url)

    def send(self, message: Message, earlier: str) -> str:  # noqa: ARG002 - no service updates a message
        """Deliver a message, and return its identifier."""
        from apprise.attachment.memory import AttachMemory

        name = f"timeline-{message.key}-{message.number}.png"
        attached = (
            [AttachMemory(content=message.picture_png, name=name, mimetype="image/png")]
            if message.picture_png
            else None
        )
        is_delivered = self._services.notify(
            title=headline(message),
            body=text_of(message).partition("\n\n")[2],
            notify_type="success" if message.is_resolved else _KINDS[message.severity],
            body_format="text",
            attach=attached,
            interpret_escapes=False,
        )
        if not is_delivered:
            raise SourceError(
                f"receiver '{self.name}': Apprise could not deliver the message",
                "Try the address with the command apprise, which prints the reason.",
            )
        return f"{message.key}-{message.number}"


def _services(name: str, url: Secret) -> Any:
    try:
        from apprise import Apprise, AppriseAsset, OverflowMode, PersistentStoreMode
    except ImportError:
        raise ExtraMissing.naming(f"receiver '{name}' of the kind 'apprise'", "notify") from None
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    services = Apprise(
        asset=AppriseAsset(
            app_id="Plimsoll",
            # Nothing is kept on disk, nothing in a text is replaced, and messages go where they were sent.
            storage_mode=PersistentStoreMode.MEMORY,
            allow_templates=False,
            http_redirects=False,
            async_mode=False,
            service_timeout=_DELIVERY_S,
        )
    )
    if not services.add(url.reveal()) or len(services) != 1:
        raise UsageError(
            f"receiver '{name}': Apprise does not know the address",
            "Compare it with Apprise's description of the service.",
        )
    if "overflow=" not in url.reveal():
        # A message that is too long for a service is cut, not refused.
        services[0].overflow_mode = OverflowMode.TRUNCATE
    return services
