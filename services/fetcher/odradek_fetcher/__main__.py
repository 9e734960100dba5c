"""`python -m odradek_fetcher`: the same as `odradek service fetcher`."""

import os
import sys

from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
from odradek_fetcher.service import main

if __name__ == "__main__":
    settings = Settings.read(os.environ)
    configure_logs(settings, "fetcher")
    sys.exit(main(settings))
