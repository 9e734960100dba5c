"""What a person sees of a crawl: a bar on a terminal, plain lines elsewhere, and the ledger at the end."""

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

PLAIN_EVERY_S = 5.0


class Presenter:
    """Speaks on standard error, so that standard output stays for `--json`; quiet, it tells only what happens."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: Any = None
        self._last_plain = 0.0

    def say(self, text: str) -> None:
        """One line."""
        self.console.print(text, markup=False, soft_wrap=True)

    def progress(self, standing: dict[str, Any]) -> None:
        """Show where the crawl stands."""
        if self._quiet:
            return
        done = sum(standing["skipped"].values()) + standing["failed"] + standing["pages"]
        total = standing.get("max_pages") or done + standing["pending"]
        if self.console.is_terminal:
            self._draw(standing, done, total)
        elif time.monotonic() - self._last_plain >= PLAIN_EVERY_S:
            self._last_plain = time.monotonic()
            self.say(
                f"{standing['pages']} pages, {standing['items']} items, {standing['failed']} failed, "
                f"{standing['pending']} pending, {standing['pages_per_s']} pages/s"
            )

    def _draw(self, standing: dict[str, Any], done: int, total: int) -> None:
        if self._bar is None:
            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._bar = Progress(*columns, console=self.console, transient=True)
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        text = f"{standing['pages_per_s']} pages/s, {standing['items']} items, {standing['failed']} failed"
        limiting = standing.get("limiting_reason")
        self._bar.update(
            self._task, completed=done, total=total or None, description=text + (f" ({limiting})" if limiting else "")
        )

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def summary(self, result: dict[str, Any], output: str | None) -> None:
        """The result with its ledger."""
        if self._quiet:
            return
        audit = result["audit"]
        table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        for name in ("job_id", "state", "pages", "items", "failed", "links_found", "duplicates"):
            table.add_row(name, str(result[name]))
        for name in ("skipped", "refused"):
            table.add_row(name, ", ".join(f"{reason} {n}" for reason, n in sorted(result[name].items())) or "0")
        ends = ("pending", "fetched", "not_modified", "redirected", "skipped", "failed")
        table.add_row("accepted", f"{audit['accepted']} = " + " + ".join(f"{audit[name]} {name}" for name in ends))
        table.add_row(
            "links found",
            f"{audit['links_found']} = {audit['accepted']} accepted + {audit['duplicates']} duplicates + "
            f"{audit['refused']} refused",
        )
        table.add_row("balanced", "yes, both counts agree" if audit["balanced"] else "NO")
        table.add_row("took", f"{result['duration_s']} s after {result['startup_s']} s of starting")
        self.console.print(table)
        if output is not None:
            self.say(f"items are in {output}")
        sys.stderr.flush()
