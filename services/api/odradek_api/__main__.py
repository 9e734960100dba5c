"""`python -m odradek_api` runs the gateway with the settings of the environment."""

import os
import sys

from odradek.settings import Settings
from odradek_api.service import main

sys.exit(main(Settings.read(os.environ)))
