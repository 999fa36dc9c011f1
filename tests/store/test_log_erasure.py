"""The last part of promise 12: a person's data can be erased, and every log still passes verification."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.control.approvals.access_requests import FileRequest
from headgate.control.authentication.services import open_auth_services
from headgate.control.authentication.settings import Hashing, LoginSettings
from headgate.control.control import Control
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.deployment.erasure import (
    NAMING_KINDS,
    OWN_KINDS,
    REASON_KINDS,
    ForgetPrincipal,
    erase_person,
    find_person,
)
from headgate.control.identity.groups import CreateGroup
from headgate.control.identity.principals import AddPrincipal
from headgate.control.identity.tokens import IssueToken
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.metadata import CommandMetadata
from headgate.control.kernel.ports import DocumentPut
from headgate.control.organizations.organization import Organization, Organizations
from headgate.facts.caller import Caller
from headgate.facts.ids import GroupId, PrincipalId, RequestId, ResourceId, TokenId
from headgate.store import SqlStores, open_stores
from headgate.store.tables import audit, checkpoints, documents, log_table, pointers, run_lines, runs, seals

ONE, TWO = ResourceId("one"), ResourceId("two")
BOSS = PrincipalId("boss")
PASSWORD = "correct horse battery"  # noqa: S105 - a test secret
SETTINGS = LoginSettings(hashing=Hashing(time=1, memory=8, lanes=1))
MARKS = ("Zaphod", "two.heads@", "192.0.2.77", "heart of gold")

ELSEWHERE = {
    "access": "found by the change that asks for it",
    "answer": "what a repeated request is answered again; ids, and erased with time",
    "change_request": "a proposed change, without a person",
    "connection": "a place",
    "description": "what a resource is",
    "device": "erased after minutes",
    "group": "a group",
    "pipeline": "a definition",
    "request": "found by the change that files it",
}
"""Kinds of documents that are not found by the person they name, each with the reason."""


@pytest.fixture
def sql_stores() -> Iterator[SqlStores]:
    """One kind of database, which is enough here: `test_stores` tests the erasure of documents for every kind."""
    opened = open_stores(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def organizations(sql_stores: SqlStores) -> Organizations:
    """Two organizations of a deployment, with data about the user Zaphod in both."""
    organizations = open_organizations(sql_stores, lambda: 1_000.0, "nekt")
    for root in (ONE, TWO):
        create_organization(organizations, OrganizationSpec(root, str(root), BOSS, "The Boss", "nekt"))
    return organizations


@pytest.fixture
def zaphod(organizations: Organizations) -> PrincipalId:
    auth_services = open_auth_services(organizations, SETTINGS)
    told = {"address": "192.0.2.77", "agent": "heart of gold"}
    id = auth_services.authentication.register(
        "Zaphod", password=PASSWORD, email="two.heads@beeblebrox.example", verified=True
    )
    auth_services.authentication.log_in("zaphod", PASSWORD, told)
    for root in (ONE, TWO):
        control = organizations.open(root).control
        control.execute(AddPrincipal(id, "Zaphod", "member"), Caller(BOSS), CommandMetadata(why="we need a member"))
        control.execute(
            IssueToken(TokenId(f"k-{root}"), "s", id, "heart of gold"), Caller(id), CommandMetadata(why="heart of gold")
        )
        request = FileRequest(RequestId(f"r-{root}"), "table.select", None, "Zaphod's", "for the heart of gold")
        control.execute(request, Caller(id))
    return id


def _everything(stores: SqlStores) -> str:
    """Return all contents of the tables as text."""
    tables = (log_table, documents, pointers, checkpoints, seals, audit, runs, run_lines)
    return repr([list(stores._database.rows(table.select())) for table in tables])


def _principals(control: Control) -> set[PrincipalId]:
    return set(control.snapshot.principals)


class TestForgetting:
    def test_forgetting_a_person_erases_everything_about_them_in_every_log(
        self, organizations: Organizations, zaphod: PrincipalId, sql_stores: SqlStores
    ) -> None:
        before = _everything(sql_stores)
        assert [mark for mark in MARKS if mark.casefold() not in before.casefold()] == []

        erased = erase_person(organizations, zaphod)

        after = _everything(sql_stores)
        assert [mark for mark in MARKS if mark.casefold() in after.casefold()] == []
        assert erased.keys() == {organizations.deployment.id, ONE, TWO}

    def test_forgetting_a_person_leaves_every_log_whole(
        self, organizations: Organizations, zaphod: PrincipalId, sql_stores: SqlStores
    ) -> None:
        heads = sql_stores.heads(sql_stores.logs())

        erase_person(organizations, zaphod)

        proofs = {proof.log: proof.head for proof in sql_stores.verify()}
        assert proofs == {root: head.revision + 1 for root, head in heads.items()}
        assert any(entry.actor == zaphod for entry in sql_stores.log(ONE).entries())

    def test_forgetting_a_person_ends_their_rights(self, organizations: Organizations, zaphod: PrincipalId) -> None:
        erase_person(organizations, zaphod)

        everywhere: tuple[Organization, ...] = (organizations.deployment, *organizations.list_all())
        assert [each.id for each in everywhere if zaphod in _principals(each.control)] == []

    def test_forgetting_a_person_erases_nothing_of_other_users(
        self, organizations: Organizations, zaphod: PrincipalId, sql_stores: SqlStores
    ) -> None:
        erase_person(organizations, zaphod)

        one = organizations.open(ONE)
        assert one.directory.name(BOSS) == "The Boss"
        assert "we need a member" in _everything(sql_stores)
        one.control.execute(CreateGroup(GroupId("g"), "Crew"), Caller(BOSS))

    def test_forgetting_a_person_again_finds_nothing(self, organizations: Organizations, zaphod: PrincipalId) -> None:
        erase_person(organizations, zaphod)

        assert erase_person(organizations, zaphod) == {}

    def test_forgetting_a_person_again_erases_what_was_written_since(
        self, organizations: Organizations, zaphod: PrincipalId, sql_stores: SqlStores
    ) -> None:
        erase_person(organizations, zaphod)
        late = {"principal": zaphod, "address": "192.0.2.77"}
        sql_stores.log(organizations.deployment.id).put_document(DocumentPut("session", "late", late))

        assert erase_person(organizations, zaphod) == {organizations.deployment.id: 1}
        assert "192.0.2.77" not in _everything(sql_stores)

    def test_an_organization_cannot_forget_a_person(self, organizations: Organizations, zaphod: PrincipalId) -> None:
        with pytest.raises(InvalidError, match="only on the server"):
            organizations.open(ONE).control.execute(ForgetPrincipal(zaphod, ()), Caller(BOSS))


class TestPerson:
    @pytest.mark.parametrize("called", ["zaphod", "ZAPHOD", "Two.Heads@Beeblebrox.example"])
    def test_a_person_is_found_by_login_and_email_address(
        self, organizations: Organizations, zaphod: PrincipalId, called: str
    ) -> None:
        assert find_person(organizations, called) == zaphod

    def test_a_person_is_found_by_id_and_by_name(self, organizations: Organizations, zaphod: PrincipalId) -> None:
        assert find_person(organizations, zaphod) == zaphod
        assert find_person(organizations, "The Boss") == BOSS

    def test_an_unknown_person_is_not_found(self, organizations: Organizations) -> None:
        with pytest.raises(NotFoundError, match="Trillian"):
            find_person(organizations, "Trillian")

    def test_a_name_of_several_persons_is_refused(self, organizations: Organizations) -> None:
        for root, id in ((ONE, "m1"), (TWO, "m2")):
            organizations.open(root).control.execute(AddPrincipal(PrincipalId(id), "Marvin", "member"), Caller(BOSS))

        with pytest.raises(InvalidError, match="m1, m2"):
            find_person(organizations, "Marvin")


def test_every_kind_of_document_is_known_to_be_personal_or_not() -> None:
    package = Path(__file__).parents[2] / "src" / "headgate"
    sources = (file.read_text(encoding="utf-8") for file in package.rglob("*.py"))
    written = {kind for source in sources for kind in re.findall(r'DocumentPut\(\s*"(\w+)"', source)}

    assert written - {*OWN_KINDS, *NAMING_KINDS, REASON_KINDS, *ELSEWHERE} == set()
