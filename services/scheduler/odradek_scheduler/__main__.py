"""`python -m odradek_scheduler`: the service, with settings from the environment."""

import os
import sys

from odradek.settings import Settings
from odradek_scheduler.service import main

sys.exit(main(Settings.read(os.environ)))
