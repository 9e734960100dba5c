from collections.abc import Mapping

import pytest

from odradek.errors import UserError
from odradek.settings import Settings


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.read({}) == Settings()


def test_variables_of_others_and_empty_ones_are_ignored() -> None:
    assert Settings.read({"PATH": "/bin", "ODRADEK_PARTITIONS": ""}) == Settings()


def test_what_only_commands_read_stops_no_service() -> None:
    assert Settings.read({"ODRADEK_API_KEY": "secret", "ODRADEK_API_URL": "http://127.0.0.1:8000"}) == Settings()


def test_what_is_set_is_read() -> None:
    settings = Settings.read(
        {
            "ODRADEK_KAFKA_BOOTSTRAP": "a:1,b:2",
            "ODRADEK_RETRY_DELAYS": "1s, 2m",
            "ODRADEK_PLUGINS": "a:b,c:d",
            "ODRADEK_INSECURE": "1",
            "ODRADEK_DRAIN": "1m",
        }
    )
    expected = Settings(
        kafka_bootstrap="a:1,b:2", retry_delays=(1.0, 120.0), plugins=("a:b", "c:d"), insecure=True, drain=60.0
    )
    assert expected == settings


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"ODRADEK_PARTITIONS": "many"}, "ODRADEK_PARTITIONS is wrong: "),
        ({"ODRADEK_PARTITIONS": "0"}, "ODRADEK_PARTITIONS is wrong: "),
        ({"ODRADEK_DRAIN": "soon"}, "ODRADEK_DRAIN is wrong: 'soon' is not a duration"),
        ({"ODRADEK_KAFKA_SECURITY_PROTOCOL": "TLS"}, "ODRADEK_KAFKA_SECURITY_PROTOCOL is wrong: "),
        ({"ODRADEK_FETCH_CONCURENCY": "3"}, "ODRADEK_FETCH_CONCURENCY is no setting of Odradek"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_variable(environ: Mapping[str, str], says: str) -> None:
    with pytest.raises(UserError) as refusal:
        Settings.read(environ)
    assert str(refusal.value).startswith(says)


def test_secrets_stand_in_no_representation() -> None:
    settings = Settings.read(
        {
            "ODRADEK_KAFKA_SECURITY_PASSWORD": "hush-1",
            "ODRADEK_MONGODB_URL": "mongodb://user:hush-2@db",
            "ODRADEK_ELASTICSEARCH_API_KEY": "hush-3",
            "ODRADEK_ELASTICSEARCH_URL": "https://user:hush-4@search",
        }
    )
    assert "hush" not in repr(settings)


def test_a_refusal_does_not_repeat_a_secret() -> None:
    with pytest.raises(UserError) as refusal:
        Settings.read({"ODRADEK_KAFKA_SECURITY_PASSWORD": "hush", "ODRADEK_PARTITIONS": "x"})
    assert "hush" not in str(refusal.value)


def test_topics_and_groups_carry_the_prefix() -> None:
    settings = Settings(topic_prefix="shop.")
    assert (settings.topic("pages"), settings.group("parser")) == ("shop.pages", "shop.parser")
