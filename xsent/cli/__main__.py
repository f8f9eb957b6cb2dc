"""``python -m xsent.cli`` is the command ``xsent``."""

import sys

from xsent.cli import main

sys.exit(main())
