"""Write the reference documents below the current folder, or, with --check, name those that are stale."""

import argparse
import sys
from pathlib import Path

from odradek.reference import documents


def main() -> int:
    """Exit code 1 when --check finds a document that differs."""
    parser = argparse.ArgumentParser(prog="python -m odradek.reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    stale = {path: text for path, text in documents().items() if _read(Path(path)) != text}
    for path, text in stale.items():
        if check:
            sys.stderr.write(f"{path} is stale; run make docs\n")
        else:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path} written\n")
    return 1 if check and stale else 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
