"""Engines share the compilation of the models in force: only the same objects, by the same names, are compiled once."""

from dataclasses import replace

from headgate.control.models.shipped_models import shipped_model
from headgate.decision.engine.compile import compile_models
from headgate.decision.engine.engine import Engine
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    CustomRoleDefined,
    Edge,
    OrganizationCreated,
    PrincipalAdded,
    ResourceCreated,
    RoleAssigned,
    SettingChanged,
)
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot

NEKT, Y42, DATAMESH = (shipped_model(each).model for each in ("nekt", "y42", "datamesh"))


def test_the_same_models_are_compiled_once() -> None:
    assert compile_models({"nekt": NEKT, "y42": Y42}) is compile_models({"nekt": NEKT, "y42": Y42})


def test_an_equal_model_of_another_object_is_compiled_on_its_own() -> None:
    other = replace(NEKT)

    assert other == NEKT
    assert compile_models({"nekt": other}).rules["nekt"].model is other
    assert compile_models({"nekt": NEKT}).rules["nekt"].model is NEKT


def test_a_model_under_another_name_is_compiled_on_its_own() -> None:
    assert compile_models({"a": NEKT}) is not compile_models({"b": NEKT})
    assert list(compile_models({"b": NEKT}).rules) == ["b"]


def _with_scribe(*permissions: str) -> Engine:
    """Return an engine over an organization whose custom role `scribe`, which ben holds in a team, has these permissions."""
    ben, org, team = PrincipalId("ben"), ResourceId("org"), ResourceId("team")
    changes = (
        OrganizationCreated(org, "datamesh", ""),
        PrincipalAdded(ben, "user"),
        RoleAssigned(ben, "member", org, "datamesh"),
        ResourceCreated(team, "team", org, "team"),
        ResourceCreated(ResourceId("product"), "data_product", org, "product", None, {"owner": (Edge(team),)}),
        SettingChanged(org, "role_mode", "custom"),
        CustomRoleDefined("scribe", permissions),
        RoleAssigned(ben, "scribe", team, "datamesh"),
    )
    return Engine({"datamesh": DATAMESH}, fold(Snapshot(), changes, 1))


def test_two_organizations_that_share_a_compilation_keep_their_own_custom_roles() -> None:
    editing, other = _with_scribe("RESOURCES_EDIT"), _with_scribe("TEAM_MEMBER_ADD")
    question = Question(Caller(PrincipalId("ben")), "data_product.edit", ResourceId("product"))

    for _ in range(2):  # the second time, each answer is cached
        assert editing.check(question, 1.0).allowed
        assert not other.check(question, 1.0).allowed
