"""The name by which commands of the laboratory know `Observing`."""

from plimsoll.app.observing import Observing

Watching = Observing
