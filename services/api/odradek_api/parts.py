"""What the routes work with, given to the application as one value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request

from odradek.contracts import JobState
from odradek.settings import Settings
from odradek_api.core.census import Census
from odradek_api.fresh import Fresh
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
from odradek_api.tickets import Tickets

WATCHED_S = 0.4
JOB_LIST_S = 0.9
"""A little less than the time between two looks at it, so that everyone sees the next second's."""


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
    tickets: Tickets = field(default_factory=Tickets)
    job_lists: Fresh[Any, Any] = field(default_factory=lambda: Fresh(JOB_LIST_S))
    """Pages of the list of jobs, shared by those who watch the same one."""
    census: Fresh[str, Census] = field(default_factory=lambda: Fresh(JOB_LIST_S))
    """All jobs, shared by those who make such pages."""
    watched: Fresh[tuple[str, int], tuple[JobState | None, str]] = field(default_factory=lambda: Fresh(WATCHED_S))
    """State and event of a version of a job, shared by those who watch it."""


def parts(request: Request) -> Parts:
    """Those of this application."""
    found: Parts = request.app.state.parts
    return found
