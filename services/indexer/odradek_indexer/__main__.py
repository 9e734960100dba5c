"""`python -m odradek_indexer`: the indexer with the engines that the environment names."""

import os
import sys

from odradek.runtime.logs import configure_logs
from odradek.settings import Settings
from odradek_indexer.consuming import SERVICE
from odradek_indexer.service import main

if __name__ == "__main__":
    settings = Settings.read(os.environ)
    configure_logs(settings, SERVICE)
    sys.exit(main(settings))
