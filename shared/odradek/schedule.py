"""When a recurring job's next run is due: a function of its schedule, of its last run, and of the time that is given.

Times of day and cron lines are those of the schedule's time zone. Where a clock is put forward, what would fall into
the hour that does not exist falls behind it; where it is put back, what would happen twice happens once.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim

_MACROS: Final = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip


AHEAD_MS: Final = 2 * 86_400_000
"""Nothing that happened was due so long after now: the clock was wrong then, and a run is due."""


class Recurrence(Protocol):
    """The part of a schedule that decides when; exactly one of the first three is given."""

    @property
    def every(self) -> float | None:
        """Seconds from one due time to the next."""

    @property
    def cron(self) -> str | None:
        """Five fields."""

    @property
    def fresh_by(self) -> str | None:
        """HH:MM."""

    @property
    def timezone(self) -> str:
        """IANA name."""


class Due(NamedTuple):
    """A run that is to be."""

    at_ms: int
    """When it is to begin."""
    deadline_ms: int = 0
    """When its results are to be fresh; 0: there is no such time."""


def next_due(schedule: Recurrence, last_ms: int, now_ms: int, lead_ms: int = 0) -> Due:
    """The run after the last one. Of several that were missed it is the newest, so that they become one run.

    `last_ms`: when the last run was due; of `fresh_by`, its deadline, or its end if that came later. `lead_ms`: how
    long before its deadline a run has to begin.
    """
    if last_ms > now_ms + AHEAD_MS:
        last_ms = 0
    if schedule.every is not None:
        period_ms = max(1, round(schedule.every * 1000))
        return Due(last_ms + max(1, (now_ms - last_ms) // period_ms) * period_ms)
    zone = ZoneInfo(schedule.timezone)
    if schedule.cron is not None:
        return Due(_cron(schedule.cron, zone, last_ms, now_ms))
    clock = time.fromisoformat(str(schedule.fresh_by).rjust(5, "0"))
    first = next(_deadlines(clock, zone, max(last_ms, now_ms)))
    if first - lead_ms > now_ms:
        first = _newest_deadline(clock, zone, last_ms, now_ms) or first
    return Due(first - lead_ms, first)


def cron_problem(line: str) -> str | None:
    """What is wrong with a cron line, in words; None: nothing, and there is a day on which it falls."""
    try:
        next(CronSim(_fields(line), datetime(2026, 1, 1, tzinfo=UTC)))
    except StopIteration:
        return "never comes"
    except Exception as error:  # noqa: BLE001  (the library raises ValueError and IndexError too, for odd lines)
        return str(error) or type(error).__name__
    return None


def _fields(line: str) -> str:
    return _MACROS.get(line.strip().lower(), line)


def _cron(line: str, zone: ZoneInfo, last_ms: int, now_ms: int) -> int:
    """The newest time of the line after the last one and not after now; else the first after the last one."""
    now = datetime.fromtimestamp(now_ms // 1000 + 1, zone)
    newest = _ms(next(CronSim(_fields(line), now, reverse=True)))
    if newest > last_ms:
        return newest
    times = map(_ms, CronSim(_fields(line), datetime.fromtimestamp(last_ms // 1000, zone)))
    return next(each for each in times if each > last_ms)


def _deadlines(clock: time, zone: ZoneInfo, after_ms: int) -> Iterator[int]:
    """Every time of day after an instant, for ever."""
    day = datetime.fromtimestamp(after_ms / 1000, zone).date() - timedelta(days=1)
    while True:
        at_ms = _at(day, clock, zone)
        if at_ms > after_ms:
            yield at_ms
        day += timedelta(days=1)


def _newest_deadline(clock: time, zone: ZoneInfo, last_ms: int, now_ms: int) -> int | None:
    """The newest time of day that is not after now, if it is after the last one."""
    today = datetime.fromtimestamp(now_ms / 1000, zone).date()
    found = (_at(today - timedelta(days=back), clock, zone) for back in (0, 1))
    return next((each for each in found if last_ms < each <= now_ms), None)


def _at(day: date, clock: time, zone: ZoneInfo) -> int:
    return _ms(datetime.combine(day, clock, zone))


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
