"""The web console at `/`: static files that need no key, under a policy that lets the browser load nothing else."""

from functools import cache

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from odradek_api.console import console_files
from odradek_api.core.problems import Problem

router = APIRouter(include_in_schema=False)

_DIRECTIVES = (
    "default-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    # What was crawled can never become markup or script, even by a mistake in the console.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
POLICY = "; ".join(_DIRECTIVES)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # Kept by the browser, asked for each time: a new version is seen at once and costs nothing when it is the old one.
    "Cache-Control": "no-cache",
}

_files = cache(console_files)


@router.get("/")
async def index(request: Request) -> Response:
    """The console."""
    return _answer(request, "index.html")


@router.get("/docs")
async def documents() -> Response:
    """The page of the console that shows the API's document."""
    return RedirectResponse("./#/documents", headers=HEADERS)


@router.get("/console/{path:path}")
async def file(request: Request, path: str) -> Response:
    """A style sheet, module or picture of the console."""
    return _answer(request, path)


def _answer(request: Request, path: str) -> Response:
    found = _files().get(path)
    if found is None:
        raise Problem(404, "No such file", f"The console has no file {path!r}.")
    headers = HEADERS | {"ETag": found.etag}
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if found.etag in known:
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.kind)
