"""`python -m tests.drill --faults 100 --seed 1`: fault drills on embedded engines, with a report.

Exit code 0 if nothing was lost, stored twice or left unexplained. A failure is repeated by its seed; one kind of fault
is tried by `--only broker`. The state of the disk can be made full only where this may mount a file system.
"""

import argparse
import asyncio
import json
import logging
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.drill.plan import CATALOGUE, plan, rounds
from tests.drill.report import Report, markdown
from tests.drill.running import Surroundings, run
from tests.drill.stack import SmallDisk

ENGINES = "two of every service on Apache Kafka ({brokers}), SecantusDB and noida-db, four partitions"
BROKERS = {1: "one broker", 3: "three brokers, three replicas of everything"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which drill."""

    faults: int
    seed: int
    in_round: int = 5
    """Faults in one crawl."""
    delay_ms: int = 300
    only: tuple[str, ...] = ()
    """Kinds of faults; empty: all."""
    brokers: int = 1

    @property
    def command(self) -> str:
        """Does it again."""
        said = f"python -m tests.drill --faults {self.faults} --seed {self.seed} --in-round {self.in_round}"
        said += f" --delay-ms {self.delay_ms}"
        said += f" --brokers {self.brokers}" if self.brokers > 1 else ""
        return said + (f" --only {shlex.join(self.only)}" if self.only else "")


def drill(folder: Path, order: Order, keep: Callable[[Report], None] = lambda _: None) -> Report:
    """One drill in this folder; its report, which is given to `keep` as far as it is after each fault."""
    disk, cannot = None, {}
    try:
        disk = SmallDisk(folder / "state")
    except OSError as error:
        cannot["disk_full"] = str(error)
    planned = rounds(plan(order.seed, order.faults, without=tuple(cannot), only=order.only), order.in_round)
    report = Report(
        command=order.command,
        seed=order.seed,
        engines=ENGINES.format(brokers=BROKERS[order.brokers]),
        load="",
        not_possible=cannot,
    )
    try:
        around = Surroundings(
            folder=folder, delay_ms=order.delay_ms, disk=disk, brokers=order.brokers, say=_say, keep=keep
        )
        asyncio.run(run(around, planned, report))
    except asyncio.CancelledError:
        report.broken_off = "it was told to end"
    except Exception:  # noqa: BLE001  (what came before is worth its report)
        report.broken_off = traceback.format_exc()
        _say(report.broken_off)
    finally:
        if disk is not None:
            disk.close()
    if not planned:
        report.broken_off = "there was no fault to inject"
    keep(report)
    return report


def _kept(path: Path, report: Report) -> None:
    path.with_suffix(".json").write_text(json.dumps(report.to_json(), indent=1, default=str) + "\n")
    path.with_suffix(".md").write_text(markdown(report))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201  (what is going on, for who waits)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-round", type=int, default=5, help="faults in one crawl")
    parser.add_argument("--delay-ms", type=int, default=300, help="between two requests to one of twenty hosts")
    kinds = list(dict.fromkeys(kind for kind, _ in CATALOGUE))
    parser.add_argument("--only", nargs="+", default=(), choices=kinds, help="kinds of faults")
    parser.add_argument("--brokers", type=int, choices=BROKERS, default=1)
    parser.add_argument("--report", type=Path, help="write REPORT.md and REPORT.json, also while it goes on")
    parser.add_argument("--keep", type=Path, help="folder of state and logs, kept")
    given = parser.parse_args()
    logging.getLogger("librdkafka").setLevel(logging.CRITICAL)  # brokers that are away are what this is about
    order = Order(
        faults=given.faults, seed=given.seed, in_round=given.in_round, delay_ms=given.delay_ms,
        only=tuple(given.only), brokers=given.brokers,
    )  # fmt: skip
    keep = partial(_kept, given.report) if given.report else lambda _: None
    with tempfile.TemporaryDirectory(prefix="odradek-drill-") as temporary:
        report = drill(given.keep or Path(temporary), order, keep)
    print(json.dumps(report.totals()))  # noqa: T201  (the result)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
