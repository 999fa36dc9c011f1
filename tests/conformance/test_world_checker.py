"""The checks of a world's file: each mistake is reported at its place, and nothing in a world is silently without effect."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.conformance.errors import ScenarioError
from headgate.conformance.language import Language, words_of
from headgate.conformance.world_builder import build
from headgate.conformance.world_checker import check_world
from headgate.decision.conditions import CONDITIONS
from headgate.decision.evaluator import Reference
from headgate.facts.ids import ResourceId
from headgate.model.diagnostics import ModelError
from headgate.model.load import load_model
from headgate.model.model import Model
from tests.fakes.generated_worlds import few
from tests.fakes.small_organization import ACTIONS, DATAMESH, NEKT, ONEHOUSE, Y42

SHIPPED = (DATAMESH, NEKT, ONEHOUSE, Y42)

WORLD = """\
system: nekt
settings: {w: {plan: growth}}
users:
  - {id: ann, org_role: member}
groups:
  - {id: crew, type: group, parent: w, members: [ann]}
  - {id: other, type: group, parent: w}
grants:
  - {to: crew, role: viewer, on: L}
resources:
  - {id: w, type: workspace, parent: null}
  - {id: L, type: layer, parent: w}
  - {id: T, type: table, parent: L}
  - {id: S, type: source, parent: w, streams: [{name: a, output: T, enabled: true}]}
  - {id: Q, type: query, parent: w, created_by: ann, inputs: [T], outputs: []}
"""

MISTAKES = [
    ("grants:", "grant:", "8:1: a world has no section `grant`; did you mean `grants`?"),
    ("users:", "people:", "3:1: a world has no section `people`; choose from `grants`, `groups`, `principals`, `resources`, `settings`, `system`, `users`"),
    ("role: viewer", "role: veiwer", "9:22: the model `nekt` has no role `veiwer`; did you mean `viewer`?"),
    ("role: viewer", "role: admin", "9:22: the role `admin` cannot be assigned on `layer`; it can be assigned on `workspace`"),
    ("role: viewer, on: L", "role: admin, on: w", "9:22: the role `admin` cannot be assigned to a `group`; it can be assigned to `service_principal`, `user`"),
    ("role: viewer, ", "", "9:5: the grant has no `role`; add it"),
    ("role: viewer", "rule: viewer", "9:16: a grant has no key `rule`; did you mean `role`?"),
    ("to: crew", "to: crow", "9:10: the world declares no subject `crow`; did you mean `crew`?"),
    ("to: crew", "to: T", "9:10: no role can be assigned to `T`, which is of type `table`; name a user, a group, a service principal or a team"),
    ("to: crew, ", "", "9:5: the grant has no `to`; add it"),
    ("on: L}", "on: K}", "9:34: the world declares no resource `K`; declare it, or correct the id"),
    ("members: [ann]", "members: [anne]", "6:50: the world declares no user `anne`; did you mean `ann`?"),
    ("members: [ann]", "members: [other]", "6:50: `other` is a group, and a group cannot be in a group; list its users"),
    ("members: [ann]", "member: [ann]", "6:40: an entry of type `group` has no key `member`; did you mean `members`?"),
    ("parent: L}", "parent: K}", "13:34: the world declares no parent `K`; declare it, or correct the id"),
    ("parent: L}", "parnet: L}", "13:26: an entry of type `table` has no key `parnet`; did you mean `parent`?"),
    ("parent: L}", "parent: w}", "13:34: the type `table` cannot be below `workspace`; it can be below `layer`"),
    (", parent: L}", "}", "13:5: `T` has no parent; add `parent`"),
    ("type: layer", "type: database", "12:19: the model `nekt` has no type `database`; choose from"),
    (", type: layer", "", "12:5: the entry has no `type`; add one"),
    ("{id: T, ", "{", "13:5: the entry has no `id`; add one"),
    ("id: other", "id: crew", "7:10: the id `crew` is used twice; give each entry its own id"),
    ("plan: growth", "plam: growth", "2:16: the model `nekt` has no setting `plam`; did you mean `plan`?"),
    ("plan: growth", "plan: grown", "2:22: the setting `plan` has no value `grown`; choose from `starter`, `growth`, `custom`"),
    ("{w: {plan", "{L: {plan", "2:16: the setting `plan` is set on `workspace`, and `L` is of another type"),
    ("{w: {plan", "{v: {plan", "2:12: the world declares no resource `v`; declare it, or correct the id"),
    ("org_role: member", "org_role: membre", "4:25: the model `nekt` has no role `membre`; did you mean `member`?"),
    ("org_role: member", "role: member", "4:15: a user has no key `role`; its keys are"),
    ("inputs: [T]", "inputs: [U]", "15:63: the relation `inputs` names an unknown id: `U`; declare it, or correct the id"),
    ("inputs: [T]", "input: [T]", "15:54: an entry of type `query` has no key `input`; did you mean `inputs`?"),
    ("created_by: ann", "created_by: bob", "15:49: the world declares no user `bob`; declare it, or correct the id"),
    ("output: T", "output: U", "14:66: the stream writes an unknown table `U`; declare it, or correct the id"),
    ("enabled: true", "enabled: yes", "14:78: `enabled` is `yes`; write `true` or `false`"),
    ("output: T", "outptu: T", "14:58: a stream has no key `outptu`; did you mean `output`?"),
    ("  - {id: L, ", "  - L\n  - {id: L, ", "12:5: a mapping is needed here; write the keys in braces, such as `{id: ada}`"),
]  # fmt: skip


def shipped(system: str) -> str:
    return (Path(__file__).parent / "worlds" / f"{system}.yaml").read_text(encoding="utf-8")


def reported(text: str, language: Language) -> list[str]:
    try:
        check_world(text, "w.yaml", language)
    except (ScenarioError, ModelError) as error:
        return str(error).splitlines()
    return []


def mistakes_of(text: str, model: Model = NEKT) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        check_world(text, "w.yaml", words_of(model, ACTIONS))
    return str(error.value).splitlines()


class TestAWorldWithOneMistake:
    def test_the_world_without_a_mistake_is_accepted(self) -> None:
        check_world(WORLD, "w.yaml", words_of(NEKT, ACTIONS))

    @pytest.mark.parametrize(("find", "put", "says"), MISTAKES, ids=[f"{put or find}" for find, put, _ in MISTAKES])
    def test_a_mistake_is_reported_at_its_place(self, find: str, put: str, says: str) -> None:
        assert find in WORLD

        assert mistakes_of(WORLD.replace(find, put, 1))[0].startswith(f"w.yaml:{says}")


class TestAWorldWithSeveralMistakes:
    def test_every_mistake_is_reported_in_the_order_of_the_file(self) -> None:
        text = WORLD.replace("role: viewer", "role: veiwer").replace("plan: growth", "plan: grown")

        assert [line.split(": ")[0] for line in mistakes_of(text)] == ["w.yaml:2:22", "w.yaml:9:22"]

    def test_a_circle_of_parents_is_reported_once(self) -> None:
        text = "groups:\n  - {id: a, type: team, parent: b}\n  - {id: b, type: team, parent: a}\n"

        assert mistakes_of(text, DATAMESH) == [
            "w.yaml:2:25: the parents are a circle, a -> b -> a; correct one of them"
        ]

    def test_a_resource_that_is_its_own_parent_is_reported(self) -> None:
        assert mistakes_of("groups:\n  - {id: a, type: team, parent: a}\n", DATAMESH) == [
            "w.yaml:2:25: the parents are a circle, a -> a; correct one of them"
        ]

    def test_a_resource_below_a_circle_is_no_further_mistake(self) -> None:
        text = "groups:\n  - {id: b, type: team, parent: b}\n  - {id: a, type: team, parent: b}\n"

        assert len(mistakes_of(text, DATAMESH)) == 1


class TestAWorldOfAModelWithOwnTypes:
    MODEL = """
model: m
version: 1
types:
  organization: {under: []}
  crew: {own: true, under: [organization]}
  note: {own: true, under: [organization]}
roles:
  assignee: {on: [crew], to: [user]}
  reader: {on: [note], to: [crew], actions: {note: [describe]}}
members: {crew: [assignee]}
assign:
  - {holder: reader, roles: [reader], on: [note], to: [crew]}
  - {holder: assignee, roles: [assignee], on: [crew]}
"""
    WORLD = """
system: m
resources:
  - {id: O, type: organization, parent: null}
  - {id: R, type: crew, parent: O}
  - {id: S, type: note, parent: O}
grants: [{to: R, role: reader, on: S}]
"""

    def test_a_resource_of_an_own_type_can_have_a_role(self) -> None:
        assert reported(self.WORLD, self.language()) == []

    def test_a_role_that_its_type_cannot_have_is_reported(self) -> None:
        assert reported(self.WORLD.replace("to: R", "to: S"), self.language()) == [
            "w.yaml:7:24: the role `reader` cannot be assigned to a `note`; it can be assigned to `crew`"
        ]

    def language(self) -> Language:
        return words_of(load_model(self.MODEL, ACTIONS, "m.yaml", CONDITIONS), ACTIONS)


class TestAShippedWorld:
    @pytest.mark.parametrize("model", SHIPPED, ids=lambda model: model.name)
    def test_a_shipped_world_has_no_mistake(self, model: Model) -> None:
        check_world(shipped(model.name), "w.yaml", words_of(model, ACTIONS))

    @settings(few, max_examples=40)
    @given(st.sampled_from(SHIPPED), st.sampled_from(("q", "17", "]", "")), st.data())
    def test_a_changed_word_gives_mistakes_with_places_or_a_world(
        self, model: Model, put: str, data: st.DataObject
    ) -> None:
        """Whatever a word of the file becomes, the world is built, or each mistake is reported at its place."""
        text, language = shipped(model.name), words_of(model, ACTIONS)
        words = list(re.finditer(r"[A-Za-z_0-9]+", re.sub(r"#.*", lambda it: " " * len(it[0]), text)))
        word = data.draw(st.sampled_from(words))
        changed = f"{text[: word.start() if not put else word.end()]}{put}{text[word.end() :]}"

        found = reported(changed, language)

        assert all(re.match(r"w\.yaml:\d+:\d+: ", line) for line in found)
        assert found or build(yaml.safe_load(changed), language, Reference).engines


class TestTheFile:
    def test_a_file_that_is_no_yaml_is_refused_with_its_place(self) -> None:
        with pytest.raises(ModelError, match=r"w\.yaml:1:9: error HG-M001: not valid YAML"):
            check_world("users: [", "w.yaml", words_of(NEKT, ACTIONS))

    def test_a_role_by_organization_names_an_organization_and_a_role(self) -> None:
        text = "users:\n  - {id: ann, org_roles: {o: ownr}}\n"

        assert mistakes_of(text, DATAMESH) == [
            "w.yaml:2:27: the world declares no organization `o`; declare it, or correct the id",
            "w.yaml:2:30: the model `datamesh` has no role `ownr`; did you mean `owner`?",
        ]

    def test_a_privilege_is_checked_like_a_role(self) -> None:
        text = "users: [{id: ann}]\nresources:\n  - {id: a, type: account, parent: p}\n  - {id: p, type: platform}\n"

        assert mistakes_of(f"{text}grants:\n  - {{to: ann, privilege: SELECT, on: a}}\n", ONEHOUSE) == [
            "w.yaml:6:26: the role `SELECT` cannot be assigned on `account`; it can be assigned on `database`, `lake`, `table`"
        ]


def test_the_value_of_a_declared_attribute_is_a_word_even_if_it_is_an_id() -> None:
    text = "users: [{id: ann}]\nresources:\n  - {id: o, type: organization}\n  - {id: s, type: space, parent: o}\n"
    text += "  - {id: p, type: publish_layer, parent: s, published_branches: [ann]}\n"

    world = build(yaml.safe_load(text), words_of(Y42, ACTIONS), Reference)

    [layer] = [each for each in world.facts(ResourceId("o")).resources.values() if each.type == "publish_layer"]
    assert (layer.attributes, layer.relations) == ({"published_branches": ("ann",)}, {})
