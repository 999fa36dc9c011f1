"""Evaluations: the caller and the subject, the facts in use, and the context of a decision."""

import json
from typing import Any, ClassVar

import pytest

from headgate.control.kernel.ports import DocumentPut, LogWrite
from headgate.control.organizations.organization import Organization
from headgate.endpoints.authzen.evaluation import MOST
from headgate.endpoints.authzen.subjects import MOST_EXPLAINED
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, PrincipalAdded, RoleRevoked, TokenIssued
from headgate.facts.ids import PrincipalId, TokenId
from tests.endpoints.authzen.authzen_client import answer, asked, sent, small
from tests.fakes import small_organization as w

VIEWER = w.assigned(w.MEMBER, "viewer", w.RAW)
EXPLAIN = {"explain": True}


def decision(body: dict[str, Any], caller: Caller | PrincipalId = w.MEMBER, *more: Any) -> bool:
    """Return the decision on an evaluation in the small organization."""
    found: bool = answer(small(VIEWER, *more), caller, "evaluation", body)["decision"]
    return found


def elsewhere(place: Organization, *changes: Change) -> None:
    """Append changes like another process."""
    place.store.append(place.store.head(), LogWrite(0.0, None, "elsewhere", changes))


class TestTheSubject:
    def test_an_owner_may_evaluate_another_subject(self) -> None:
        assert decision(asked("member", "table.select", "flights"))
        assert decision(asked("member", "table.select", "flights"), w.OWNER)
        assert not decision(asked("other", "table.select", "flights"), w.OWNER)

    def test_a_member_may_ask_about_itself_by_name(self) -> None:
        place = small(VIEWER)
        named = (DocumentPut("principal", str(w.MEMBER), {"name": "Mem Ber"}),)
        place.store.append(place.store.head(), LogWrite(0.0, None, "named", (), named))
        body = asked("Mem Ber", "table.select", "flights")

        assert answer(place, w.MEMBER, "evaluation", body)["decision"]
        assert sent(place, w.OTHER, "evaluation", body).status == 403

    @pytest.mark.parametrize("other", ["owner", "nobody"])
    def test_another_subject_is_forbidden_to_a_member_whether_it_exists_or_not(self, other: str) -> None:
        refused = sent(small(), w.MEMBER, "evaluation", asked(other, "table.select", "flights"))

        assert (refused.status, refused.decisions) == (403, ())
        assert b"`organization.ask`" in refused.body

    @pytest.mark.parametrize(
        "subject",
        [
            {"type": "service_principal", "id": "member"},
            {"type": "group", "id": "All"},
            {"type": "spaceship", "id": "member"},
            {"type": "user", "id": "nobody"},
        ],
    )
    def test_a_subject_with_a_wrong_type_or_id_is_denied(self, subject: dict[str, str]) -> None:
        body = {**asked("", "table.select", "flights"), "subject": subject}

        assert not decision(body, w.OWNER)

    def test_an_evaluation_of_the_caller_respects_the_scope_of_their_token(self) -> None:
        token = TokenId("narrow")
        issued = TokenIssued(token, w.MEMBER, only=(w.PLANES,))

        assert not decision(asked("member", "table.select", "flights"), Caller(w.MEMBER, token), issued)
        assert decision(asked("member", "table.select", "planes"), Caller(w.MEMBER, token), issued)

    def test_a_token_can_be_the_subject(self) -> None:
        issued = TokenIssued(TokenId("narrow"), w.MEMBER, only=(w.PLANES,))
        body = {**asked("", "table.select", "flights"), "subject": {"type": "token", "id": "narrow"}}

        assert not decision(body, w.OWNER, issued)
        assert decision({**body, "resource": {"type": "table", "id": "planes"}}, w.OWNER, issued)

    def test_a_token_with_only_the_ask_action_may_evaluate_another_subject(self) -> None:
        token = TokenId("asks")
        issued = TokenIssued(token, w.OWNER, actions=("organization.ask",))
        asks = Caller(w.OWNER, token)

        assert decision(asked("member", "table.select", "flights"), asks, issued)
        assert not decision(asked("owner", "table.select", "flights"), asks, issued)

    def test_a_service_principal_can_be_the_subject(self) -> None:
        bot = PrincipalId("bot")
        added = (
            PrincipalAdded(bot, "service_principal"),
            w.assigned(bot, "member", w.ROOT),
            w.assigned(bot, "viewer", w.RAW),
        )
        body = {**asked("", "table.select", "flights"), "subject": {"type": "service_principal", "id": "bot"}}

        assert decision(body, bot, *added)


class TestTheResource:
    def test_a_resource_is_found_by_its_id_or_its_full_name(self) -> None:
        assert decision(asked("member", "table.select", "flights"))
        assert decision(asked("member", "table.select", "lake.raw.flights"))

    @pytest.mark.parametrize(
        "named", ["database:flights", "table:raw", "table:lake.raw", "table:", "table:..", "table:raw.flights"]
    )
    def test_a_resource_with_a_wrong_type_or_name_is_denied(self, named: str) -> None:
        body = asked("owner", "table.select", named)
        body["resource"]["id"] = body["resource"]["id"] or "."

        assert not decision(body, w.OWNER)

    @pytest.mark.parametrize("context", [{}, EXPLAIN])
    def test_a_hidden_resource_is_answered_like_a_missing_one(self, context: dict[str, bool]) -> None:
        texts = set()
        for name in ("salaries", "no-such-table", "lake.secret.salaries", "lake.secret.nothing", "lake.nothing.x"):
            body = asked("member", "table.select", name, context=context)
            told = json.dumps(answer(small(VIEWER), w.MEMBER, "evaluation", body))
            texts.add(told.replace(name, "NAME"))

        assert len(texts) == 1


class TestWhatIsSaidOfTheCall:
    def test_action_properties_are_considered_in_the_decision(self) -> None:
        give = asked("admin", "assignment.add", "table:flights")
        give["action"]["properties"] = {"role": "viewer", "to": "other"}

        assert decision(give, w.ADMIN)
        assert not decision({**give, "subject": {"type": "user", "id": "member"}}, w.OWNER)

    def test_an_action_property_that_names_a_missing_resource_is_denied(self) -> None:
        make = asked("owner", "project.create_query", "project")
        make["action"]["properties"] = {"inputs": ["no-such-table"], "outputs": [{"new_table_in": "raw"}]}

        assert not decision(make, w.OWNER)
        make["action"]["properties"]["inputs"] = ["flights"]
        assert decision(make, w.OWNER)

    @pytest.mark.parametrize(
        "said", [{"role": 3}, {"to": ["a"]}, {"outputs": [{"somewhere": "else"}]}, {"stream": {"a": 1}}]
    )
    def test_an_action_property_of_unknown_form_is_a_bad_request(self, said: dict[str, Any]) -> None:
        body = asked("owner", "assignment.add", "table:flights")
        body["action"]["properties"] = said

        assert sent(small(), w.OWNER, "evaluation", body).status == 400


class TestASize:
    @pytest.mark.parametrize(
        ("part", "key", "most"),
        [
            ("subject", "id", 1000),
            ("subject", "type", 1000),
            ("resource", "id", 1000),
            ("resource", "type", 1000),
            ("action", "name", 100),
        ],
    )
    @pytest.mark.parametrize("properties", [{}, {"properties": {"kind": "a"}}], ids=["bare", "with properties"])
    def test_the_length_of_a_type_id_or_name_is_bounded(
        self, part: str, key: str, most: int, properties: dict[str, Any]
    ) -> None:
        body = asked("member", "table.select", "flights")
        place = small(VIEWER)

        body[part] = {**body[part], **properties, key: "x" * most}
        assert sent(place, w.OWNER, "evaluation", body).status == 200
        body[part][key] += "x"
        refused = sent(place, w.OWNER, "evaluation", body)

        text = f"`{part}.{key}` has {most + 1:,} characters; send at most {most:,}"
        assert (refused.status, refused.body.decode()) == (400, text)

    @pytest.mark.parametrize("part", ["subject", "action", "resource"])
    @pytest.mark.parametrize(
        ("properties", "values"),
        [
            ({"k": [1] * 1000}, 1001),
            ({"k": [{"a": 1}] * 500}, 1001),
            ({"k": [[[1] * 999]]}, 1002),
            ({"k": "x" * 100_000}, 1001),
            ({"x" * 100_000: 1}, 1001),
            ({str(each): None for each in range(1001)}, 1001),
        ],
        ids=["list", "objects", "lists", "text", "key", "keys"],
    )
    def test_the_number_of_property_values_is_bounded(self, part: str, properties: dict[str, Any], values: int) -> None:
        body = asked("member", "table.select", "flights")
        body[part]["properties"] = properties

        refused = sent(small(VIEWER), w.OWNER, "evaluation", body)

        text = f"`{part}.properties` has {values:,} values; send at most 1,000"
        assert (refused.status, refused.body.decode()) == (400, text)

    def test_the_largest_allowed_number_of_property_values_is_accepted(self) -> None:
        body = asked("member", "table.select", "flights")
        body["action"]["properties"] = {"k": [1] * 999}

        assert decision(body)

    def test_the_properties_of_a_default_action_are_bounded_across_evaluations(self) -> None:
        body = asked("member", "table.select", "flights", evaluations=[{}] * MOST)
        body["action"]["properties"] = {"k": [1] * 19}
        place = small(VIEWER)

        assert len(answer(place, w.MEMBER, "evaluations", body)["evaluations"]) == MOST
        body["action"]["properties"]["k"].append(1)
        refused = sent(place, w.MEMBER, "evaluations", body)

        assert refused.status == 400
        assert refused.body.startswith(b"`action.properties` has 21 values for 1,000 evaluations")

    def test_an_oversized_id_in_one_of_several_evaluations_is_an_error_of_that_one(self) -> None:
        body = asked("member", "table.select", "flights")
        body["evaluations"] = [{"resource": {"type": "table", "id": "x" * 1001}}, {}]

        found = answer(small(VIEWER), w.MEMBER, "evaluations", body)["evaluations"]

        assert [each["decision"] for each in found] == [False, True]
        assert found[0]["context"]["error"]["status"] == 400

    def test_the_length_of_a_searched_type_is_bounded(self) -> None:
        body = asked("member", "table.select", "flights")

        assert sent(small(), w.OWNER, "search/resource", {**body, "resource": {"type": "x" * 1001}}).status == 400
        assert (
            sent(small(), w.OWNER, "search/action", {**body, "resource": {"type": "x" * 1001, "id": "a"}}).status == 400
        )


class TestTheAnswer:
    def test_an_answer_has_revision_model_and_reason(self) -> None:
        found = answer(small(VIEWER), w.MEMBER, "evaluation", asked("member", "table.select", "flights"))

        assert found == {
            "decision": True,
            "context": {
                "revision": 1,
                "model": f"nekt {w.NEKT.version}",
                "reason": {"code": "allowed", "text": "`table.select` on `flights` is allowed"},
                "obligations": [],
            },
        }

    def test_an_explained_allow_lists_every_path_that_allows_it(self) -> None:
        body = asked("member", "table.select", "flights", context=EXPLAIN)

        told = answer(small(VIEWER), w.MEMBER, "evaluation", body)["context"]

        assert told["paths"] == [
            {"role": "viewer", "subject": "member", "assigned_role": "viewer", "assigned_on": "raw"}
        ]

    def test_an_explained_denial_names_the_missing_role_and_its_fixes(self) -> None:
        body = asked("member", "table.insert", "lake.raw.flights", context=EXPLAIN)

        told = answer(small(VIEWER), w.MEMBER, "evaluation", body)["context"]

        assert told["reason"]["code"] == "no-role"
        assert "`editor` on `lake.raw.flights`" in told["reason"]["text"]
        assert told["fixes"][0]["assignments"][0]["role"] == "editor"

    def test_an_action_that_no_model_has_is_unknown_for_every_subject_and_resource(self) -> None:
        reasons = [
            answer(small(VIEWER), w.OWNER, "evaluation", asked(who, "table.selct", place, context=EXPLAIN))["context"][
                "reason"
            ]
            for who in ("member", "owner")
            for place in ("flights", "salaries", "missing")
        ]

        assert {each["code"] for each in reasons} == {"unknown-action"}
        assert {each["text"] for each in reasons} == {"there is no action `table.selct`; did you mean `table.select`?"}

    def test_an_answer_carries_its_decision_for_the_audit(self) -> None:
        answered = sent(small(VIEWER), w.MEMBER, "evaluation", asked("member", "table.insert", "flights"))

        assert [(each.allowed, each.question.action) for each in answered.decisions] == [(False, "table.insert")]


class TestTheFacts:
    def test_an_evaluation_uses_at_least_the_requested_revision(self) -> None:
        place = small(VIEWER)
        assert decision(asked("member", "table.select", "flights", context={"at_least": 1}))

        elsewhere(place, RoleRevoked(w.MEMBER, "viewer", w.RAW))

        body = asked("member", "table.select", "flights")
        assert answer(place, w.MEMBER, "evaluation", {**body, "context": {"at_least": 2}})["decision"] is False
        late = sent(place, w.MEMBER, "evaluation", {**body, "context": {"at_least": 3}})
        text = b"`context.at_least` names revision 3, but the newest revision is 2; retry later, or send at most 2"
        assert (late.status, late.body) == (400, text)

    def test_an_evaluation_as_of_the_past_needs_the_right_to_read_the_audit(self) -> None:
        place = small(VIEWER)
        elsewhere(place, RoleRevoked(w.MEMBER, "viewer", w.RAW))
        place.control.catch_up()
        body = asked("member", "table.select", "flights")

        assert answer(place, w.OWNER, "evaluation", body)["decision"] is False
        for then in (1, "1970-01-01T00:00:00+00:00"):
            past = {**body, "context": {"as_of": then}}
            assert sent(place, w.MEMBER, "evaluation", past).status == 403
        told = answer(place, w.OWNER, "evaluation", {**body, "context": {"as_of": 1}})
        assert (told["decision"], told["context"]["revision"]) == (True, 1)

    @pytest.mark.parametrize(
        "then", [99, -1, True, 1.5, "yesterday", "2026-01-01T00:00:00", "1960-01-01T00:00:00Z", {}]
    )
    def test_an_evaluation_as_of_an_invalid_time_is_a_bad_request(self, then: object) -> None:
        body = asked("owner", "table.select", "flights", context={"as_of": then})

        assert sent(small(), w.OWNER, "evaluation", body).status == 400


class TestSeveral:
    BODY: ClassVar[dict[str, Any]] = {
        "subject": {"type": "user", "id": "member"},
        "action": {"name": "table.select"},
        "evaluations": [
            {"resource": {"type": "table", "id": "flights"}},
            {"resource": {"type": "table", "id": "salaries"}},
            {"resource": {"type": "table", "id": "planes"}},
        ],
    }

    @pytest.mark.parametrize(
        ("semantic", "decisions"),
        [
            ("execute_all", [True, False, True]),
            ("deny_on_first_deny", [True, False]),
            ("permit_on_first_permit", [True]),
        ],
    )
    def test_several_evaluations_stop_as_their_semantic_requires(self, semantic: str, decisions: list[bool]) -> None:
        body = {**self.BODY, "options": {"evaluations_semantic": semantic, "another": 1}}

        found = answer(small(VIEWER), w.MEMBER, "evaluations", body)["evaluations"]

        assert [each["decision"] for each in found] == decisions

    @pytest.mark.parametrize(
        "change",
        [
            {"options": {"evaluations_semantic": "some"}},
            {"options": {"evaluations_semantic": 1}},
            {"options": []},
            {"evaluations": {}},
            {"evaluations": [1]},
            {"evaluations": [{}] * (MOST + 1)},
            {"subject": "member"},
        ],
    )
    def test_malformed_evaluations_are_a_bad_request(self, change: dict[str, Any]) -> None:
        assert sent(small(), w.MEMBER, "evaluations", {**self.BODY, **change}).status == 400

    def test_a_forbidden_evaluation_among_several_is_denied_alone(self) -> None:
        other = {"subject": {"type": "user", "id": "owner"}, "resource": {"type": "table", "id": "flights"}}
        body = {**self.BODY, "evaluations": [*self.BODY["evaluations"][:1], other]}

        found = answer(small(VIEWER), w.MEMBER, "evaluations", body)["evaluations"]

        assert [each["decision"] for each in found] == [True, False]
        assert found[1]["context"]["error"]["status"] == 403

    def test_several_evaluations_look_a_name_up_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        place, looked = small(VIEWER), list[str]()
        monkeypatch.setattr(place.directory, "find", looked.append)
        body = asked("unknown", "table.select", "flights", evaluations=[{}] * 3)

        found = answer(place, w.OWNER, "evaluations", body)["evaluations"]

        assert [each["decision"] for each in found] == [False] * 3
        assert looked == ["unknown"]

    def test_the_number_of_explained_evaluations_is_bounded(self) -> None:
        flights = {"resource": {"type": "table", "id": "flights"}}
        body = {**self.BODY, "evaluations": [flights] * (MOST_EXPLAINED + 1), "context": EXPLAIN}

        found = answer(small(VIEWER), w.MEMBER, "evaluations", body)["evaluations"]

        assert all("paths" in each["context"] for each in found[:-1])
        assert (found[-1]["decision"], found[-1]["context"]["error"]["status"]) == (False, 400)
