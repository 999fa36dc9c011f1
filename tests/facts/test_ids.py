"""Identifiers that name folders."""

import pytest

from headgate.facts.ids import is_folder_name


@pytest.mark.parametrize("id", ["organization", "o_1f", "main.old", "_a-b"])
def test_an_id_of_plain_letters_names_a_folder(id: str) -> None:
    assert is_folder_name(id)


@pytest.mark.parametrize("id", ["", ".", "..", "a/b", "/", "../a", "a\\b", "a b", "a\n", "-a", ".a", "ä"])
def test_an_id_that_leads_elsewhere_names_no_folder(id: str) -> None:
    assert not is_folder_name(id)
