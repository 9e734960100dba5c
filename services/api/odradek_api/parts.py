"""What the routes work with, given to the application as one value."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import Request

from odradek.settings import Settings
from odradek_api.gateway import Gateway
from odradek_api.hosts import Hosts
from odradek_api.inquiring import Inquiry
from odradek_api.notifying import Deliveries
from odradek_api.paces import Paces
from odradek_api.ports import Changes, Results
from odradek_api.previewing import Previews
from odradek_api.purging import Purge
from odradek_api.reparsing import Reparsing
from odradek_api.replaying import Replay


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The whole gateway but its HTTP side."""

    settings: Settings
    gateway: Gateway
    paces: Paces
    results: Results
    hosts: Hosts
    inquiry: Inquiry
    replay: Replay
    purge: Purge
    deliveries: Deliveries
    changes: Changes
    reparsing: Reparsing
    ready: Callable[[], str | None]
    """Why answers are not yet true; None: they are."""
    previews: Previews = field(default_factory=Previews)


def parts(request: Request) -> Parts:
    """Those of this application."""
    found: Parts = request.app.state.parts
    return found
