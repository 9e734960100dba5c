"""Webhooks: which changes of a job are told, when it is tried again, and how it is signed.

Signed as the Standard Webhooks specification 1.0 says: HMAC-SHA256 over `id.timestamp.body`, in base64.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import xxhash

from odradek.contracts import FINAL_STATES, JobRecord, JobState, WebhookAttempt, WebhookDelivery, timestamp
from odradek.specification import JobSpecification

BACK_OFF_S = (5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600)
"""Waits after failed attempts; after the last one it is given up, 22 hours after the first."""
ATTEMPTS_SHOWN = 20
GONE = 410
"""The receiver wants no more of it."""
SECRET_PREFIX = "whsec_"  # noqa: S105  (what base64 secrets begin with)


class Told(NamedTuple):
    """What was last told of a job."""

    state: JobState
    run: int
    epoch: int


def is_news(told: Told | None, now: Told) -> bool:
    """A state other than the last one, or the same end reached once more."""
    if told is None or now.state != told.state:
        return True
    return now.state in FINAL_STATES and (now.run, now.epoch) != (told.run, told.epoch)


def deliveries(
    record: JobRecord, now: Told, previous: JobState | None, summary: Mapping[str, Any], now_ms: int
) -> list[WebhookDelivery]:
    """What is to be delivered because of a change: one for each webhook that wants to know."""
    hooks = JobSpecification.from_wire({"webhooks": record.spec["webhooks"]}).webhooks
    told = {"previous_state": previous, "name": record.spec.get("name"), "run": now.run, **summary, "state": now.state}
    body = msgspec.json.encode(
        {"type": f"job.{now.state}", "timestamp": timestamp(now_ms), "data": {"job_id": record.job, **told}}
    )
    return [
        WebhookDelivery(
            id=_identity(record, now, hook.url), job=record.job, url=hook.url, body=body.decode(), state=now.state,
            run=now.run, epoch=now.epoch, next_at_ms=now_ms, secret=hook.secret, created_at_ms=now_ms,
        )
        for hook in hooks
        if not hook.states or now.state in hook.states
    ]  # fmt: skip


def _identity(record: JobRecord, now: Told, url: str) -> str:
    """The same for whichever gateway notices the change."""
    began = (record.version,) if now.run == 1 else (record.version, now.run)
    change = (now.run, now.epoch) if now.state in FINAL_STATES else began
    return f"{record.job}:{xxhash.xxh3_64_hexdigest(repr((now.state, change, url)).encode())}"


def attempted(delivery: WebhookDelivery, attempt: WebhookAttempt) -> WebhookDelivery:
    """The delivery after an attempt: delivered, due again later, or given up."""
    attempts = (*delivery.attempts, attempt)[-ATTEMPTS_SHOWN:]
    changed = msgspec.structs.replace(delivery, attempts=attempts, next_at_ms=None)
    if attempt.error is None:
        return msgspec.structs.replace(changed, status="delivered")
    if attempt.status == GONE or len(attempts) > len(BACK_OFF_S):
        return msgspec.structs.replace(changed, status="given_up")
    return msgspec.structs.replace(changed, next_at_ms=attempt.at_ms + BACK_OFF_S[len(attempts) - 1] * 1000)


def headers(delivery: WebhookDelivery, secret: str | None, now_s: int) -> dict[str, str]:
    """What goes with the body; the id stays the same in every attempt, so that receivers can tell repeats."""
    found = {"content-type": "application/json", "webhook-id": delivery.id, "webhook-timestamp": str(now_s)}
    if secret is not None:
        signed = f"{delivery.id}.{now_s}.{delivery.body}".encode()
        digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
        found["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return found


def _key(secret: str) -> bytes:
    if secret.startswith(SECRET_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()
