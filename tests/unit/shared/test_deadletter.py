from odradek.kafka.deadletter import KEPT_OF_TOO_LARGE, MAX_VALUE_BYTES, dead_letter, dead_record, within_limit
from odradek.kafka.records import Poison, Send
from odradek.testing.records import NOW_MS, a_page_record, a_record
from odradek.topics import DEAD_LETTERS, ITEMS


def test_a_dead_letter_is_the_untouched_message_with_its_reason_and_source() -> None:
    record = a_record(b"\xffno json", topic="odradek.scheduled", partition=3, offset=17, key=b"k")
    expected = Send(
        DEAD_LETTERS,
        "odradek.scheduled-3-17",
        b"\xffno json",
        headers=(
            ("reason", b"undecodable"),
            ("error", b"byte 0"),
            ("service", b"fetcher"),
            ("source_topic", b"odradek.scheduled"),
            ("source_partition", b"3"),
            ("source_offset", b"17"),
            ("source_key", b"k"),
            ("at_ms", str(NOW_MS).encode()),
        ),
    )
    assert expected == dead_letter(Poison(record, "undecodable", "byte 0"), "fetcher", at_ms=NOW_MS)


def test_a_dead_page_keeps_its_metadata() -> None:
    record = a_page_record(b"<html>")
    send = dead_letter(Poison(record, "crashed_parser", "stack"), "parser", at_ms=NOW_MS)
    assert dict(send.headers)["page"] == record.header("page")


def test_two_dead_records_of_one_page_are_two_dead_letters() -> None:
    keys = {
        dead_record(a_record(), value=b"", reason="r", error="", service="parser", place=place).key
        for place in ("book-0", "book-1")
    }
    assert len(keys) == 2


def test_a_message_that_kafka_would_refuse_for_ever_becomes_a_dead_letter() -> None:
    fits = Send(ITEMS, "j:1", b"x" * MAX_VALUE_BYTES)
    assert within_limit(fits, a_record(), "parser") is fits
    refused = within_limit(Send(ITEMS, "j:1", b"x" * (MAX_VALUE_BYTES + 1)), a_record(), "parser")
    assert (refused.topic, refused.value) == (DEAD_LETTERS, b"x" * KEPT_OF_TOO_LARGE)
    assert dict(refused.headers)["reason"] == b"too_large"
