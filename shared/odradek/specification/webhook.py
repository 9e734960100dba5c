"""Who is told when a job's state changes: the part `webhooks` of a specification."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from odradek.specification.parts import Strict, WebUrl

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}\Z")
_CLOSED = "ODRADEK_"


def _reference(text: str) -> str:
    match = _REFERENCE.match(text)
    if match is None:
        raise ValueError("write ${env:NAME}, and set the variable NAME where the gateway runs")
    if match[1].upper().startswith(_CLOSED):
        raise ValueError(f"the variable {match[1]} belongs to Odradek itself; choose another name")
    return text


class Webhook(Strict):
    """A URL that is told."""

    url: WebUrl
    secret: Annotated[str, AfterValidator(_reference)] | None = None
    """Signs what is sent (HMAC-SHA256), as `${env:NAME}`; null: nothing is signed."""
    states: tuple[
        Literal["waiting", "running", "paused", "complete", "cancelled", "expired", "failed"], ...
    ] = ()  # fmt: skip
    """Only changes to these states; []: all."""


def secret_name(reference: str) -> str:
    """The variable's name in `${env:NAME}`."""
    return reference.removeprefix("${env:").removesuffix("}")
