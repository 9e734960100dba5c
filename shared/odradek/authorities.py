"""Whom a client of an engine trusts: the system's authorities, or one of the settings."""

import ssl
from pathlib import Path


def trusting(authority: Path | str | None) -> ssl.SSLContext:
    """A context that asks for a certificate of this authority (a PEM file) or, if None, of one of the system's.

    Python 3.13 began to refuse authorities without the extension `keyUsage` (RFC 5280, section 4.2.1.3), which many of
    those that companies make for themselves lack. librdkafka and pymongo take them; so do others with this context.

    Raises:
        OSError: the file cannot be read or holds no certificate.
    """
    context = ssl.create_default_context(cafile=authority)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
