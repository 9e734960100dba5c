"""Give Kibana its data view, searches and dashboard: load.py ADDRESS. Without an address the file is printed."""

import json
import sys

import httpx
from objects import VIEW, ndjson

ANSWER_S = 120
HEADERS = {"kbn-xsrf": "odradek"}


def main() -> None:
    """Import, replace what is there, and show the data view first."""
    if len(sys.argv) < 2:  # noqa: PLR2004  (program and address)
        sys.stdout.write(ndjson())
        return
    with httpx.Client(base_url=sys.argv[1], headers=HEADERS, timeout=ANSWER_S, trust_env=False) as kibana:
        answer = kibana.post(
            "/api/saved_objects/_import",
            params={"overwrite": "true"},
            files={"file": ("odradek.ndjson", ndjson().encode(), "application/ndjson")},
        )
        said = answer.json() if answer.headers.get("content-type", "").startswith("application/json") else {}
        if answer.status_code >= httpx.codes.BAD_REQUEST or not said.get("success"):
            sys.exit(f"Kibana has refused the objects ({answer.status_code}): {json.dumps(said)[:2000]}")
        kibana.post("/api/data_views/default", json={"data_view_id": VIEW, "force": False})
        sys.stdout.write(f"{said['successCount']} objects are in Kibana\n")


if __name__ == "__main__":
    main()
