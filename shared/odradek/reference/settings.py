"""docs/settings.md, from the class that reads the environment."""

from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from odradek.reference.fields import table
from odradek.settings import PREFIX, Settings

HEAD = """\
# Settings

<!-- Written by `make docs` from shared/odradek/settings.py. -->

Every process reads these environment variables once, when it starts. A wrong value and an unknown name that begins
with `ODRADEK_` are refused by name; an empty value counts as not set. Durations are a number and `ms`, `s`, `m`, `h`
or `d`; lists are separated by commas. Values marked *secret* appear in no log and no answer.

"""


def settings_document() -> str:
    """The whole document."""
    rows = [
        [f"`{PREFIX}{name.upper()}`", _default(field), _meaning(field)] for name, field in Settings.model_fields.items()
    ]
    return HEAD + table(["Variable", "Default", "Meaning"], rows)


def _meaning(field: FieldInfo) -> str:
    secret = "SecretStr" in str(field.annotation) or not field.repr
    choices = ", ".join(f"`{each}`" for each in get_args(field.annotation) if isinstance(each, str))
    return (field.description or "") + (f" One of {choices}." if choices else "") + (" *Secret.*" if secret else "")


def _default(field: FieldInfo) -> str:
    value: Any = field.default
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, tuple):
        value = ",".join(str(part) for part in value)
    if isinstance(value, bool):
        value = int(value)
    return "" if value is None or value == "" else f"`{value}`"
