"""Regular expressions that people give: RE2 syntax, so that matching is linear in time whatever the text is."""

import re2

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 8 << 20


def compile_pattern(text: str) -> "re2._Regexp[str]":
    """The compiled pattern.

    Raises:
        ValueError: not RE2 syntax (look-around and back-references do not exist there); the message says what.
    """
    try:
        return re2.compile(text, _OPTIONS)
    except re2.error as error:
        detail = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"the regular expression {text!r} is not RE2 syntax: {detail}") from None
