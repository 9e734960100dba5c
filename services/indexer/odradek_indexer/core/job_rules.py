"""What the indexer must know of a job: which fields are decimals, who waits for changes, and where things go."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from odradek.contracts import JobRecord
from odradek.stores import ITEMS, collection_of, decimal128

Data = dict[str, Any]
Convert = Callable[[Any], Any]
Fields = dict[str, Convert]


@dataclass(frozen=True, slots=True)
class JobRules:
    """The rules of one version of a job."""

    decimals: dict[str, Fields]
    """Item type to its fields that hold decimals, at whatever depth."""
    announces_new: bool
    """True for jobs with a schedule: a new item is news only where there is an earlier run to compare with."""
    gone_grace_ms: int = 0
    """Items of a page that is missing in two runs are gone at the earliest so long after the first time."""
    collection: str = ITEMS
    """Where its items are stored."""
    archive: str | None = None
    """Where its pages are archived; None: nowhere."""

    def stored_data(self, kind: str, data: Data) -> Data:
        """The data of an item as it is stored: decimals as Decimal128 where they are numbers."""
        fields = self.decimals.get(kind)
        return data if fields is None else _convert(fields, data)


GONE_GRACE_S: Final = 3600.0
"""Where the job says nothing, as its specification has it."""
UNKNOWN: Final = JobRules(decimals={}, announces_new=False)
"""For items of a job that has been deleted: kept as they came."""


def job_rules(record: JobRecord) -> JobRules:
    """The rules in a job's record.

    Raises:
        ValueError: nobody has checked this specification, and it is none.
    """
    try:
        return _job_rules(record)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"the specification of job {record.job[:100]!r} cannot be read: {error}") from None


def _job_rules(record: JobRecord) -> JobRules:
    rules = record.spec.get("extract") or ()
    found = {rule["type"]: _decimal_fields(rule.get("fields") or {}) for rule in rules}
    return JobRules(
        decimals={kind: fields for kind, fields in found.items() if fields},
        announces_new=record.spec.get("schedule") is not None,
        gone_grace_ms=round((record.spec.get("schedule") or {}).get("gone_grace", GONE_GRACE_S) * 1000),
        collection=collection_of(record.spec),
        archive=(record.spec.get("archive") or {}).get("warc"),
    )


def _decimal_fields(fields: dict[str, Any]) -> Fields:
    found: Fields = {}
    for name, rule in fields.items():
        if rule.get("fields"):
            below = _decimal_fields(rule["fields"])
            if below:
                found[name] = _nested(below)
        elif rule.get("type") == "decimal":
            found[name] = _decimal
    return found


def _nested(fields: Fields) -> Convert:
    def convert(value: Any) -> Any:
        if isinstance(value, list):
            return [convert(each) for each in value]
        return _convert(fields, value) if isinstance(value, dict) else value

    return convert


def _convert(fields: Fields, data: Data) -> Data:
    changed = {name: convert(data[name]) for name, convert in fields.items() if name in data}
    return data | changed


def _decimal(value: Any) -> Any:
    if isinstance(value, list):
        return [_decimal(each) for each in value]
    if not isinstance(value, str):
        return value
    number = decimal128(value)
    return value if number is None else number
