"""What an alert is about: one rule for one ceiling of one instance, under a key that never changes."""

from hashlib import sha256

from msgspec import Struct

# A judgement: 64 bits. Of a million episodes, two share a key with a chance below 1 in 10 million.
_KEY_DIGITS = 16


class AlertSubject(Struct, frozen=True, kw_only=True, order=True):
    """One rule for one ceiling of one instance; it has one state at a time."""

    account: str
    """As configured; empty where the source has no accounts."""
    region: str
    """Empty where the source has no regions."""
    instance: str
    rule: str
    """Name of the rule as the configuration has it: `balance-empty`."""
    ceiling: str = ""
    """Machine name of the ceiling: `instance_ebs_throughput`; empty where the rule is not about one."""


def instance_key(account: str, region: str, name: str) -> str:
    """Return the key of an instance in addresses of the page; equal after every restart."""
    return sha256(f"{account}\x1f{region}\x1f{name}".encode()).hexdigest()[:_KEY_DIGITS]


def episode_key(subject: AlertSubject, since_s: int) -> str:
    """
    Return the key of the episode of a subject that began at a moment; equal after every restart.

    Args:
        subject: what the alert is about.
        since_s: start of the episode, epoch seconds.
    """
    parts = (subject.account, subject.region, subject.instance, subject.rule, subject.ceiling, str(since_s))
    # The unit separator occurs in no name, so that no two lists of parts give the same text.
    return sha256("\x1f".join(parts).encode()).hexdigest()[:_KEY_DIGITS]
