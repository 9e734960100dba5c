"""The real gateway over fakes that hold a plausible crawl: for looking at the console and for tests of its views.

python -m tests.e2e.console.staged --port 8077
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.component.api.fakes import World, a_letter, an_item
from tests.e2e.console.staged_runs import DAILY, recurring
from tests.e2e.console.staged_store import JOB, StagedStore, an_event, matches

from odradek.clock import now_ms
from odradek.contracts import Counters, HostReport, JobRecord, Progress, Question, Reached, Recount
from odradek.stores import Document

HOSTILE_TITLE = """"><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>"""
HOSTILE_URL = "javascript:document.title='owned'"
REASONS = {"http_404": 5200, "timeout_read": 640, "dns": 120, "http_503": 88, "soft_blocked": 31}
SKIPPED = {"robots": 811, "content_type": 94}
REFUSED = {"scope": 20_114, "extension": 3020, "nofollow": 412}


def a_ledger(scale: float = 1.0, *, pending: int = 4000, failed: dict[str, int] | None = None) -> Counters:
    """A ledger in balance."""
    failed = REASONS if failed is None else failed
    fetched, redirected = round(41_200 * scale), round(1800 * scale)
    skipped, refused = sum(SKIPPED.values()), sum(REFUSED.values())
    accepted = fetched + redirected + 900 + skipped + sum(failed.values()) + pending
    return Counters(
        accepted=accepted,
        fetched=fetched,
        not_modified=900,
        redirected=redirected,
        skipped=skipped,
        failed=sum(failed.values()),
        pending=pending,
        links_found=accepted + 301_555 + refused,
        duplicates=301_555,
        refused=refused,
        kept=fetched - 300,
        items=fetched * 11,
        retries=412,
        reasons={"failed": failed, "skipped": SKIPPED, "refused": REFUSED},
    )


def a_recount(ledger: Counters, offset: int = 1) -> Recount:
    """The second count, agreeing."""
    names = [name for name in Recount.__struct_fields__ if name not in ("offset", "at_ms")]
    return Recount(offset=offset, **{name: getattr(ledger, name) for name in names})


@dataclass
class Stage:
    """A world with jobs in it; `tick` moves the running one on."""

    world: World = field(default_factory=World)
    ticks: int = 0

    def __post_init__(self) -> None:
        self.world.store = StagedStore()
        self.world.owners.bodies = self.answer
        self.failures = dict(REASONS)

    def furnish(self) -> "Stage":
        """A crawl under way, some that are over, hosts, events, items and dead letters."""
        now = now_ms()
        self.a_job(JOB, "books", now - 12 * 60_000, a_ledger(), max_pages=60_000)
        self.a_job("docs-77aa01bc", "docs", now - 3_600_000, a_ledger(0.1, pending=0, failed={}), state="complete")
        self.a_job(
            "news-0b1c2d3e", "news", now - 7_200_000, a_ledger(0.02, pending=2200, failed={"dns": 3}), wanted="paused"
        )
        self.a_job(
            "shop-93fe10aa", None, now - 86_400_000, a_ledger(0.4, pending=0, failed={"http_404": 41}), state="complete"
        )
        forum = a_ledger(0.01, pending=0, failed={"soft_blocked": 380})
        self.a_job("forum-5d2a9c11", HOSTILE_TITLE, now - 2 * 86_400_000, forum, wanted="cancelled")
        self.recurring(now)
        self.hosts(now)
        self.world.store.logs = [an_event(number, now - number * 900) for number in range(3000)]
        self.world.store.logs.insert(
            2, an_event(99_999, now - 1500) | {"message": HOSTILE_TITLE, "url": {"full": HOSTILE_URL, "domain": "x"}}
        )
        for number in range(240):
            data = {
                "sku": f"B{number:05}",
                "title": f"The Cares of a Family Man, vol. {number}",
                "price": "12.50",
                "tags": ["prose", "short"],
            }
            self.world.store.items[f"{JOB}:{number:04}"] = an_item(JOB, number, data=data)
        self.world.store.items[f"{JOB}:0000"]["data"]["title"] = HOSTILE_TITLE
        self.letters()
        self.world.store.answers = self.search
        return self

    def recurring(self, now: int, *, under_way: bool = True) -> None:
        """The job with a schedule, in a run or between two."""
        ledger = a_ledger(0.8, pending=3600 if under_way else 0, failed={"http_404": 100})
        record, report = recurring(now, ledger, under_way=under_way)
        self.world.jobs.values[DAILY] = record
        self.world.progress.values[f"{DAILY}:0"] = report
        if not under_way:
            self.world.progress.values[DAILY] = Reached(job=DAILY, state="complete", epoch=1, run=7, at_ms=now)

    def hosts(self, now: int) -> None:
        """What the fleet knows of hosts, a hostile name among them."""
        plain = {
            "robots": {"https://books.example": "rules"},
            "fetches": 40_310,
            "failures": 212,
            "mean_latency_ms": 98.2,
        }
        reports = [
            HostReport(key="books.example", delay_ms=1000, pending_pages=12, last_fetched_at_ms=now, **plain),
            HostReport(
                key="news.example",
                delay_ms=4000,
                error_streak=7,
                back_off_until_ms=now + 95_000,
                fetches=900,
                failures=311,
                mean_latency_ms=1804.0,
                robots={"https://news.example": "allowed"},
            ),
            HostReport(
                key="shop.example", blocked=True, fetches=12, failures=12, robots={"https://shop.example": "denied"}
            ),
        ]
        for report in reports:
            self.world.reports.values[report.key] = report

    def letters(self) -> None:
        """Two reasons of dead letters."""
        for number in range(30):
            name = f"odradek.pages-{number % 3}-{number}"
            poison = number % 3 == 0
            self.world.store.dead[name] = a_letter(
                _id=name,
                reason="poison" if poison else "malformed",
                job_id=JOB,
                url=f"https://books.example/catalogue/{number}",
                error="RecursionError: the document is nested too deeply"
                if poison
                else "book.price: 'call us' is no decimal",
                source={"topic": "odradek.pages", "partition": number % 3, "offset": number, "key": f"{number:032x}"},
                value=f"<title>{HOSTILE_TITLE}</title>".encode(),
                size_bytes=len(HOSTILE_TITLE) + 15,
                service="parser",
            )

    def a_job(
        self,
        job: str,
        name: str | None,
        created_at_ms: int,
        ledger: Counters,
        *,
        wanted: Any = "running",
        state: Any = None,
        max_pages: int | None = None,
    ) -> None:
        """One job whose partition 0 has it all."""
        spec: Document = {"seeds": [{"url": "https://books.example/"}], "politeness": {"delay": 0.5}}
        if name is not None:
            spec["name"] = name
        if max_pages is not None:
            spec["scope"] = {"max_pages": max_pages}
        self.world.jobs.values[job] = JobRecord(
            job=job, spec=spec, seeded=True, wanted=wanted, created_at_ms=created_at_ms, changed_at_ms=created_at_ms
        )
        self.report(job, ledger)
        if state is not None:
            self.world.progress.values[job] = Reached(job=job, state=state, epoch=1, at_ms=created_at_ms + 600_000)

    def report(self, job: str, ledger: Counters, limiting: str | None = None) -> None:
        """The newest report of the job's only busy partition."""
        self.world.progress.values[f"{job}:0"] = Progress(
            job=job,
            partition=0,
            offset=1,
            epoch=1,
            counters=ledger,
            in_flight=min(16, ledger.pending),
            recount=a_recount(ledger) if ledger.pending == 0 else None,
            limiting=limiting,
        )

    def tick(self) -> None:
        """A second of crawling."""
        self.ticks += 1
        wave = 1 + 0.0022 * self.ticks + 0.0004 * random.Random(self.ticks).random()
        failed = {
            reason: count + (self.ticks // 3 if reason == "http_404" else 0) for reason, count in self.failures.items()
        }
        self.report(
            JOB,
            a_ledger(wave, pending=max(300, 4000 - 9 * self.ticks), failed=failed),
            "books.example allows one fetch a second (robots.txt)",
        )

    def answer(self, partition: int, question: Question) -> Document | None:
        """Partition 0 owns everything; it has as many URLs as its ledger says."""
        if question.kind == "urls":
            return self.urls(question) if partition == 0 else {"urls": [], "after": None}
        if question.kind == "recount":
            report = self.world.progress.values.get(f"{question.job}:{partition}")
            return {"recount": {"offset": 2} if report is None else _plain(a_recount(report.counters, 2))}
        failed = {
            "seen": True,
            "state": "failed",
            "reason": "http_404",
            "status": 404,
            "try": 3,
            "depth": 2,
            "priority": 50,
        }
        steps = [
            {"offset": 10, "index": 0, "kind": "accepted"},
            {"offset": 44, "index": 3, "kind": "failed", "reason": "http_404", "status": 404},
        ]
        return failed | {
            "via": "https://books.example/",
            "due_ms": None,
            "history": steps,
            "doing": None,
            "robots": {"state": "rules", "rule": "Allow: /"},
            "host": {"delay_ms": 1000, "concurrency": 1, "in_flight": 1, "blocked": False},
        }

    def urls(self, question: Question) -> Document:
        """A page of URLs in one state."""
        report = self.world.progress.values[f"{question.job}:0"]
        reasons = report.counters.reasons.get(question.state or "", {})
        total = reasons.get(question.reason or "", sum(reasons.values()))
        start = int(question.after or -1) + 1
        end = min(total, start + question.limit)
        rows = [
            {
                "fp": str(number),
                "url": f"https://books.example/catalogue/{number}",
                "state": question.state,
                "reason": question.reason,
                "status": 404 if question.reason == "http_404" else None,
                "try": 3,
                "depth": 2,
                "priority": 50,
                "via": "https://books.example/",
                "due_ms": None,
            }
            for number in range(start, end)
        ]
        return {"urls": rows, "after": str(end - 1) if end < total else None}

    def search(self, body: Document) -> Document:
        """Searches for charts."""
        hits = [event for event in self.world.store.logs if matches(event, body["query"])]
        if "hosts" in body.get("aggs", {}):
            keys = Counter(each["odradek"]["host_key"] for each in hits)
            return {"aggregations": {"hosts": {"buckets": [{"key": key, "doc_count": n} for key, n in keys.items()]}}}
        if "time" in body.get("aggs", {}):
            return {"aggregations": {"time": {"buckets": []}}}
        return {"hits": {"hits": [{"_source": each} for each in hits[: body["size"]]]}}


def _plain(recount: Recount) -> Document:
    return {name: getattr(recount, name) for name in Recount.__struct_fields__}
