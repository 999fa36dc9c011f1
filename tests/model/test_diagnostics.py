"""What a broken model file is told: file, line and column, one sentence, and where possible a suggestion."""

from collections.abc import Mapping

import pytest

from headgate.model.load import load_model
from headgate.model.marked import ModelError
from headgate.model.vocabulary import load_actions
from tests.fakes.world import ACTIONS

MODEL = """\
model: small
version: 1
types: {database: layer}
roles:
  boss:
    on: [organization]
    includes: [reader]
  reader:
    on: [table]
    actions:
      table: [table.select]
spread:
  - {roles: [boss], from: [organization], to: below}
derived:
  - {types: [source], weakest_over: [outputs], when_empty: [output_layers]}
requires:
  project.create_source:
    - {parameter: output_layers, role: reader}
assign:
  - {holder: boss, roles: [reader], on: [table]}
eligible:
  on: organization
  roles: [boss]
"""

BROKEN: Mapping[str, tuple[str, str, str]] = {
    "an empty file": (MODEL, "", "m.yaml:1:1: the file is empty"),
    "not YAML": ("[boss]\n", "[boss\n", "m.yaml:24:1: not valid YAML: expected ',' or ']', but got '<stream end>'"),
    "a control character": (
        "small",
        "sm\x07all",
        "m.yaml:1:1: not valid YAML: a character that cannot stand in a text file",
    ),
    "an alias": ("on: [table]\n    a", "on: &t [*t]\n    a", "m.yaml:9:13: write it out: aliases are not read"),
    "a list for a mapping": ("types: {database: layer}", "types: []", "m.yaml:3:8: expected a mapping"),
    "a word for a list": (
        "spread:\n  - {roles: [boss], from: [organization], to: below}",
        "spread: none",
        "m.yaml:12:9: expected a list",
    ),
    "a list for a word": ("model: small", "model: [small]", "m.yaml:1:8: expected a word"),
    "a word for a number": ("version: 1", "version: one", "m.yaml:2:10: expected a whole number, not `one`"),
    "a key twice": (
        "  reader:\n",
        "  boss:\n",
        "m.yaml:8:3: `boss` stands twice in the same mapping",
    ),
    "a key that is a list": ("types: {", "types: {[a]: b, ", "m.yaml:3:9: a key has to be a word"),
    "an unknown section": ("eligible:", "elligible:", "m.yaml:21:1: unknown key `elligible`; did you mean `eligible`?"),
    "a missing section": ("version: 1\n", "", "m.yaml:1:1: `version` is missing here"),
    "an unknown type name": (
        "{database:",
        "{databse:",
        "m.yaml:3:9: unknown key `databse`; did you mean `database`?",
    ),
    "a role with nowhere to be": ("    on: [table]\n", "", "m.yaml:9:5: `on` is missing here"),
    "a role on an unknown type": (
        "on: [table]\n    a",
        "on: [tabel]\n    a",
        "m.yaml:9:10: unknown type `tabel`; did you mean `table`?",
    ),
    "an unknown role included": (
        "includes: [reader]",
        "includes: [raeder]",
        "m.yaml:7:16: unknown role `raeder`; did you mean `reader`?",
    ),
    "roles in a circle": (
        "    on: [table]\n    a",
        "    on: [table]\n    includes: [boss]\n    a",
        "m.yaml:6:5: role `boss` includes itself",
    ),
    "an unknown action": (
        "[table.select]",
        "[table.selct]",
        "m.yaml:11:15: unknown action `table.selct`; did you mean `table.select`?",
    ),
    "an action on another type": (
        "table: [table.select]",
        "table: [volume.read]",
        "m.yaml:11:15: action `volume.read` is not asked on a table",
    ),
    "a spread of an unknown role": (
        "{roles: [boss], from",
        "{roles: [bos], from",
        "m.yaml:13:14: unknown role `bos`; did you mean `boss`?",
    ),
    "a spread to nowhere": ("to: below}", "to: bellow}", "m.yaml:13:47: unknown type `bellow`; did you mean `below`?"),
    "an unknown relation": (
        "weakest_over: [outputs]",
        "weakest_over: [outpust]",
        "m.yaml:15:38: unknown relation `outpust`; did you mean `outputs`?",
    ),
    "a role derived from nothing": (
        "weakest_over: [outputs]",
        "weakest_over: []",
        "m.yaml:15:5: `weakest_over` needs at least one relation",
    ),
    "a type derived twice": (
        "types: [source], ",
        "types: [source, source], ",
        "m.yaml:15:5: the roles on a source are derived by an earlier rule already",
    ),
    "a requirement of an unknown action": (
        "project.create_source:",
        "project.create_sauce:",
        "m.yaml:17:3: unknown key `project.create_sauce`; did you mean `project.create_source`?",
    ),
    "a requirement without a role": (
        ", role: reader}",
        "}",
        "m.yaml:18:7: `role` is missing here",
    ),
    "a requirement that is perhaps optional": (
        ", role: reader}",
        ", role: reader, optional: maybe}",
        "m.yaml:18:58: unknown flag `maybe`",
    ),
    "a role assigned where it cannot be": (
        "roles: [reader], on: [table]",
        "roles: [reader], on: [volume]",
        "m.yaml:20:28: role `reader` is not assignable on every type of this rule",
    ),
    "an unknown holder": ("holder: boss", "holder: bass", "m.yaml:20:14: unknown role `bass`; did you mean `boss`?"),
    "an eligible role that is assigned elsewhere": (
        "  roles: [boss]",
        "  roles: [reader]",
        "m.yaml:23:11: role `reader` is not assignable on every type of this rule",
    ),
}


@pytest.mark.parametrize(("text", "instead", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_model_is_refused_at_its_place(text: str, instead: str, message: str) -> None:
    assert MODEL.count(text) == 1

    with pytest.raises(ModelError) as error:
        load_model(MODEL.replace(text, instead), ACTIONS, "m.yaml")
    assert str(error.value) == message


def test_the_model_that_is_broken_here_loads() -> None:
    model = load_model(MODEL, ACTIONS, "m.yaml")

    assert model.roles["boss"].actions == {"table.select"}
    assert not model.requires["project.create_source"][0].optional


BROKEN_ACTIONS: Mapping[str, tuple[str, str]] = {
    "an empty cell": (
        "table.select: {nekt: '', spark: SELECT}",
        "a.yaml:1:22: a cell of `table.select` is empty; write a name or `-`",
    ),
    "a list in a cell": (
        "table.select: {nekt: [see], spark: SELECT}",
        "a.yaml:1:22: a cell of `table.select` is empty; write a name or `-`",
    ),
    "a missing cell": ("table.select: {nekt: see}", "a.yaml:1:15: `spark` is missing here"),
    "an unknown column": (
        "table.select: {nekt: see, sparc: SELECT}",
        "a.yaml:1:27: unknown key `sparc`; did you mean `spark`?",
    ),
    "an action twice": (
        "table.select: {nekt: see, spark: -}\ntable.select: {nekt: see, spark: -}",
        "a.yaml:2:1: `table.select` stands twice in the same mapping",
    ),
}


@pytest.mark.parametrize(("text", "message"), BROKEN_ACTIONS.values(), ids=BROKEN_ACTIONS.keys())
def test_a_broken_vocabulary_is_refused_at_its_place(text: str, message: str) -> None:
    with pytest.raises(ModelError) as error:
        load_actions(text, "a.yaml")
    assert str(error.value) == message
