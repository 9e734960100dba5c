"""What TLS is verified by: the system's authorities and those of certifi, TLS 1.2 at least."""

import ssl
from pathlib import Path

import certifi


class Contexts:
    """One context for each way of using it: httpcore sets the protocols it offers on the context itself."""

    def __init__(self, authority: Path | None = None) -> None:
        self._authority = authority
        """PEM file of one more authority."""
        self._contexts: dict[tuple[bool, bool], ssl.SSLContext] = {}

    def get(self, *, verify: bool, http2: bool) -> ssl.SSLContext:
        """The context; without `verify` any certificate will do."""
        context = self._contexts.get((verify, http2))
        if context is None:
            context = self._contexts[(verify, http2)] = self._new(verify=verify)
        return context

    def _new(self, *, verify: bool) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(certifi.where())
        if self._authority is not None:
            context.load_verify_locations(self._authority)
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
