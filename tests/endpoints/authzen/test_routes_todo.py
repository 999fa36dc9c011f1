"""The Todo scenario of AuthZEN's interoperability events (authzen-interop.net), by a company's own model and facts.

Headgate's actions have canonical names: what the scenario calls `can_update_todo` is `table.update` here, and so on. Its
subjects are the ids that an identity provider gives, and whose a todo is comes with the request; here people go by their
first names, and whose a todo is, is a fact. `todo-1` stands for the list.
"""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from headgate.facts.ids import PrincipalId
from tests.endpoints.authzen.authzen_client import answer, asked, company

COMPANY = company(Path(__file__).parent / "todo")
BACKEND = PrincipalId("backend")
PEOPLE = ("rick", "morty", "summer", "beth", "jerry")

CALLS = {
    "can_read_user": ("organization.read_subjects", "company"),
    "can_read_todos": ("database.describe", "todos"),
    "can_create_todo": ("database.create_table", "todos"),
    "can_update_todo": ("table.update", "of-{owner}"),
    "can_delete_todo": ("table.drop", "of-{owner}"),
}

EVERYBODY = frozenset(PEOPLE)
EDITORS = frozenset(("rick", "morty", "summer"))

MAY = {
    **{(who, "can_read_user", owner): True for who, owner in product(PEOPLE, PEOPLE)},
    **{(who, "can_read_todos", owner): True for who, owner in product(PEOPLE, PEOPLE)},
    **{(who, "can_create_todo", owner): who in EDITORS for who, owner in product(PEOPLE, PEOPLE)},
    # Rick is an evil genius and an admin; editors have their own, viewers not even those.
    **{
        (who, call, owner): who == "rick" or (who in EDITORS and who == owner)
        for who, call, owner in product(PEOPLE, ("can_update_todo", "can_delete_todo"), PEOPLE)
    },
}
"""Who may do what with a todo of whom, as the scenario publishes it."""


def request(who: str, call: str, owner: str) -> dict[str, Any]:
    """Return what the backend of the Todo application asks."""
    action, resource = CALLS[call]
    return asked(who, action, resource.format(owner=owner))


@pytest.mark.parametrize("call", CALLS)
def test_headgate_gives_each_published_decision(call: str) -> None:
    wrong = [
        key
        for key, expected in MAY.items()
        if key[1] == call and answer(COMPANY, BACKEND, "evaluation", request(*key))["decision"] is not expected
    ]

    assert wrong == []


@pytest.mark.parametrize(
    ("who", "expected"), [("rick", [True, True]), ("morty", [False, True]), ("jerry", [False, False])]
)
def test_two_todos_in_one_request_are_decided_separately(who: str, expected: list[bool]) -> None:
    own = "jerry" if who == "rick" else who
    each = [{"resource": {"type": "table", "id": f"of-{owner}"}} for owner in ("rick", own)]
    body = {**request(who, "can_update_todo", "rick"), "evaluations": each}
    del body["resource"]

    found = answer(COMPANY, BACKEND, "evaluations", body)["evaluations"]

    assert [one["decision"] for one in found] == expected
