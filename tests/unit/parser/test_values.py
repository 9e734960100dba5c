from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.specification import ValueType
from odradek_parser.core.values import MOST_GUESSES, NoValue, Setting, Tongue, converter

HERE = Setting("https://books.example/list/", 1_700_000_000_000)


def value(kind: ValueType, text: str, locale: str | None = None) -> Any:
    return converter(kind, locale)(text, HERE)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.299,00 €", "1299.00"), ("$1,299.00", "1299.00"), ("EUR 12.34", "12.34"), ("3,50", "3.50"), ("12", "12"),
        ("1,234", "1234"), ("1.234.567", "1234567"), ("1.234.567,8", "1234567.8"), ("0.125", "0.125"),
        ("1234.5678", "1234.5678"), ("1 299,50 zł", "1299.50"), ("1\u202f299,50", "1299.50"),
        ("1\u2019299.00", "1299.00"),
        ("₹1,23,456.78", "123456.78"), ("-5", "-5"), ("\u22125,5", "-5.5"), ("MODEL-5", "5"), ("10 %", "10"),
        (".5", "0.5"), ("1,299.999", "1299.999"), ("\u0663\u066b\u0665", "3.5"), ("007", "7"), ("0", "0"),
        ("1'000", "1000"),
        ("1\u00a0299,00 z\u0142", "1299.00"), ("1'299.00 CHF", "1299.00"), ("CHF 1\u2019299.\u2013", "1299"),
        ("1.299,- \u20ac", "1299"), ("\u20ac1.299", "1299"), ("US$ 1,299", "1299"), ("R$ 1.299,90", "1299.90"),
        ("\u00a5129,800", "129800"), ("129,800\u5186", "129800"), ("1,299 kr.", "1299"), ("1 299 K\u010d", "1299"),
        ("\u20b41 299,50", "1299.50"), ("\u0661\u0662\u0669\u0669\u066b\u0665\u0660", "1299.50"),
        ("\u0661\u066c\u0662\u0669\u0669\u066b\u0665", "1299.5"), ("\u06f1\u06f2\u06f9", "129"),
        ("+3.7 %", "3.7"), ("- 12,5 \u00b0C", "-12.5"), ("RM12.00/kg", "12.00"), ("0,99", "0.99"), ("\u00a30.5", "0.5"),
    ],
)  # fmt: skip
def test_a_decimal_without_a_locale_goes_by_its_looks(text: str, number: str) -> None:
    assert value("decimal", text) == number


@pytest.mark.parametrize(
    ("text", "locale", "number"),
    [
        ("1.299", "de_DE", "1299"), ("1.299", "en_US", "1.299"), ("1,299", "de_DE", "1.299"),
        ("1,299", "en_US", "1299"),
        ("1 299,5", "fr_FR", "1299.5"), ("1\u2019299.5", "de_CH", "1299.5"), ("1,23,456", "en_IN", "123456"),
        ("12,34,56,789.5", "hi_IN", "123456789.5"), ("1 299,00 z\u0142", "pl_PL", "1299.00"),
        ("1.299,00 \u20ac", "es_ES", "1299.00"), ("1\u202f299,00 \u20ac", "fr_FR", "1299.00"),
        ("R$ 1.299", "pt_BR", "1299"), ("1.5", "ja_JP", "1.5"), ("1 299,5", "sv_SE", "1299.5"),
        ("1 299,5", "ru_RU", "1299.5"), ("1.299,5", "tr_TR", "1299.5"), ("1\u2019299.00", "de_CH", "1299.00"),
        ("\u0661\u0662\u0669\u066b\u0665", "ar_EG", "129.5"),
    ],
)  # fmt: skip
def test_a_locale_decides_what_the_marks_mean(text: str, locale: str, number: str) -> None:
    assert value("decimal", text, locale) == number


@pytest.mark.parametrize(
    ("text", "locale"),
    [("5-10", None), ("1.2.3", None), ("none", None), ("1,000,00", None), ("12.34", "de_DE"), ("$1,299.00", "de_DE"),
     ("9" * 500, None)],
)  # fmt: skip
def test_what_is_no_number_or_in_doubt_is_refused(text: str, locale: str | None) -> None:
    with pytest.raises(NoValue):
        value("decimal", text, locale)


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2, allow_nan=False))
def test_a_decimal_with_two_places_reads_as_itself(number: Any) -> None:
    plain = format(number, "f")

    assert value("decimal", f"EUR {plain}") in (plain, plain.removeprefix("-") if number == 0 else plain)


def test_an_integer_has_no_fraction_that_counts() -> None:
    assert (value("integer", "1.299,00"), value("integer", "12 pieces")) == (1299, 12)
    with pytest.raises(NoValue):
        value("integer", "12.5")


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("Yes", True), ("true", True), ("1", True), (" ON ", True), ("y", True), ("T", True),
        ("off", False), ("0", False), ("No", False), ("FALSE", False), ("n", False),
    ],
)  # fmt: skip
def test_a_boolean_is_a_word_for_it(text: str, truth: bool) -> None:  # noqa: FBT001  (a table of answers)
    assert value("boolean", text) is truth


def test_a_boolean_that_is_no_such_word_is_refused() -> None:
    with pytest.raises(NoValue):
        value("boolean", "perhaps")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (" ../a?b=1#c ", "https://books.example/a?b=1#c"), ("//cdn.example/x", "https://cdn.example/x"),
        ("HTTP://A.example:80/%7e", "http://a.example/%7e"), ("?p=2", "https://books.example/list/?p=2"),
        ("\u00e9", "https://books.example/list/%C3%A9"), ("mailto:a@b", "mailto:a@b"), ("", "https://books.example/list/"),
    ],
)  # fmt: skip
def test_a_url_is_made_absolute(text: str, url: str) -> None:
    assert value("url", text) == url


@pytest.mark.parametrize("text", ["http://[", "http://a b/", "https://:80"])
def test_what_cannot_be_a_url_is_refused(text: str) -> None:
    with pytest.raises(NoValue):
        value("url", text)


@pytest.mark.parametrize(
    ("text", "locale", "moment"),
    [
        ("2024-05-01", None, "2024-05-01T00:00:00Z"),
        ("2024-05-01T10:00:00+02:00", None, "2024-05-01T08:00:00Z"),
        ("Wed, 01 May 2024 10:00:00 +0200", None, "2024-05-01T08:00:00Z"),
        ("1. Mai 2024", "de_DE", "2024-05-01T00:00:00Z"),
        ("01/05/2024", "en_GB", "2024-05-01T00:00:00Z"),
        ("01/05/2024", "en_US", "2024-01-05T00:00:00Z"),
        ("2 hours ago", "en_US", "2023-11-14T20:13:00Z"),
        ("3 de mayo de 2024", "es_ES", "2024-05-03T00:00:00Z"),
        ("3 mai 2024 \u00e0 14:30", "fr_FR", "2024-05-03T14:30:00Z"),
        ("3 maggio 2024", "it_IT", "2024-05-03T00:00:00Z"),
        ("3 maja 2024", "pl_PL", "2024-05-03T00:00:00Z"),
        ("3 \u043c\u0430\u044f 2024 \u0433.", "ru_RU", "2024-05-03T00:00:00Z"),
        ("2024\u5e745\u67083\u65e5", "ja_JP", "2024-05-03T00:00:00Z"),
        ("2024\u5e745\u67083\u65e5", "zh_CN", "2024-05-03T00:00:00Z"),
        ("2024\ub144 5\uc6d4 3\uc77c", "ko_KR", "2024-05-03T00:00:00Z"),
        ("3 May\u0131s 2024", "tr_TR", "2024-05-03T00:00:00Z"),
        ("3. kv\u011btna 2024", "cs_CZ", "2024-05-03T00:00:00Z"),
        ("3 mei 2024", "nl_NL", "2024-05-03T00:00:00Z"),
        ("3 de maio de 2024", "pt_BR", "2024-05-03T00:00:00Z"),
        ("vor 3 Tagen", "de_DE", "2023-11-11T22:13:00Z"),
        ("hace 2 horas", "es_ES", "2023-11-14T20:13:00Z"),
        ("May 3, 2024 5:07 PM", "en_US", "2024-05-03T17:07:00Z"),
        ("1 May 2024 10:00 PM", "en_GB", "2024-05-01T22:00:00Z"),
        ("2024-05-01 10:00:00", None, "2024-05-01T10:00:00Z"),
        ("20240501T100000Z", None, "2024-05-01T10:00:00Z"),
    ],
)
def test_a_date_is_utc_and_a_relative_one_counts_from_the_fetch(text: str, locale: str | None, moment: str) -> None:
    assert value("datetime", text, locale) == moment


@pytest.mark.parametrize("text", ["x", "soon", "9" * 200, "2024-13-45", "0001-01-01T00:00:00+23:00"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(NoValue):
        value("datetime", text, "en")


@given(
    st.sampled_from(["integer", "decimal", "boolean", "url"]),
    st.text(max_size=60),
    st.sampled_from([None, "de_DE", "fr_FR", "ar_EG"]),
)
def test_any_text_is_a_value_or_refused(kind: ValueType, text: str, locale: str | None) -> None:
    try:
        found = value(kind, text, locale)
    except NoValue as refused:
        found = str(refused)
    assert found not in (None, "")


@pytest.mark.parametrize("language", [None, "no-such-language"])
def test_a_page_in_no_known_language_has_a_bounded_number_of_dates_looked_for_in_all(language: str | None) -> None:
    here = Setting("https://books.example/", 1_700_000_000_000, language, Tongue(guesses=0))
    read = converter("datetime", None)

    with pytest.raises(NoValue, match="add a locale"):
        read("qq zz 4", here)
    assert read("2024-02-29T10:00:00+02:00", here) == "2024-02-29T08:00:00Z"


def test_the_first_date_that_is_understood_tells_the_language_of_the_next() -> None:
    here = Setting("https://books.example/", 1_700_000_000_000)
    read = converter("datetime", None)

    found = [read(f"{day}. M\u00e4rz 2024", here) for day in range(1, 29)]

    assert found == [f"2024-03-{day:02}T00:00:00Z" for day in range(1, 29)]
    assert here.tongue.guesses == MOST_GUESSES - 1
