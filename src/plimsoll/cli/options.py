"""Groups of options that commands share."""

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.option_groups import OptionGroup

INSTANCE = OptionGroup(InstanceOptions)
"""Options that describe the instance behind a target."""

BOUGHT = INSTANCE.without("identifier", "instance_file")
"""Class, engine, storage and launch date, of an instance that need not exist."""

READ = OptionGroup(ReadOptions)
"""Window of a target, and access to it."""

ACCESS = READ.without("last", "since", "until", "counts")
"""Access to a target, whose window the command chooses."""
