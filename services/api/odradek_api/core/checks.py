"""What the gateway refuses of a specification that is well formed: what could not be kept secret, or asked politely."""

import re

from odradek.addresses import host_refusal
from odradek.specification import JobSpecification
from odradek.urls import CrawlUrl, identify

_REFERENCE = re.compile(r"\$\{env:\w+\}")
_PASSWORD = re.compile(r"://[^@/\s]+@")
_LITERAL = "a secret would lie in Kafka; write ${env:NAME}, and set the variable NAME where the fetchers run"


def wrong_in(spec: JobSpecification, *, allow_private: bool) -> list[dict[str, str]]:
    """Each wrong field with a sentence."""
    found = []
    auth = spec.fetch.auth
    for kind in ("basic", "bearer"):
        value = None if auth is None else getattr(auth, kind)
        if value is not None and not _REFERENCE.search(value):
            found.append({"field": f"fetch.auth.{kind}", "message": _LITERAL})
    for place, proxy in enumerate(spec.fetch.proxies):
        if _PASSWORD.search(proxy) and not _REFERENCE.search(proxy):
            found.append({"field": f"fetch.proxies.{place}", "message": _LITERAL})
    for place, hook in enumerate(spec.webhooks):
        url = identify(hook.url)
        if not allow_private and isinstance(url, CrawlUrl) and host_refusal(url.host):
            said = "a private network is not told; allow it with ODRADEK_ALLOW_PRIVATE_NETWORKS=1"
            found.append({"field": f"webhooks.{place}.url", "message": said})
    return found
