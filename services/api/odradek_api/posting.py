"""Posts a webhook: to a checked address only, without following redirects, and never waits long."""

import asyncio
import ssl
import time
from collections.abc import Mapping

import certifi
import httpcore
import httpx

from odradek.addresses import address_refusal
from odradek.clock import now_ms
from odradek.contracts import WebhookAttempt, WebhookDelivery
from odradek.pinning import PinningBackend
from odradek.resolve import Guard, LookUp, NameFailure, PrivateAddress, SystemLookUp, nothing_refused
from odradek.specification import secret_name
from odradek_api.core.webhooks import headers

TIMEOUT_S = 10.0
USER_AGENT = "Odradek-Webhooks/1"


class Poster:
    """An HTTP client for receivers."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        allow_private: bool,
        look_up: LookUp | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._environ, self._timeout_s = environ, timeout_s
        guard = Guard(look_up or SystemLookUp(2), refuses=nothing_refused if allow_private else address_refusal)
        self._client = httpx.AsyncClient(
            transport=_Pinned(guard), timeout=timeout_s, follow_redirects=False, trust_env=False,
            headers={"user-agent": USER_AGENT},
        )  # fmt: skip

    async def __call__(self, delivery: WebhookDelivery) -> WebhookAttempt:
        """Try once; what goes wrong is told in the attempt."""
        at_ms, begun = now_ms(), time.perf_counter()
        status, error = await self._post(delivery, at_ms // 1000)
        took_ms = round((time.perf_counter() - begun) * 1000, 1)
        return WebhookAttempt(at_ms=at_ms, duration_ms=took_ms, status=status, error=error)

    async def close(self) -> None:
        """Let connections go."""
        await self._client.aclose()

    async def _post(self, delivery: WebhookDelivery, now_s: int) -> tuple[int | None, str | None]:
        secret = None
        if delivery.secret is not None:
            name = secret_name(delivery.secret)
            secret = self._environ.get(name)
            if secret is None:
                return None, f"The variable {name}, which signs it, is not set where the gateway runs."
        sent = headers(delivery, secret, now_s)
        try:
            async with (
                asyncio.timeout(self._timeout_s),  # a receiver may answer byte by byte
                self._client.stream("POST", delivery.url, content=delivery.body.encode(), headers=sent) as answer,
            ):
                status = answer.status_code
        except TimeoutError:
            return None, f"The receiver did not answer within {self._timeout_s:g} s."
        except (httpx.HTTPError, NameFailure, PrivateAddress, OSError) as error:
            return None, str(error) or type(error).__name__
        return status, None if answer.is_success else f"The receiver answered {status}."


class _Pinned(httpx.AsyncHTTPTransport):
    """httpx's transport over connections that the guard allows."""

    def __init__(self, guard: Guard) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(cafile=certifi.where()),
            max_connections=32,
            max_keepalive_connections=0,
            network_backend=PinningBackend(guard),
        )
