"""``python -m xsent.cli``."""

import sys

from xsent.cli.main import main

sys.exit(main())
