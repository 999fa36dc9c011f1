"""The certification scenario of AuthZEN 1.0 (openid/authzen, certification/authorization-api-1_0-scenario.md).

Headgate's actions and types have canonical names, so that the scenario's names are mapped here: a `record` is a
`table`, and `read`, `write` and `delete` are `table.select`, `table.insert` and `table.drop`. The rules are a company's
own access model, in `records`. A record's status and a person's role are facts there; the properties in a request are
ignored, because the caller could claim anything.
"""

import copy
from pathlib import Path
from typing import Any

import pytest

from headgate.endpoints.authzen.endpoints import ENDPOINTS, TEXT, respond
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId
from tests.endpoints.authzen.authzen_client import answer, company, sent

ACTIONS = {"read": "table.select", "write": "table.insert", "delete": "table.drop"}
BACK = {canonical: name for name, canonical in ACTIONS.items()}

COMPANY = company(Path(__file__).parent / "records")
GUARD = PrincipalId("guard")
"""The enforcement point, which may ask about other subjects."""

ALICE, BOB = {"type": "user", "id": "alice"}, {"type": "user", "id": "bob"}
ADMIN = {**BOB, "properties": {"role": "admin"}}
ACTIVE = {"type": "record", "id": "record-1", "properties": {"status": "active"}}
ARCHIVED = {"type": "record", "id": "record-2", "properties": {"status": "archived"}}
FIRST, SECOND = {"type": "record", "id": "record-1"}, {"type": "record", "id": "record-2"}
READ, WRITE = {"name": "read"}, {"name": "write"}
CONTEXT = {"time": "2025-06-27T18:03-07:00", "ip": "192.168.1.1"}


def canonical(value: Any) -> Any:
    """Return a request with Headgate's names."""
    if isinstance(value, list):
        return [canonical(each) for each in value]
    if not isinstance(value, dict):
        return value
    said = {key: canonical(each) for key, each in value.items()}
    if said.get("type") == "record":
        said["type"] = "table"
    if said.get("name") in ACTIONS:
        said["name"] = ACTIONS[said["name"]]
    return said


def decided(body: dict[str, Any]) -> bool:
    """Send an evaluation and return its decision."""
    found = answer(COMPANY, GUARD, "evaluation", canonical(body))
    assert isinstance(found["decision"], bool)
    assert isinstance(found.get("context", {}), dict)
    return found["decision"]


def each_decided(body: dict[str, Any]) -> list[bool]:
    """Send evaluations and return their decisions."""
    found = answer(COMPANY, GUARD, "evaluations", canonical(body))
    assert "decision" not in found
    return [each["decision"] for each in found["evaluations"]]


def results(path: str, body: dict[str, Any]) -> list[str]:
    """Send a search and return its results, with the scenario's names."""
    found = answer(COMPANY, GUARD, f"search/{path}", canonical(body))
    for each in found["results"]:
        assert set(each) == ({"name"} if path == "action" else {"type", "id"})
    return [str(each.get("id") or BACK.get(each["name"], each["name"])) for each in found["results"]]


def status(path: str, body: object, content_type: str = "application/json") -> int:
    """Send a body and return the status; check that an error has a text."""
    if content_type == "application/json":
        response = sent(COMPANY, GUARD, path, canonical(body))
    else:
        response = respond(ENDPOINTS[0], content_type, b"{}", COMPANY, Caller(GUARD))
    assert response.status == 200 or (response.content_type == TEXT and response.body)
    return response.status


def without(body: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return a body without the key at this path."""
    rest = copy.deepcopy(body)
    inner = rest
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return rest


EVALUATION: dict[str, Any] = {"subject": ALICE, "action": READ, "resource": FIRST}


class TestBasicCertification:
    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            pytest.param({"subject": ALICE, "action": READ, "resource": FIRST}, True, id="1"),
            pytest.param({"subject": ALICE, "action": WRITE, "resource": FIRST}, True, id="2"),
            pytest.param({"subject": BOB, "action": READ, "resource": FIRST}, True, id="3"),
            pytest.param({"subject": BOB, "action": WRITE, "resource": FIRST}, False, id="4"),
            pytest.param({"subject": ALICE, "action": WRITE, "resource": ARCHIVED}, False, id="5"),
            pytest.param({"subject": ADMIN, "action": WRITE, "resource": ARCHIVED}, True, id="6"),
            pytest.param(
                {"subject": ALICE, "action": {"name": "delete", "properties": {"soft": True}}, "resource": FIRST},
                True,
                id="7",
            ),
            pytest.param(
                {"subject": ALICE, "action": {"name": "delete", "properties": {"soft": False}}, "resource": FIRST},
                False,
                id="8",
            ),
        ],
    )
    def test_each_rule_gives_the_expected_decision_repeatedly(self, body: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
        assert [decided(body) for _ in range(3)] == [expected] * 3
        assert decided({**body, "context": CONTEXT}) is expected

    def test_further_properties_and_unknown_fields_change_nothing(self) -> None:
        more = {
            "subject": {**ALICE, "properties": {"department": "Sales", "role": "manager"}},
            "action": {"name": "read", "properties": {"method": "GET", "nested": {"deep": [1, None, {"a": []}]}}},
            "resource": {**FIRST, "properties": {"status": "active", "owner": "bob"}},
        }

        assert decided(more)
        assert decided({**EVALUATION, "foo": "bar", "futureField": {"nested": True}})

    @pytest.mark.parametrize("key", ["subject", "action", "resource"])
    def test_a_missing_field_is_a_bad_request(self, key: str) -> None:
        assert status("evaluation", without(EVALUATION, key)) == 400

    @pytest.mark.parametrize(
        "keys", [("subject", "type"), ("subject", "id"), ("action", "name"), ("resource", "type"), ("resource", "id")]
    )
    def test_a_missing_sub_field_is_a_bad_request(self, keys: tuple[str, str]) -> None:
        assert status("evaluation", without(EVALUATION, *keys)) == 400

    @pytest.mark.parametrize(
        "change", [{"subject": "alice"}, {"action": {"name": 123}}, {"resource": []}, {"context": "now"}]
    )
    def test_a_field_of_another_type_is_a_bad_request(self, change: dict[str, Any]) -> None:
        assert status("evaluation", {**EVALUATION, **change}) == 400

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"alice"', b"\xff\xfe{}", b"{} {}"])
    def test_a_body_that_is_no_object_of_json_is_a_bad_request(self, body: bytes) -> None:
        assert status("evaluation", body) == 400

    def test_another_content_type_is_a_bad_request(self) -> None:
        assert status("evaluation", {}, "text/plain") == 400


class TestBatchCertification:
    def test_decisions_come_in_the_order_of_the_evaluations(self) -> None:
        assert each_decided(
            {"subject": BOB, "resource": FIRST, "evaluations": [{"action": READ}, {"action": WRITE}]}
        ) == [True, False]

    def test_evaluations_without_defaults_are_decided_independently(self) -> None:
        assert each_decided({"evaluations": [EVALUATION, {"subject": BOB, "action": WRITE, "resource": FIRST}]}) == [
            True,
            False,
        ]

    def test_a_resource_replaces_the_default_as_a_whole(self) -> None:
        body = {"subject": ALICE, "action": WRITE, "resource": ACTIVE, "evaluations": [{}, {"resource": ARCHIVED}]}

        assert each_decided(body) == [True, False]

    def test_a_subject_in_an_evaluation_is_used_as_a_whole(self) -> None:
        body = {"action": WRITE, "resource": ARCHIVED, "evaluations": [{"subject": ALICE}, {"subject": ADMIN}]}

        assert each_decided(body) == [False, True]

    def test_the_context_is_inherited_unless_there_is_another(self) -> None:
        evaluations = [{"resource": FIRST}, {"resource": SECOND, "context": {"source": "batch-override"}}]

        assert each_decided({"subject": ALICE, "action": READ, "context": CONTEXT, "evaluations": evaluations})[0]

    def test_an_incomplete_evaluation_is_denied_and_the_others_are_answered(self) -> None:
        body = {
            "subject": ALICE,
            "action": READ,
            "options": {"evaluations_semantic": "execute_all"},
            "evaluations": [{"resource": FIRST}, {}],
        }

        assert each_decided(body) == [True, False]

    @pytest.mark.parametrize("more", [{}, {"evaluations": []}])
    def test_a_batch_without_evaluations_is_a_single_evaluation(self, more: dict[str, Any]) -> None:
        assert answer(COMPANY, GUARD, "evaluations", canonical({**EVALUATION, **more}))["decision"] is True


SUBJECTS: dict[str, Any] = {"subject": {"type": "user"}, "action": READ, "resource": FIRST}
RESOURCES: dict[str, Any] = {"subject": ALICE, "action": READ, "resource": {"type": "record"}}
SEARCHES: dict[str, dict[str, Any]] = {
    "subject": SUBJECTS,
    "resource": RESOURCES,
    "action": {"subject": ALICE, "resource": FIRST},
}


class TestSearchCertification:
    def test_a_subject_search_returns_the_allowed_subjects(self) -> None:
        assert results("subject", SUBJECTS) == ["alice", "bob"]
        assert results("subject", {**SUBJECTS, "action": WRITE, "resource": ARCHIVED}) == ["bob"]

    def test_a_resource_search_returns_the_allowed_resources(self) -> None:
        assert results("resource", RESOURCES) == ["record-1", "record-2"]
        assert results("resource", {"subject": ADMIN, "action": WRITE, "resource": {"type": "record"}}) == ["record-2"]

    def test_an_action_search_returns_the_allowed_actions(self) -> None:
        assert {"read", "write"} <= set(results("action", SEARCHES["action"]))
        assert "write" in results("action", {"subject": ADMIN, "resource": ARCHIVED})

    @pytest.mark.parametrize("path", SEARCHES)
    def test_the_context_does_not_change_a_search_result(self, path: str) -> None:
        assert results(path, {**SEARCHES[path], "context": CONTEXT}) == results(path, SEARCHES[path])

    def test_the_id_of_the_searched_entity_is_ignored(self) -> None:
        assert results("subject", {**SUBJECTS, "subject": ALICE}) == results("subject", SUBJECTS)
        assert results("resource", {**RESOURCES, "resource": FIRST}) == results("resource", RESOURCES)

    @pytest.mark.parametrize("path", SEARCHES)
    @pytest.mark.parametrize(
        "change",
        [
            {"subject": {"type": "spaceship", "id": "alice"}},
            {"resource": {"type": "spaceship", "id": "record-1"}},
            {"subject": {"type": "user", "id": "nobody"}, "resource": {"type": "record", "id": "nothing"}},
        ],
    )
    def test_a_search_with_unknown_types_or_ids_returns_nothing(self, path: str, change: dict[str, Any]) -> None:
        found = results(path, {**SEARCHES[path], **change})

        assert found == []

    @pytest.mark.parametrize(
        ("path", "keys"),
        [
            ("subject", ("action",)),
            ("resource", ("subject",)),
            ("action", ("resource",)),
            ("subject", ("resource", "id")),
            ("resource", ("subject", "id")),
            ("action", ("subject", "id")),
        ],
    )
    def test_a_search_with_an_incomplete_other_entity_is_a_bad_request(self, path: str, keys: tuple[str, ...]) -> None:
        assert status(f"search/{path}", without(SEARCHES[path], *keys)) == 400

    def test_a_search_page_links_to_the_next_until_the_last_one(self) -> None:
        first = answer(COMPANY, GUARD, "search/subject", canonical({**SUBJECTS, "page": {"limit": 1}}))
        token = first["page"]["next_token"]
        second = answer(COMPANY, GUARD, "search/subject", canonical({**SUBJECTS, "page": {"token": token}}))

        assert [each["id"] for each in (*first["results"], *second["results"])] == ["alice", "bob"]
        assert second["page"] == {"next_token": "", "count": 1, "total": 2}
