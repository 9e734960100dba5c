"""Scrapy Cluster's replies."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from odradek_api.models.shape import Shape


class FeedError(Shape):
    """Why Scrapy Cluster's request was not carried out."""

    message: str
    cause: str | None = None


class Fed(Shape):
    """Scrapy Cluster's wrapper around every reply."""

    status: Literal["SUCCESS", "FAILURE"]
    data: dict[str, Any] | None
    """The reply; null for a crawl request."""
    error: FeedError | None


class FeedState(Shape):
    """State of the service, in Scrapy Cluster's words."""

    kafka_connected: bool
    redis_connected: bool
    uptime_sec: int
    my_id: str
    node_health: Literal["GREEN", "YELLOW", "RED"]


class PollAsked(BaseModel):
    """Which reply to poll for."""

    model_config = ConfigDict(extra="forbid")

    poll_id: str = Field(min_length=1, max_length=100)
