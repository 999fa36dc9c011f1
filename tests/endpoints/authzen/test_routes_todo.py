"""The Todo scenario of AuthZEN's interoperability events (authzen-interop.net), by a company's own model and facts.

Headgate's actions have canonical names: the scenario's `can_update_todo` is `table.update` here, and so on. In the
scenario, subjects are ids of an identity provider, and the request names the owner of a todo. Here subjects are first
names, and the owner of a todo is a fact. `todo-1` represents the list.
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
    # Rick has the roles of an evil genius and an admin; editors may change their own todos, and viewers none.
    **{
        (who, call, owner): who == "rick" or (who in EDITORS and who == owner)
        for who, call, owner in product(PEOPLE, ("can_update_todo", "can_delete_todo"), PEOPLE)
    },
}
"""The published decisions: a user, a call and the owner of the todo, with whether it is allowed."""


def request(who: str, call: str, owner: str) -> dict[str, Any]:
    """Return the evaluation that the backend of the Todo application sends."""
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
