"""A search finds exactly the subjects, resources and actions that an evaluation allows, in pages."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.organizations.organization import Organization
from headgate.endpoints.authzen.paging import MOST
from headgate.facts.caller import Caller
from headgate.facts.changes import PrincipalAdded, ResourceCreated, TokenIssued
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from tests.endpoints.authzen.authzen_client import answer, asked, sent, small
from tests.fakes import small_organization as w

BOT = PrincipalId("bot")
MORE = (
    PrincipalAdded(BOT, "service_principal"),
    w.assigned(BOT, "member", w.ROOT),
    w.assigned(BOT, "editor", w.RAW),
    w.assigned(w.MEMBER, "viewer", w.RAW),
    w.assigned(w.OTHER, "manager", w.SALARIES),
    TokenIssued(TokenId("key"), w.MEMBER),
    TokenIssued(TokenId("narrow"), w.MEMBER, only=(w.PLANES,)),
)
PLACE = small(*MORE)
FACTS = PLACE.control.snapshot
ACTIONS = ("table.select", "table.insert", "database.describe", "source.trigger", "assignment.add", "table.nothing")
SAID: tuple[dict[str, Any], ...] = ({}, {"role": "viewer", "to": "other"})
SUBJECTS = tuple((each.kind, id) for id, each in FACTS.principals.items()) + tuple(("token", id) for id in FACTS.tokens)


def ids(path: str, body: dict[str, Any], place: Organization = PLACE) -> list[str]:
    """Return all results of a search, read page by page."""
    found: list[str] = []
    page: dict[str, Any] = {"limit": 2}
    while True:
        told = answer(place, w.OWNER, f"search/{path}", {**body, "page": page})
        assert told["page"]["count"] == len(told["results"]) <= 2
        found += [each.get("id") or each["name"] for each in told["results"]]
        if not told["page"]["next_token"]:
            assert told["page"]["total"] == len(found)
            return found
        page = {"token": told["page"]["next_token"]}


def allowed(bodies: Iterable[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return the sorted names of the bodies that an evaluation allows."""
    return sorted(name for name, body in bodies if answer(PLACE, w.OWNER, "evaluation", body)["decision"])


def body(subject: tuple[str, str], action: str, said: dict[str, Any], resource: str) -> dict[str, Any]:
    """Return an evaluation."""
    return {
        "subject": {"type": subject[0], "id": subject[1]},
        "action": {"name": action, "properties": said},
        "resource": {"type": FACTS.resources[ResourceId(resource)].type, "id": resource},
    }


class TestASearchAgreesWithEvaluation:
    @given(st.sampled_from(ACTIONS), st.sampled_from(sorted(FACTS.resources)), st.sampled_from(SAID))
    def test_a_subject_search_agrees_with_evaluation(self, action: str, resource: str, said: dict[str, Any]) -> None:
        for type in ("user", "service_principal", "token", "team", "group"):
            each = [(id, body((kind, id), action, said, resource)) for kind, id in SUBJECTS if kind == type]

            assert ids("subject", body((type, "ignored"), action, said, resource)) == allowed(each)

    @given(st.sampled_from(ACTIONS), st.sampled_from(SUBJECTS), st.sampled_from(SAID))
    def test_a_resource_search_agrees_with_evaluation(
        self, action: str, subject: tuple[str, str], said: dict[str, Any]
    ) -> None:
        for type in ("table", "database", "source"):
            there = [id for id, each in FACTS.resources.items() if each.type == type]
            each = [(id, body(subject, action, said, id)) for id in there]

            assert ids("resource", body(subject, action, said, there[0])) == allowed(each)

    @given(st.sampled_from(SUBJECTS), st.sampled_from(sorted(FACTS.resources)))
    def test_an_action_search_agrees_with_evaluation(self, subject: tuple[str, str], resource: str) -> None:
        actions = w.NEKT.actions_on(FACTS.resources[ResourceId(resource)].type)
        each = [(action, body(subject, action, {}, resource)) for action in actions]

        assert ids("action", body(subject, "", {}, resource) | {"action": None}) == allowed(each)


class TestWhoMaySearch:
    def test_a_member_may_search_for_their_own_resources(self) -> None:
        found = answer(PLACE, w.MEMBER, "search/resource", asked("member", "table.select", "x"))["results"]

        assert [each["id"] for each in found] == ["flights", "planes"]

    def test_a_search_with_a_restricted_token_returns_only_its_resources(self) -> None:
        narrow = Caller(w.MEMBER, TokenId("narrow"))

        found = answer(PLACE, narrow, "search/resource", asked("member", "table.select", "x"))["results"]

        assert [each["id"] for each in found] == ["planes"]

    @pytest.mark.parametrize("path", ["subject", "resource", "action"])
    def test_a_member_may_not_search_for_another_user(self, path: str) -> None:
        assert sent(PLACE, w.MEMBER, f"search/{path}", asked("owner", "table.select", "flights")).status == 403


class TestAPage:
    BODY = staticmethod(lambda page: asked("owner", "table.select", "x", page=page))

    @pytest.mark.parametrize(
        "page",
        [
            {"limit": -1},
            {"limit": "2"},
            {"limit": True},
            {"token": 3},
            {"token": "nonsense"},
            {"token": "W10="},
            {"token": "NQ=="},
            {"token": "WyJhIiwxZTksIngiXQ=="},
            [],
        ],
    )
    def test_a_malformed_page_is_a_bad_request(self, page: object) -> None:
        assert sent(PLACE, w.OWNER, "search/resource", self.BODY(page)).status == 400

    def test_a_page_token_of_another_search_is_a_bad_request(self) -> None:
        token = answer(PLACE, w.OWNER, "search/resource", self.BODY({"limit": 1}))["page"]["next_token"]

        assert sent(PLACE, w.OWNER, "search/resource", self.BODY({"token": token, "limit": 2})).status == 400
        other = asked("owner", "table.insert", "x", page={"token": token})
        assert sent(PLACE, w.OWNER, "search/resource", other).status == 400

    def test_the_size_of_a_page_may_be_zero_and_is_capped(self) -> None:
        nothing = answer(PLACE, w.OWNER, "search/resource", self.BODY({"limit": 0}))
        assert (nothing["results"], nothing["page"]["total"]) == ([], 3)
        assert nothing["page"]["next_token"]

        many = small(*(ResourceCreated(ResourceId(f"t{n}"), "table", w.RAW, f"t{n}") for n in range(MOST + 5)))
        for page in ({}, {"limit": 10 * MOST}):
            assert len(answer(many, w.OWNER, "search/resource", self.BODY(page))["results"]) == MOST
