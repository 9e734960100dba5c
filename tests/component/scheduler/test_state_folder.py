"""Each scheduler on a machine has a folder of its own, and gets it again."""

import os
from pathlib import Path

import pytest

from odradek.errors import UserError
from odradek.settings import Settings
from odradek_scheduler.settings import claim_state_folder


def test_two_processes_get_two_folders_and_two_names(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path)

    first, second = claim_state_folder(settings), claim_state_folder(settings)

    assert (first.path, second.path) == (tmp_path / "scheduler" / "0", tmp_path / "scheduler" / "0-1")
    assert first.member != second.member
    os.close(first.lock)
    os.close(second.lock)


def test_a_restarted_process_gets_its_folder_and_its_name_again(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path, instance="a")
    first = claim_state_folder(settings)
    os.close(first.lock)

    again = claim_state_folder(settings)

    assert (again.path, again.member) == (first.path, first.member)
    os.close(again.lock)


def test_a_folder_that_cannot_be_made_is_refused_by_the_name_of_its_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UserError, match=r"ODRADEK_STATE_DIR .* cannot be written"):
        claim_state_folder(Settings(state_dir=tmp_path / "file"))
