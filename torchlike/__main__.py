"""``python -m torchlike``."""

import sys

from torchlike.cli import main

sys.exit(main())
