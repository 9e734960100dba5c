"""All partitions of a process share its credits, fairly, and nothing is polled."""

from odradek_scheduler.core.partition import Dispatched
from odradek_scheduler.dispatching import IDLE_MS, MOST_A_ROUND, PATIENCE_MS, SAVING_MS, Dispatcher
from odradek_scheduler.owned import Owned

NOW = 1_000_000


class Queue:
    """A partition's core with so many URLs due."""

    dispatching = True

    def __init__(self, due: int = 0, outstanding: int = 0, wake_ms: int | None = None) -> None:
        self.due, self.outstanding, self._wake_ms = due, outstanding, wake_ms
        self.asked: list[int] = []

    def wake_at_ms(self, now_ms: int) -> int | None:
        return now_ms if self.due else self._wake_ms

    def dispatch(self, now_ms: int, credit: int) -> Dispatched:
        self.asked.append(credit)
        sent = min(self.due, credit)
        self.due, self.outstanding = self.due - sent, self.outstanding + sent
        return Dispatched(requests=(None,) * sent)  # type: ignore[arg-type]


class Sent:
    def dispatch(self, dispatched: Dispatched) -> None:
        """Nobody looks."""


def dispatcher(*queues: Queue, in_flight: int) -> Dispatcher:
    owned = [Owned(number, queue) for number, queue in enumerate(queues)]  # type: ignore[arg-type]
    return Dispatcher(owned, Sent(), in_flight)  # type: ignore[arg-type]


def test_no_more_is_in_flight_than_allowed_and_everyone_gets_a_share() -> None:
    queues = [Queue(due=100), Queue(due=2), Queue(due=100)]

    dispatcher(*queues, in_flight=30).round(NOW)

    assert sum(queue.outstanding for queue in queues) == 30
    assert min(queue.outstanding for queue in queues) == 2


def test_with_credits_for_thousands_a_round_sends_some_and_the_next_follows_at_once() -> None:
    queue = Queue(due=10_000)
    dispatching = dispatcher(queue, in_flight=2 * MOST_A_ROUND + 1)

    sent = [(dispatching.round(NOW + turn), queue.outstanding) for turn in range(3)]

    assert sent == [(0, MOST_A_ROUND), (0, 2 * MOST_A_ROUND), (SAVING_MS - 1, 2 * MOST_A_ROUND)]
    assert (dispatching.round(NOW + 1 + SAVING_MS), queue.outstanding) == (IDLE_MS, 2 * MOST_A_ROUND + 1)


def test_what_is_unanswered_counts_against_the_credits() -> None:
    busy, idle = Queue(outstanding=28), Queue(due=100)

    dispatcher(busy, idle, in_flight=30).round(NOW)

    assert idle.outstanding == 2


def test_without_credits_nobody_is_asked_until_an_answer_comes() -> None:
    queue = Queue(due=100)
    dispatching = dispatcher(queue, in_flight=10)

    waits = [dispatching.round(NOW), dispatching.round(NOW + 1), dispatching.round(NOW + 2)]
    assert waits == [IDLE_MS, IDLE_MS - 1, IDLE_MS - 2]
    assert queue.asked == [10]

    queue.outstanding -= 4
    dispatching.round(NOW + 3)
    assert (queue.asked, queue.outstanding) == ([10, 4], 10)


def test_few_credits_are_saved_up_for_a_moment() -> None:
    queue = Queue(due=100)
    dispatching = dispatcher(queue, in_flight=80)
    dispatching.round(NOW)

    queue.outstanding -= 3
    waits = [dispatching.round(NOW + 1), dispatching.round(NOW + SAVING_MS)]

    assert waits[0] == SAVING_MS - 1
    assert queue.asked == [80, 3]


def test_it_sleeps_until_the_earliest_host_is_free() -> None:
    queues = [Queue(wake_ms=NOW + 700), Queue(wake_ms=NOW + 40), Queue(wake_ms=None)]

    assert dispatcher(*queues, in_flight=10).round(NOW) == 40
    assert [queue.asked for queue in queues] == [[], [], []]


def test_what_is_due_and_cannot_be_sent_is_not_looked_at_in_a_tight_loop() -> None:
    class Stuck(Queue):
        def dispatch(self, now_ms: int, credit: int) -> Dispatched:
            return Dispatched()

    assert dispatcher(Stuck(due=1), in_flight=10).round(NOW) == PATIENCE_MS
