"""The first cases of `python -m tests.bench.fuzz_parser`; number 229 is a page on which trafilatura fails."""

from tests.bench.fuzz_parser import fuzz


def test_mangled_pages_and_rules_neither_crash_nor_hang_the_parser() -> None:
    found = fuzz(seconds=60, seed=1, most=240)

    assert (found.cases, found.failures) == (240, [])
