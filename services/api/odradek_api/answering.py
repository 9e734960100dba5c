"""Problems as responses, and answers that begin before their request has ended."""

import json

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from odradek_api.core.problems import Problem
from odradek_api.tracing import REQUEST_ID

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
    """Streams while the request's body is still read: nobody else may listen to the client meanwhile."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  (ASGI's signature)
        """Send everything, and let the generator finish whatever happens."""
        try:
            await self.stream_response(send)
        finally:
            close = getattr(self.body_iterator, "aclose", None)
            if close is not None:
                await close()
