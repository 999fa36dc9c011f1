"""The vocabulary: complete and well formed, or refused with the place of the fault."""

import re
from collections.abc import Mapping

import pytest

from headgate.decision.conditions import CONDITIONS
from headgate.model.diagnostics import ModelError
from headgate.model.load import load_model
from headgate.model.vocabulary import load_actions
from tests.fakes.small_organization import ACTIONS

ROW = "nekt: see, y42: [discover, read_config], onehouse: '-', datamesh: '-', spark: DESCRIBE TABLE"
COLUMNS = "\nmodels: [nekt, y42, onehouse, datamesh]\n"

BROKEN: Mapping[str, tuple[str, str]] = {
    "an empty cell": (
        f"table:\n  describe: {{{ROW.replace('see', repr(''))}}}",
        "a.yaml:2:20: error HG-M901: a cell of `table.describe` is empty; write a name or `-`",
    ),
    "a cell with nothing in it": (
        f"table:\n  describe: {{{ROW.replace('nekt: see', 'nekt:')}}}",
        "a.yaml:2:19: error HG-M901: a cell of `table.describe` is empty; write a name or `-`",
    ),
    "a cell with an empty list": (
        f"table:\n  describe: {{{ROW.replace('see', '[]')}}}",
        "a.yaml:2:20: error HG-M901: a cell of `table.describe` is empty; write a name or `-`",
    ),
    "a missing cell": (
        f"table:\n  describe: {{{ROW.replace('nekt: see, ', '')}}}",
        "a.yaml:2:13: error HG-M103: required key `nekt` is missing",
    ),
    "an unknown column": (
        f"table:\n  describe: {{{ROW}, sparc: SELECT}}",
        "a.yaml:2:108: error HG-M102: unknown key `sparc`; did you mean `spark`?",
    ),
    "an action twice": (
        f"table:\n  describe: {{{ROW}}}\n'volume, table':\n  describe: {{{ROW}}}",
        "a.yaml:3:10: error HG-M004: key `table.describe` occurs twice in the same mapping; merge the two entries",
    ),
    "an unknown kind of pipeline": (
        f"source:\n  describe: {{{ROW}}}\npipeline_kinds: [history]",
        "a.yaml:3:18: error HG-M201: unknown type `history`; choose from `source`",
    ),
    "an attribute of an unknown type": (
        f"table:\n  describe: {{{ROW}}}\nattributes:\n  tables: [kind]",
        "a.yaml:4:3: error HG-M201: unknown type `tables`; did you mean `table`?",
    ),
    "a parameter of an unknown action": (
        f"table:\n  describe: {{{ROW}}}\nword_parameters:\n  table.descibe: [kind]",
        "a.yaml:4:3: error HG-M203: unknown action `table.descibe`; did you mean `table.describe`?",
    ),
    "a kind of an unknown type": (
        f"table:\n  describe: {{{ROW}}}\nkinds_of_types: {{view: tabel}}",
        "a.yaml:3:24: error HG-M201: unknown type `tabel`; did you mean `table`?",
    ),
    "no YAML": (
        "[",
        "a.yaml:3:1: error HG-M001: not valid YAML: expected ',' or ']', but got '<stream end>' while parsing a flow sequence that begins on line 1",
    ),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_vocabulary_is_refused_at_its_place(text: str, message: str) -> None:
    with pytest.raises(ModelError) as error:
        load_actions(text + COLUMNS, "a.yaml")
    assert str(error.value) == message


def test_a_cell_is_a_name_or_several_or_none() -> None:
    vocabulary = load_actions(f"'table, volume':\n  describe: {{{ROW}}}" + COLUMNS)

    assert vocabulary["table.describe"].names == {"nekt": ("see",), "y42": ("discover", "read_config")}
    assert vocabulary["volume.describe"].spark == ("DESCRIBE TABLE",)
    assert vocabulary["volume.describe"].on == ("volume",)
    assert vocabulary.types == ("table", "volume")
    assert vocabulary.of("table") == ("table.describe",)
    assert len(vocabulary) == 2


def test_the_lists_mark_types() -> None:
    vocabulary = load_actions(
        f"'source, table':\n  describe: {{{ROW}}}\nassignment:\n  add: {{{ROW}}}\npipeline_kinds: [source]{COLUMNS}"
    )

    assert vocabulary["assignment.add"].on == ("source", "table")
    assert vocabulary.pipeline_kinds == ("source",)
    assert vocabulary.types == ("source", "table")


def test_the_names_of_a_list_of_types_are_those_of_each_of_its_types() -> None:
    names = load_actions(
        f"'source, table':\n  describe: {{{ROW}}}\npipeline_kinds: [source]\n"
        f"attributes: {{pipeline_kinds: [state], source: [kind]}}\nrelations: {{'source, table': [inputs]}}{COLUMNS}"
    ).names

    assert names.attributes == {"source": ("state", "kind")}
    assert names.relations == {"source": ("inputs",), "table": ("inputs",)}


def test_every_action_is_type_and_verb_in_lower_case() -> None:
    assert [name for name in ACTIONS if not re.fullmatch(r"[a-z_]+\.[a-z_]+", name)] == []
    assert {name.partition(".")[0] for name in ACTIONS} <= {*ACTIONS.types, "assignment"}


def test_every_type_that_an_action_is_asked_on_is_one_of_the_tree() -> None:
    assert {type for action in ACTIONS.values() for type in action.on} <= set(ACTIONS.types)


def test_every_shipped_model_has_names_for_actions() -> None:
    assert {model for action in ACTIONS.values() for model in action.names} == set(ACTIONS.models)


def test_a_type_has_its_own_verbs_from_every_key_that_names_it() -> None:
    source = """
model: m
version: 1
types:
  organization: {under: []}
  project: {under: [organization]}
verbs:
  "organization, project": [audit]
  project: [tag]
roles:
  reader: {on: [organization], actions: {organization: [audit]}}
assign:
  - {holder: reader, roles: [reader], on: [organization]}
"""
    model = load_model(source, ACTIONS, "m.yaml", CONDITIONS)

    assert model.verbs == {"organization": ("audit",), "project": ("audit", "tag")}
