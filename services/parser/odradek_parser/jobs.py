"""How the jobs whose pages come in want them read."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from odradek.contracts import JobRecord
from odradek.specification import JobSpecification, reading_rules
from odradek_parser.core.parsing import Reader
from odradek_parser.core.rules import Extraction, compile_rules
from odradek_parser.plugins import PluginRefused, load

MOST_READERS = 200


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A job whose pages cannot be read, and why."""

    error: str


class Readers:
    """Readers by job, compiled once for each specification; the least used are forgotten."""

    def __init__(self, *, product: str, plugins: tuple[str, ...]) -> None:
        self._product = product
        self._plugins = plugins
        self._known: OrderedDict[str, tuple[dict[str, Any], Reader | Unreadable]] = OrderedDict()

    def reader(self, record: JobRecord) -> Reader | Unreadable:
        """The reader for a job's record; a new version with the same specification changes nothing."""
        known = self._known.get(record.job)
        if known is None or (known[0] is not record.spec and known[0] != record.spec):
            known = (record.spec, self._compile(record.spec))
        self._known[record.job] = known
        self._known.move_to_end(record.job)
        if len(self._known) > MOST_READERS:
            self._known.popitem(last=False)
        return known[1]

    def _compile(self, wire: dict[str, Any]) -> Reader | Unreadable:
        try:
            spec = JobSpecification.from_wire(wire)
            rules = compile_rules(spec)
            extraction = Extraction(rules.rules, load(spec.plugins, self._plugins))
            read_by = None if spec.schedule is None else reading_rules(wire)
            return Reader(spec, product=self._product, extraction=extraction, rules=read_by)
        except PluginRefused as refused:
            return Unreadable(str(refused))
        except ValueError as error:
            return Unreadable(f"the specification of the job cannot be read: {' '.join(str(error).split())[:300]}")
