"""Run the command as `python -m search_service`."""

import sys

from search_service.cli import main

sys.exit(main())
