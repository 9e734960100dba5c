import stat
from pathlib import Path

import pytest

from odradek.errors import UserError
from odradek.keys import STACK, hashed, key_to_send, known_keys, make_key_file, new_key, read_key
from odradek.settings import Settings


def test_a_key_file_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "key"
    made = (make_key_file(file), read_key(file))
    again = (make_key_file(file), read_key(file))
    assert (made[0], again) == (True, (False, made[1]))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_no_two_keys_are_the_same() -> None:
    assert len({new_key() for _ in range(1000)}) == 1000


def test_the_key_of_the_file_is_accepted_where_no_others_are_named(tmp_path: Path) -> None:
    file = tmp_path / "key"
    make_key_file(file)
    ours = hashed(read_key(file))
    assert known_keys(Settings(api_key_file=file)) == {STACK: ours}
    assert known_keys(Settings(api_key_file=file, api_keys=(f"ann:{'0' * 64}",))) == {"ann": "0" * 64}
    assert known_keys(Settings()) == {}


@pytest.mark.parametrize("text", [None, "", "\n", "\N{SNOWMAN}"])
def test_a_file_without_a_key_is_told_of_by_name(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "key"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UserError, match=f"ODRADEK_API_KEY_FILE {file}"):
        known_keys(Settings(api_key_file=file))


def test_a_key_cannot_be_written_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        make_key_file(tmp_path / "none" / "key")


def test_a_command_sends_the_key_it_was_given_before_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    make_key_file(file)
    there = {"ODRADEK_API_KEY_FILE": str(file)}
    sent = [key_to_send(environ) for environ in ({}, there, there | {"ODRADEK_API_KEY": "mine"})]
    assert sent == [None, read_key(file), "mine"]
