#!/opt/odradek/bin/python -IS
"""Exit code 0 when the service in this container is ready; otherwise it says what it waits for."""

import os
import sys
from http.client import OK, HTTPConnection

connection = HTTPConnection("127.0.0.1", int(os.environ.get("ODRADEK_METRICS_PORT") or 9100), timeout=3)
try:
    connection.request("GET", "/health/ready")
    answer = connection.getresponse()
    said = answer.read(2000).decode(errors="replace")
except OSError as error:
    sys.exit(f"no answer: {error}")
if answer.status != OK:
    sys.exit(said)
sys.stdout.write(said)
