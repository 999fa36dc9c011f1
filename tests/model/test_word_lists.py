"""Named lists of words: what `all NAME` is replaced by, and the limits of lists."""

import pytest

from headgate.decision.conditions import CONDITIONS
from headgate.model.load import diagnose, load_model
from headgate.model.model import Model
from tests.fakes.small_organization import ACTIONS

TEXT = """
model: m
version: 1
LISTS
types:
  organization: {under: []}
  table: {under: [organization]}
  group: {under: [organization]}
roles:
  reader: {on: [organization, table], to: TO, actions: {table: [select]}}
  writer: {on: [organization, table], to: TO, actions: {table: [insert]}}
  owner: {on: [organization], to: TO, actions: {organization: [describe]}}
spread: [{roles: [owner], from: [organization]}]
assign:
  - {holder: owner, roles: ROLES, on: [organization, table]}
"""


def text(lists: str, roles: str = "[reader, writer, owner]", to: str = "[user, group]") -> str:
    return TEXT.replace("LISTS", lists).replace("ROLES", roles).replace("TO", to)


def loaded(lists: str, roles: str = "[reader, writer, owner]", to: str = "[user, group]") -> Model:
    return load_model(text(lists, roles, to), ACTIONS, "m.yaml", CONDITIONS)


class TestReplacing:
    @pytest.mark.parametrize(
        ("lists", "roles", "to"),
        [
            ("lists: {most: [reader, writer]}", "[all most, owner]", "[user, group]"),
            ("lists: {every: [reader, writer, owner]}", "all every", "[user, group]"),
            ("lists: {a: [reader], b: [all a, writer, owner]}", "all b", "[user, group]"),
            ("lists: {a: [reader, writer], b: [writer, owner]}", "[all a, all b]", "[user, group]"),
            ("lists: {people: [user, group]}", "[reader, writer, owner]", "all people"),
        ],
    )
    def test_a_list_means_its_words(self, lists: str, roles: str, to: str) -> None:
        written, plain = loaded(lists, roles, to), loaded("")

        assert (written.roles, written.assign) == (plain.roles, plain.assign)

    def test_a_list_that_is_defined_later_is_unknown_in_an_earlier_one(self) -> None:
        found = diagnose(text("lists: {b: [all a], a: [reader]}"), ACTIONS, "m.yaml", CONDITIONS)

        assert [each.mistake.code for each in found if each.mistake.code != "HG-M108"] == ["HG-M214"]

    def test_words_that_only_look_like_a_list_stay_what_they_are_without_lists(self) -> None:
        found = diagnose(text("", "[all, reader]"), ACTIONS, "m.yaml", CONDITIONS)

        assert [each.mistake.code for each in found] == ["HG-M202"]


class TestWordsOfTheUser:
    @pytest.mark.parametrize("lists", ["", "lists: {people: [user]}"])
    def test_a_value_of_a_setting_may_begin_with_all(self, lists: str) -> None:
        setting = "settings: {open_to: {on: organization, values: [all users, none], default: none}}"
        model = loaded(f"{lists}\n{setting}")

        assert model.settings["open_to"].values == ("all users", "none")


class TestTheLimit:
    def test_lists_that_mean_too_many_words_are_refused(self) -> None:
        words = ", ".join(f"r{number}" for number in range(5_000))
        rules = "\n".join("  - {holder: owner, roles: all many, on: [organization]}" for _ in range(5))
        found = diagnose(f"{text(f'lists: {{many: [{words}]}}')}{rules}\n", ACTIONS, "m.yaml", CONDITIONS)

        assert [str(each) for each in found] == [
            "m.yaml:20:28: error HG-M111: `lists` has `25000` entries; remove some until there are at most `20000`"
        ]
