"""`python -m odradek_api`: one gateway, configured by the environment."""

import os
import sys

from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
from odradek_api.service import main

if __name__ == "__main__":
    settings = Settings.read(os.environ)
    configure_logs(settings, "api")
    sys.exit(main(settings))
