"""``python -m torchlike``: the same as the command ``torchlike``."""

import sys

from torchlike.cli import main

sys.exit(main())
