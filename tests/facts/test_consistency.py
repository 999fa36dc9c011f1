"""Consistency of changes: what the control plane writes is consistent, and a wrong id of every kind is found."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import get_args

import pytest

from headgate.facts import changes as c
from headgate.facts.consistency import find_inconsistency
from headgate.facts.fold import fold
from headgate.facts.snapshot import Snapshot
from tests.facts.samples import ALL, ANNA, BEN, CREW, RAW, ROOT, SAMPLES, TABLE, TEAM

KNOWN = fold(Snapshot(), SAMPLES, 1)
GONE = c.ResourceId("gone")
_FREE = {
    (c.ResourceCreated, "creator"),
    (c.RoleAssigned, "grantor"),
    (c.RoleAssigned, "reason"),
    (c.RoleRevoked, "reason"),
    (c.AccessRequested, "author"),
    (c.ChangeRequested, "author"),
}
"""Fields that may name a principal or resource that was deleted, or something else."""


def text_of(facts: Snapshot, change: c.Change) -> str:
    """Return what is wrong with a change; empty if nothing is."""
    found = find_inconsistency(facts, change)
    return found.text if found else ""


def test_changes_in_a_possible_order_are_consistent() -> None:
    facts = Snapshot()
    for change in SAMPLES:
        assert not text_of(facts, change), change
        facts = fold(facts, (change,), 1)


@pytest.mark.parametrize("kind", [each for each in get_args(c.Change) if each is not c.OrganizationCreated])
def test_a_change_of_every_type_needs_an_organization(kind: type) -> None:
    sample = next(each for each in SAMPLES if isinstance(each, kind))

    assert "no earlier change creates the organization" in text_of(Snapshot(), sample)


def _misspelt() -> Sequence[tuple[c.Change, Snapshot, str]]:
    """Return each sample with the facts before it, and the name of a field with an id that must exist."""
    found: list[tuple[c.Change, Snapshot, str]] = []
    for number, sample in enumerate(SAMPLES[1:], start=1):
        before = fold(Snapshot(), SAMPLES[:number], 1)
        known = (before.resources, before.principals, before.groups, before.tokens, before.runs, before.requests)
        ids = {id for each in (*known, before.custom_roles) for id in each}
        named = {each.name: getattr(sample, each.name) for each in fields(sample)}
        found += [
            (sample, before, name)
            for name, id in named.items()
            if (type(sample), name) not in _FREE and isinstance(id, str) and id in ids
        ]
    return found


@pytest.mark.parametrize(("change", "before", "name"), _misspelt(), ids=lambda each: str(each)[:40])
def test_a_misspelt_id_is_found_in_every_field(change: c.Change, before: Snapshot, name: str) -> None:
    assert not text_of(before, change)
    misspelt = replace(change, **{name: "misspelt"})

    found = find_inconsistency(before, misspelt)

    assert found is not None
    assert found.known is not None
    assert "`misspelt`" in found.text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (c.OrganizationCreated(c.ResourceId("o2"), "nekt", ""), "the organization was created by an earlier change"),
        (c.PrincipalAdded(ANNA, "user"), "the id `u1` is in use already, and an id names one thing only"),
        (c.GroupCreated(c.GroupId(RAW)), "the id `d1` is in use already"),
        (c.ResourceCreated(c.ResourceId(CREW), "table", RAW, "new"), "the id `g1` is in use already"),
        (c.ResourceCreated(c.ResourceId("t9"), "table", RAW, "vols"), "`d1` contains another resource with the name `vols`"),
        (c.ResourceRenamed(RAW, TABLE, "raw"), "`d1` would be moved below itself"),
        (c.ResourceDeleted(ROOT), "the organization itself cannot be deleted"),
        (c.RoleAssigned(GONE, "viewer", RAW, "nekt"), "no subject has the id `gone`"),
        (c.MemberAdded(ALL, c.PrincipalId(TEAM)), "no principal has the id `team1`"),
        (c.RoleRevoked(BEN, "viewer", RAW), "`u2` was not assigned the role `viewer` on `d1`"),
        (c.RoleRevoked(CREW, "viewer", TABLE), "`g1` was not assigned the role `viewer` on `t1`"),
        (c.RoleRevoked(CREW, "viewer", TABLE, "x"), "`g1` was not assigned the role `viewer` on `t1` for the reason `x`"),
    ],
)  # fmt: skip
def test_an_inconsistent_change_is_found_with_its_reason(change: c.Change, text: str) -> None:
    assert text_of(KNOWN, change).startswith(text)


def test_a_resource_can_keep_its_name_when_it_is_renamed() -> None:
    assert not text_of(KNOWN, c.ResourceRenamed(TABLE, RAW, "vols"))
