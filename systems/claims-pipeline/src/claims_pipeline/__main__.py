"""Run the command as `python -m claims_pipeline`."""

import sys

from claims_pipeline.command import main

sys.exit(main())
