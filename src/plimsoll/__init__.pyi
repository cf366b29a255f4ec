from plimsoll.app.budget import allowance as allowance
from plimsoll.app.budget import reserve_forecast as reserve_forecast
from plimsoll.app.library import compare as compare
from plimsoll.app.library import diagnose as diagnose
from plimsoll.app.library import inspect as inspect
from plimsoll.app.library import make_plan as make_plan
from plimsoll.app.library import read as read
from plimsoll.app.library import render as render
from plimsoll.app.library import write as write
from plimsoll.app.load import LoadRequest as LoadRequest
from plimsoll.app.load import load_files as load_files
from plimsoll.app.options import InstanceOptions as InstanceOptions
from plimsoll.app.options import ReadOptions as ReadOptions
from plimsoll.app.pace import open_pace as open_pace
from plimsoll.app.render import Report as Report
from plimsoll.errors import PlimsollError as PlimsollError
from plimsoll.load.copy.run import LoadStopped as LoadStopped
from plimsoll.load.copy.table import CopyOptions as CopyOptions
from plimsoll.load.pace.law.terms import PaceTerms as PaceTerms
from plimsoll.load.pace.pace import Pace as Pace
from plimsoll.model.plan import PlanConstraints as PlanConstraints

__version__: str
