"""Webhooks: every change of a job's state is told, at least once, by one gateway, to public addresses alone."""

import asyncio
import base64
import hashlib
import hmac
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from tests.component.api.fakes import World

from odradek.contracts import JobRecord, JobState, WebhookAttempt, WebhookDelivery, decode
from odradek.errors import InfrastructureAway
from odradek.topics import WEBHOOKS
from odradek_api.core.webhooks import BACK_OFF_S, attempted
from odradek_api.notifying import KEPT, Change, Deliveries, Notifier
from odradek_api.posting import Poster

HOOK = {"url": "https://hooks.example/a"}


class Receiver:
    """Takes what is posted; answers as told."""

    def __init__(self) -> None:
        self.got: list[WebhookDelivery] = []
        self.answer = WebhookAttempt(at_ms=0, status=204)

    async def __call__(self, delivery: WebhookDelivery) -> WebhookAttempt:
        self.got.append(delivery)
        return self.answer

    def states(self) -> list[str]:
        return [delivery.state for delivery in self.got]


class Fleet:
    """Gateways over one Kafka: what one notes in the topic the others hear."""

    def __init__(self) -> None:
        self.world = World()
        self.receiver = Receiver()
        self._heard = 0

    def a_notifier(self) -> Notifier:
        return Notifier(self.world.log, self.world.deliveries, self.world.gateway.standing, self.receiver)

    def a_job(self, *hooks: dict[str, Any]) -> None:
        spec = {"name": "j", "webhooks": list(hooks or (HOOK,))}
        self.world.jobs.values["j"] = JobRecord(job="j", spec=spec, seeded=True)

    def change(self, state: JobState = "running", version: int = 1, epoch: int = 1, run: int = 1) -> Change:
        record = msgspec.structs.replace(self.world.jobs.values["j"], version=version, epoch=epoch, run=run)
        return "j", record, state, epoch

    async def run(self, notifier: Notifier, *changes: Change) -> None:
        for change in changes:
            notifier.noticed(*change)
        await notifier.step()
        await notifier.idle()
        await notifier.step()
        await notifier.idle()
        self.hear()

    def hear(self) -> None:
        for send in self.world.log.sent[self._heard :]:
            if send.topic == WEBHOOKS:
                value = None if send.value is None else decode(WebhookDelivery, send.value)
                self.world.deliveries.heard(send.key, value)
        self._heard = len(self.world.log.sent)


@pytest.fixture
def fleet() -> Fleet:
    fleet = Fleet()
    fleet.a_job()
    return fleet


async def test_every_change_of_state_is_told_once(fleet: Fleet) -> None:
    notifier = fleet.a_notifier()
    notifier.lead([])
    await fleet.run(
        notifier, fleet.change("running"), fleet.change("running", version=2), fleet.change("paused", version=3),
        fleet.change("running", version=4), fleet.change("complete"), fleet.change("complete"),
    )  # fmt: skip

    assert fleet.receiver.states() == ["running", "paused", "running", "complete"]
    told = msgspec.json.decode(fleet.receiver.got[1].body)
    assert (told["type"], told["data"]["job_id"], told["data"]["previous_state"]) == ("job.paused", "j", "running")
    assert len({delivery.id for delivery in fleet.receiver.got}) == 4


async def test_a_job_that_is_complete_again_after_more_seeds_is_told_again(fleet: Fleet) -> None:
    notifier = fleet.a_notifier()
    notifier.lead([])
    await fleet.run(notifier, fleet.change("complete"), fleet.change("complete", version=3, epoch=2))

    assert fleet.receiver.states() == ["complete", "complete"]


async def test_every_run_of_a_recurring_job_is_told_from_its_beginning_to_its_end(fleet: Fleet) -> None:
    notifier = fleet.a_notifier()
    notifier.lead([])
    for run in (1, 2, 3):
        await fleet.run(notifier, fleet.change("running", run=run), fleet.change("complete", run=run))

    assert [(each.state, each.run) for each in fleet.receiver.got] == [
        (state, run) for run in (1, 2, 3) for state in ("running", "complete")
    ]


async def test_a_webhook_hears_only_of_the_states_it_wants(fleet: Fleet) -> None:
    fleet.a_job({**HOOK, "states": ["complete", "failed"]}, {"url": "https://b.example/"})
    notifier = fleet.a_notifier()
    notifier.lead([])
    await fleet.run(notifier, fleet.change("running"), fleet.change("complete"))

    assert [(each.url, each.state) for each in sorted(fleet.receiver.got, key=lambda each: each.url)] == [
        ("https://b.example/", "running"), ("https://b.example/", "complete"), ("https://hooks.example/a", "complete"),
    ]  # fmt: skip


async def test_what_is_noted_is_in_kafka_before_it_is_sent(fleet: Fleet) -> None:
    notifier = fleet.a_notifier()
    notifier.lead([])
    fleet.world.log.away_after = 0
    with pytest.raises(InfrastructureAway):
        await fleet.run(notifier, fleet.change("complete"))
    assert fleet.receiver.got == []

    fleet.world.log.away_after = None
    await fleet.run(notifier)
    assert fleet.receiver.states() == ["complete"]


async def test_the_next_leader_delivers_what_was_left_and_repeats_nothing_that_was_delivered(fleet: Fleet) -> None:
    first = fleet.a_notifier()
    first.lead([])
    await fleet.run(first, fleet.change("running"))
    fleet.receiver.answer = WebhookAttempt(at_ms=0, error="The receiver answered 500.", status=500)
    await fleet.run(first, fleet.change("paused", version=2))
    await first.follow()
    fleet.receiver.answer = WebhookAttempt(at_ms=0, status=200)
    fleet.receiver.got.clear()
    second = fleet.a_notifier()
    second.lead([fleet.change("paused", version=2)])
    await fleet.run(second)

    assert fleet.receiver.states() == ["paused"]
    assert [each.status for each in fleet.world.deliveries.of("j")] == ["delivered", "delivered"]


async def test_a_change_that_came_while_nobody_led_is_told_by_the_next_leader(fleet: Fleet) -> None:
    first = fleet.a_notifier()
    first.lead([])
    await fleet.run(first, fleet.change("running"))
    await first.follow()
    first.noticed(*fleet.change("complete"))
    second = fleet.a_notifier()
    second.lead([fleet.change("complete")])
    await fleet.run(second)

    assert fleet.receiver.states() == ["running", "complete"]


def test_a_delivery_is_tried_again_later_and_later_then_given_up() -> None:
    delivery = WebhookDelivery(id="j:1", job="j", url="https://a.example/", body="{}", state="complete")
    waits = []
    for _ in BACK_OFF_S:
        delivery = attempted(delivery, WebhookAttempt(at_ms=1000, error="no answer"))
        waits.append(((delivery.next_at_ms or 0) - 1000) / 1000)
    last = attempted(delivery, WebhookAttempt(at_ms=1000, error="no answer"))

    assert waits == list(BACK_OFF_S)
    assert (last.status, last.next_at_ms, len(last.attempts)) == ("given_up", None, 9)


def test_a_receiver_that_is_gone_is_left_alone() -> None:
    delivery = WebhookDelivery(id="j:1", job="j", url="https://a.example/", body="{}", state="complete")

    assert attempted(delivery, WebhookAttempt(at_ms=0, status=410, error="gone")).status == "given_up"


async def test_the_log_of_a_job_is_bounded_and_goes_with_the_job(fleet: Fleet) -> None:
    notifier = fleet.a_notifier()
    notifier.lead([])
    for number in range(KEPT):
        state: JobState = "paused" if number % 2 else "running"
        await fleet.run(notifier, fleet.change(state, version=number), fleet.change("complete", epoch=number))
    assert len(fleet.world.deliveries.of("j")) == KEPT

    await fleet.run(notifier, ("j", None, None, 0))
    assert fleet.world.deliveries.of("j") == []


async def test_the_route_shows_deliveries_without_the_tokens_of_receivers(fleet: Fleet) -> None:
    fleet.a_job({"url": "https://hooks.example/a?token=secret", "secret": "${env:HOOK}"})
    notifier = fleet.a_notifier()
    notifier.lead([])
    await fleet.run(notifier, fleet.change("complete"))
    async with fleet.world.client() as client:
        answer = await client.get("/v1/jobs/j/webhooks")
        nowhere = await client.get("/v1/jobs/nobody/webhooks")

    assert answer.status_code == 200
    [shown] = answer.json()["data"]
    assert (shown["state"], shown["status"], shown["signed"]) == ("complete", "delivered", True)
    assert "secret" not in answer.text
    assert nowhere.status_code == 404


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://0x7f.1/", "http://[::ffff:10.0.0.1]/", "http://localhost/"]
)
async def test_a_webhook_in_a_private_network_is_refused_at_submission(url: str) -> None:
    async with World().client() as client:
        answer = await client.post("/v1/jobs", json={"webhooks": [url]})

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "webhooks.0.url")


@pytest.mark.parametrize(
    ("fetch", "field"),
    [
        ({"auth": {"basic": "me:secret"}}, "fetch.auth.basic"),
        ({"auth": {"bearer": "secret"}}, "fetch.auth.bearer"),
        ({"proxies": ["http://me:secret@proxy.example:1"]}, "fetch.proxies.0"),
    ],
)
async def test_a_secret_written_out_never_reaches_kafka(fetch: dict[str, Any], field: str) -> None:
    world = World()
    world.jobs.values["j"] = JobRecord(job="j", spec={})
    async with world.client() as client:
        submitted = await client.post("/v1/jobs", json={"fetch": fetch})
        patched = await client.patch("/v1/jobs/j", json={"fetch": fetch})

    for answer in (submitted, patched):
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
        assert "${env:NAME}" in answer.text
        assert "secret@" not in answer.text
    assert world.log.sent == []


@asynccontextmanager
async def a_site(answer: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Answers every request with these bytes."""
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.findall(rb"(?i)content-length: *(\d+)", head)[0])
        got.append(head + await reader.readexactly(length))
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], got


def a_delivery(url: str, secret: str | None = None) -> WebhookDelivery:
    return WebhookDelivery(id="j:1", job="j", url=url, body='{"a":1}', state="complete", secret=secret)


async def posted(poster: Poster, delivery: WebhookDelivery) -> WebhookAttempt:
    try:
        return await poster(delivery)
    finally:
        await poster.close()


@pytest.mark.parametrize("secret", ["plain words", "whsec_" + base64.b64encode(b"a key of bytes").decode()])
async def test_a_receiver_can_verify_what_it_got(secret: str) -> None:
    key = b"a key of bytes" if secret.startswith("whsec_") else secret.encode()
    async with a_site(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as (port, got):
        poster = Poster({"HOOK": secret}, allow_private=True)
        attempt = await posted(poster, a_delivery(f"http://127.0.0.1:{port}/hook", "${env:HOOK}"))

    assert (attempt.status, attempt.error) == (200, None)
    head, _, body = got[0].partition(b"\r\n\r\n")
    fields = {name.lower(): value for name, value in (line.split(b": ", 1) for line in head.split(b"\r\n")[1:])}
    signed = b"%b.%b.%b" % (fields[b"webhook-id"], fields[b"webhook-timestamp"], body)
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    assert (fields[b"webhook-signature"], body) == (b"v1," + expected, b'{"a":1}')


async def test_a_name_that_leads_to_a_private_address_is_not_connected_to() -> None:
    async def look_up(host: str) -> tuple[str, ...]:
        return ("127.0.0.1",)

    async with a_site(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as (port, got):
        poster = Poster({}, allow_private=False, look_up=look_up)
        attempt = await posted(poster, a_delivery(f"http://hooks.example:{port}/"))

    assert attempt.error == "hooks.example leads to 127.0.0.1, which is not public"
    assert got == []


async def test_a_redirect_is_not_followed() -> None:
    async with a_site(b"HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n") as (port, _):
        attempt = await posted(Poster({}, allow_private=True), a_delivery(f"http://127.0.0.1:{port}/"))

    assert (attempt.status, attempt.error) == (307, "The receiver answered 307.")


async def test_a_missing_secret_is_told_and_nothing_goes_out_unsigned() -> None:
    async with a_site(b"") as (port, got):
        attempt = await posted(Poster({}, allow_private=True), a_delivery(f"http://127.0.0.1:{port}/", "${env:HOOK}"))

    assert attempt.error == "The variable HOOK, which signs it, is not set where the gateway runs."
    assert got == []


async def test_a_receiver_that_does_not_answer_is_an_attempt_that_failed() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        attempt = await posted(
            Poster({}, allow_private=True), a_delivery(f"http://127.0.0.1:{taken.getsockname()[1]}/")
        )

    assert attempt.status is None
    assert attempt.error


def test_deliveries_of_a_job_are_newest_first() -> None:
    known = Deliveries()
    for number in range(3):
        delivery = a_delivery("https://a.example/")
        known.heard(f"j:{number}", msgspec.structs.replace(delivery, id=f"j:{number}", created_at_ms=number))
    known.heard("j:1", None)

    assert [each.id for each in known.of("j")] == ["j:2", "j:0"]


async def test_a_receiver_that_answers_byte_by_byte_is_not_waited_for() -> None:
    ended = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read(100)
            for byte in b"HTTP/1.1 200 OK" * 100:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        ended.set()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        attempt = await posted(Poster({}, allow_private=True, timeout_s=0.3), a_delivery(url))
        await ended.wait()

    assert (attempt.status, attempt.error) == (None, "The receiver did not answer within 0.3 s.")
