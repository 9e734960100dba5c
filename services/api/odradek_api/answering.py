"""Problems as responses, and answers that begin before their request has ended."""

import asyncio
import json
from collections.abc import AsyncIterator

import structlog
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from odradek_api.core.problems import Problem
from odradek_api.tracing import REQUEST_ID

UNREAD_S = 60.0
"""A client that sends and does not read would wait for ever, and its job with it."""
log = structlog.get_logger()
PROBLEM_TYPE = "application/problem+json"


def document_response(path: str, problem: Problem) -> Response:
    """The problem as an RFC 9457 document."""
    request_id, wait_s = REQUEST_ID.get(), problem.members.get("retry_after_s")
    document = problem.document(path) | ({} if request_id is None else {"request_id": request_id})
    headers = {} if wait_s is None else {"Retry-After": str(wait_s)}
    if request_id is not None:
        headers["X-Request-Id"] = request_id  # the door has let go of the request when a bug is answered
    content = json.dumps(document, ensure_ascii=False)
    return Response(content.encode(errors="replace"), problem.status, headers, media_type=PROBLEM_TYPE)


class DuplexResponse(StreamingResponse):
    """Streams while the request's body is still read: nobody else may listen to the client meanwhile.

    A client that reads nothing for `unread_s` is let go.
    """

    def __init__(self, lines: AsyncIterator[bytes], status: int, kind: str, unread_s: float = UNREAD_S) -> None:
        super().__init__(lines, status, media_type=kind)
        self._unread_s = unread_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (ASGI's signature)
        """Send everything, and let the generator finish whatever happens."""

        async def sending(message: Message) -> None:
            async with asyncio.timeout(self._unread_s):
                await send(message)

        try:
            await self.stream_response(sending)
        except TimeoutError:
            log.warning("client_does_not_read", path=scope["path"])
        finally:
            close = getattr(self.body_iterator, "aclose", None)
            if close is not None:
                await close()
