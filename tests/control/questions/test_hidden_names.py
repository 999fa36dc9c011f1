"""Questions by name: hidden and missing names get the same answer, except where the caller may discover all resources."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headgate.control.control import Control
from headgate.control.models.library import FixedModels
from headgate.control.questions.hidden_names import NameAuthorizer, Verdict
from headgate.control.questions.messages import RefusalMessages, split_request_link
from headgate.facts.caller import Caller
from headgate.facts.changes import AttributesSet, Change
from headgate.facts.ids import ResourceId, SubjectId
from headgate.model.model import Condition, PropagationRule
from tests.fakes.generated_worlds import few
from tests.fakes.small_organization import (
    FLIGHTS,
    LAKE,
    MEMBER,
    NEKT,
    NOW,
    RAW,
    ROOT,
    SECRET,
    STRANGER,
    assigned,
    controlled,
)

WHO = Caller(MEMBER)
TABLE, DATABASE = "table.select", "database.describe"


class Names:
    """A directory in which each subject's name is its id."""

    def name(self, subject: SubjectId) -> str:
        return subject


def gate_of(control: Control) -> NameAuthorizer:
    return NameAuthorizer(control, RefusalMessages(Names()), "https://headgate.example/api/v1/requests")


def gate(*changes: Change) -> NameAuthorizer:
    control, _ = controlled(*changes)
    return gate_of(control)


def said(verdict: Verdict, name: str) -> tuple[bool, bool, str]:
    """Return all fields of a verdict, with the name replaced."""
    return verdict.allowed, verdict.discoverable, verdict.message.replace(name, "NAME")


NOBODYS: tuple[Change, ...] = ()
READER_OF_RAW = (assigned(MEMBER, "viewer", RAW),)
READER_OF_ONE = (assigned(MEMBER, "viewer", FLIGHTS),)
ADMIN_OF_ALL = (assigned(MEMBER, "admin", ROOT),)


class TestAHiddenNameAndAMissingOne:
    @pytest.mark.parametrize("held", [NOBODYS, READER_OF_RAW, READER_OF_ONE], ids=["nothing", "raw", "one"])
    @pytest.mark.parametrize("action", ["table.select", "table.insert", "table.drop", "table.describe", "unheard"])
    @pytest.mark.parametrize("missing", ["lake.secret.nosuch", "lake.nosuch.salaries"])
    def test_a_hidden_and_a_missing_table_name_are_refused_alike(
        self, held: tuple[Change, ...], action: str, missing: str
    ) -> None:
        asked_of = gate(*held)
        hidden = "lake.secret.salaries"

        told = [said(asked_of.check(WHO, action, name.split(".")), name) for name in (hidden, missing)]

        assert told[0] == told[1]
        assert told[0][:2] == (False, False)

    @pytest.mark.parametrize("held", [NOBODYS, READER_OF_RAW, READER_OF_ONE], ids=["nothing", "raw", "one"])
    @pytest.mark.parametrize("action", ["database.describe", "database.create_table", "database.drop", "unheard"])
    @pytest.mark.parametrize("missing", ["lake.nosuch", "lake.system"])
    def test_a_hidden_and_a_missing_database_name_are_refused_alike(
        self, held: tuple[Change, ...], action: str, missing: str
    ) -> None:
        asked_of = gate(*held)

        told = [said(asked_of.check(WHO, action, name.split(".")), name) for name in ("lake.secret", missing)]

        assert told[0] == told[1]
        assert told[0][:2] == (False, False)

    def test_a_hidden_and_a_missing_name_beside_a_visible_table_are_refused_alike(self) -> None:
        asked_of = gate(*READER_OF_ONE)

        told = [said(asked_of.check(WHO, TABLE, ("lake", "raw", name)), f"lake.raw.{name}") for name in ("planes", "x")]

        assert told[0] == told[1]
        assert told[0][:2] == (False, False)

    @pytest.mark.parametrize("names", [("other", "raw", "t"), ("other",), ("lake", "raw", "flights", "files")])
    def test_a_hidden_name_and_an_impossible_name_are_refused_alike(self, names: tuple[str, ...]) -> None:
        asked_of = gate()
        hidden = said(asked_of.check(WHO, TABLE, ("lake", "secret", "salaries")), "lake.secret.salaries")

        assert said(asked_of.check(WHO, TABLE, names), ".".join(names)) == hidden

    @pytest.mark.parametrize("hidden", [("lake", "secret", "salaries"), ("lake", "secret")])
    def test_a_hidden_and_a_missing_name_are_equally_undiscoverable(self, hidden: tuple[str, ...]) -> None:
        asked_of, missing = gate(*READER_OF_RAW), ("lake", "nosuch", "salaries")[: len(hidden)]

        told = [said(asked_of.discover(WHO, names), ".".join(names)) for names in (hidden, missing)]

        assert told[0] == told[1]
        assert told[0][:2] == (False, False)


class TestAMissingNameIsAllowed:
    """After the decision allows it, Spark reports that the table or database does not exist."""

    @pytest.mark.parametrize(
        ("held", "action", "name"),
        [
            (READER_OF_RAW, "table.select", "lake.raw.nosuch"),
            (READER_OF_RAW, "table.select", "lake.raw.files"),
            (ADMIN_OF_ALL, "table.select", "lake.secret.nosuch"),
            (ADMIN_OF_ALL, "table.select", "lake.nosuch.t"),
            (ADMIN_OF_ALL, "database.describe", "lake.nosuch"),
            (ADMIN_OF_ALL, "database.describe", "lake.system"),
        ],
    )
    def test_a_missing_name_is_allowed_if_the_caller_sees_and_may_use_all_beside_it(
        self, held: tuple[Change, ...], action: str, name: str
    ) -> None:
        verdict = gate(*held).check(WHO, action, name.split("."))

        assert verdict.allowed
        assert verdict.resource is None
        assert gate(*held).discover(WHO, name.split(".")).allowed

    def test_a_missing_name_is_refused_to_a_caller_with_another_right_there(self) -> None:
        asked_of = gate(*READER_OF_RAW)

        assert asked_of.check(WHO, TABLE, ("lake", "raw", "nosuch")).allowed
        refused = asked_of.check(WHO, "table.insert", ("lake", "raw", "nosuch"))

        assert not refused.allowed
        assert "there is no `lake.raw.nosuch` that you may see" in refused.message

    def test_a_missing_name_is_refused_if_the_model_hides_a_single_table(self) -> None:
        """If an attribute can hide a table of the database, every name there that the caller cannot discover counts as hidden."""
        hiding = PropagationRule(
            frozenset({"viewer"}), frozenset({"database"}), when=(Condition("self", "kept", ("yes",), negated=True),)
        )
        model = replace(NEKT, spread=(hiding,))
        kept = AttributesSet(FLIGHTS, {"kept": ("yes",)})
        _, store = controlled(*READER_OF_RAW, kept)
        asked_of = gate_of(Control(store, FixedModels({NEKT.name: model}), lambda: NOW))

        told = [
            said(asked_of.check(WHO, TABLE, ("lake", "raw", name)), f"lake.raw.{name}") for name in ("flights", "x")
        ]

        assert asked_of.check(WHO, TABLE, ("lake", "raw", "planes")).allowed
        assert told[0] == told[1]
        assert told[0][:2] == (False, False)


class TestARefusal:
    @pytest.mark.parametrize("name", ["lake.secret.salaries", "lake.nosuch.t", "lake.raw.flights"])
    def test_a_refusal_ends_with_the_link_to_request_access(self, name: str) -> None:
        verdict = gate(*READER_OF_ONE).check(WHO, "table.insert", name.split("."))

        text, link = split_request_link(verdict.message)

        assert link == f"https://headgate.example/api/v1/requests?action=table.insert&resource={name}"
        assert verdict.message == f"{text}. To ask for access: {link}"

    def test_a_refusal_names_the_missing_role_to_a_caller_that_may_see_the_table(self) -> None:
        text, _ = split_request_link(
            gate(*READER_OF_ONE).check(WHO, "table.insert", ("lake", "raw", "flights")).message
        )

        assert text.startswith("`table.insert` on `lake.raw.flights` is not allowed: you do not hold `editor`")
        assert "which owner" in text or "admin" in text

    def test_a_refusal_to_a_stranger_discloses_nothing(self) -> None:
        told = said(gate().check(Caller(STRANGER), TABLE, ("lake", "raw", "flights")), "lake.raw.flights")

        assert told[:2] == (False, False)

    @pytest.mark.parametrize("text", ["no link. To ask for access: ", "nothing", ""])
    def test_a_refusal_without_a_link_is_returned_unchanged(self, text: str) -> None:
        assert split_request_link(text) == (text, None)


@few
@given(
    st.lists(
        st.tuples(st.sampled_from(("viewer", "editor", "manager")), st.sampled_from((LAKE, RAW, SECRET, FLIGHTS)))
    ),
    st.sampled_from(("lake.raw.flights", "lake.raw.planes", "lake.secret.salaries", "lake.raw", "lake.secret")),
    st.sampled_from(("table.select", "table.insert", "table.drop", "database.describe", "database.create_table")),
)
def test_a_hidden_name_is_never_distinguishable_from_a_missing_one(
    held: list[tuple[str, ResourceId]], name: str, action: str
) -> None:
    """Whatever roles the caller holds, a hidden name gets the answer of a missing name beside it."""
    roles = [assigned(MEMBER, role, place) for role, place in held]
    asked_of, hidden = gate(*roles), name.split(".")
    assume(not asked_of.discover(WHO, hidden).allowed)
    missing = [*hidden[:-1], "nosuch"]

    told = [said(asked_of.check(WHO, action, names), ".".join(names)) for names in (hidden, missing)]

    assert told[0] == told[1]
