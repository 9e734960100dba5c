"""`python -m odradek_parser`: one parser, configured by the environment."""

import os
import sys

from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
from odradek_parser.service import main

if __name__ == "__main__":
    settings = Settings.read(os.environ)
    configure_logs(settings, "parser")
    sys.exit(main(settings))
