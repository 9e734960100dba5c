import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek_parser.core.charset import Text, codec_of, decoded


def test_the_byte_order_mark_beats_header_and_page() -> None:
    body = codecs.BOM_UTF8 + '<meta charset="latin1">é'.encode()

    assert decoded(body, "shift_jis") == Text('<meta charset="latin1">é', "utf-8", "bom")


def test_the_header_beats_the_page() -> None:
    body = '<meta charset="utf-8">日本'.encode("shift_jis")

    assert decoded(body, "Shift_JIS") == Text('<meta charset="utf-8">日本', "cp932", "header")


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="euc-jp">',
        "<meta charset=EUC-JP>",
        '<meta http-equiv="Content-Type" content="text/html; charset=euc-jp">',
        '<?xml version="1.0" encoding="EUC-JP"?>',
        "<!-- <meta charset=utf-8> --><meta charset=euc-jp>",
    ],
)
def test_the_page_names_its_encoding(head: str) -> None:
    text = head + "日本語"

    assert decoded(text.encode("euc-jp")) == Text(text, "euc_jp", "meta")


def test_a_meta_that_says_utf_16_means_utf_8_since_it_could_be_read() -> None:
    assert decoded("<meta charset=utf-16>é".encode()) == Text("<meta charset=utf-16>é", "utf-8", "meta")


def test_without_a_word_utf_8_is_tried_before_the_detector() -> None:
    assert decoded("<p>日本語".encode()) == Text("<p>日本語", "utf-8", "utf-8")


def test_the_detector_reads_what_nobody_named() -> None:
    text = "日本語のページです。これは文字コードの判定のための文章です。" * 5

    found = decoded(text.encode("shift_jis"))

    assert (found.text, found.source) == (text, "detector")


def test_an_unknown_label_counts_as_none() -> None:
    assert decoded("é".encode(), "klingon") == Text("é", "utf-8", "utf-8")


@pytest.mark.parametrize("label", ["utf-7", "base64", "rot13", "hex", "idna", "unicode_escape", "zlib", "", "\x00"])
def test_what_is_no_encoding_of_the_web_is_none(label: str) -> None:
    assert codec_of(label) is None


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("ISO-8859-1", "windows-1252"), ("us-ascii", "windows-1252"), ("latin1", "windows-1252"), ("GB2312", "gb18030"),
        ("x-sjis", "cp932"), ("euc-kr", "cp949"), ("iso-8859-9", "windows-1254"), ("UTF8", "utf-8"),
    ],
)  # fmt: skip
def test_a_label_means_what_browsers_take_it_for(label: str, codec: str) -> None:
    assert codec_of(label) == codec


def test_bytes_that_do_not_fit_are_replaced_and_that_is_said() -> None:
    assert decoded(b"a\xffb", "utf-8") == Text("a\ufffdb", "utf-8", "header", replaced=True)


@given(st.binary(max_size=300), st.sampled_from([None, "utf-8", "iso-2022-jp", "gb18030", "utf-16", "hz", "nonsense"]))
def test_any_bytes_become_text(body: bytes, header: str | None) -> None:
    assert isinstance(decoded(body, header).text, str)
