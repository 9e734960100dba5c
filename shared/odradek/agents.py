"""Under which names sites may speak to a crawler: one home for robots.txt, X-Robots-Tag and robots meta elements."""

import re

from odradek.specification import JobSpecification

_TOKEN = re.compile(r"[A-Za-z0-9_.-]+")
_COMPATIBLE = re.compile(r"\(\s*compatible\s*;\s*([A-Za-z0-9_.-]+)", re.IGNORECASE)


def product_token(user_agent: str) -> str:
    """The product token of a user agent (RFC 9309 section 2.2.1), lower case; empty when it has none.

    Of `Mozilla/5.0 (compatible; NAME/1.0; …)`, in which every browser calls itself Mozilla, it is NAME.
    """
    compatible = _COMPATIBLE.search(user_agent)
    found = _TOKEN.match(user_agent.strip())
    if compatible is not None:
        return compatible[1].lower()
    return found[0].lower() if found is not None else ""


def product_tokens(spec: JobSpecification, default_agent: str) -> frozenset[str]:
    """All names by which a page may speak to a job: those of the agents it sends, and the one of the settings."""
    agents = (default_agent, spec.fetch.user_agent or "", *spec.fetch.user_agents)
    return frozenset(token for agent in agents if (token := product_token(agent)))
