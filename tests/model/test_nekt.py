"""The shipped Nekt model says what MODELS 1.2 says, and uses the whole vocabulary."""

from tests.fakes.world import ACTIONS, NEKT

_PIPELINES = ("source", "query", "notebook", "history", "destination", "integration", "visualization")
_LEVELS = ("none", "viewer", "editor", "manager", "admin", "owner")

# MODELS 1.2: ability | types | none viewer editor manager admin owner. Groups are kept by `manage_users_and_roles`.
MATRIX = """
    see                     database,table,volume                   N Y Y Y Y Y
    read_data               volume                                  N Y Y Y Y Y
    edit                    database,table,volume                   N N Y Y Y Y
    change_description      database,table,volume                   N N Y Y Y Y
    delete                  database,table,volume                   N N N Y Y Y
    create table            database                                N N Y Y Y Y
    create volume           database                                N N Y Y Y Y
    create layer            lake                                    N N N N Y Y
    list_all                lake                                    N N N N Y Y
    see                     pipelines                               N Y Y Y Y Y
    see_runs                pipelines                               N Y Y Y Y Y
    edit                    pipelines                               N N Y Y Y Y
    activate                pipelines                               N N Y Y Y Y
    deactivate              pipelines                               N N Y Y Y Y
    trigger                 pipelines                               N N Y Y Y Y
    add_stream              source                                  N N Y Y Y Y
    enable_stream           source                                  N N Y Y Y Y
    disable_stream          source                                  N N Y Y Y Y
    delete                  pipelines                               N N N Y Y Y
    see_settings            organization                            N N N N Y Y
    manage_users_and_roles  organization                            N N N N Y Y
    add_user                organization                            N N N N Y Y
    see_billing             organization                            N N N N N Y
    manage_billing          organization                            N N N N N Y
"""

GRANTING = {
    "manager": {"viewer", "editor"},
    "admin": {"viewer", "editor", "manager"},
    "owner": {"viewer", "editor", "manager"},
}

_BY_COMMANDS = {"grant", "revoke", *(f"create {pipeline}" for pipeline in _PIPELINES)}
"""Suite actions that are not cells: the assign rules and the requirements decide them."""


def _rows() -> dict[tuple[str, str], str]:
    rows: dict[tuple[str, str], str] = {}
    for line in MATRIX.strip().splitlines():
        *ability, types, _, _, _, _, _, _ = line.split()
        for type in _PIPELINES if types == "pipelines" else types.split(","):
            rows[" ".join(ability), type] = "".join(line.split()[-6:])
    return rows


def _given(role: str, action: str) -> str:
    return "Y" if role != "none" and action in NEKT.roles[role].actions else "N"


def test_the_matrix_is_that_of_the_suite() -> None:
    rows = _rows()
    for name, action in ACTIONS.items():
        if action.nekt is not None and action.nekt not in _BY_COMMANDS:
            assert "".join(_given(role, name) for role in _LEVELS) == rows[action.nekt, action.on[0]], name


def test_every_row_of_the_matrix_is_an_action() -> None:
    assert {(action.nekt, type) for action in ACTIONS.values() for type in action.on} >= _rows().keys()


def test_managers_give_up_to_editor_and_only_admins_and_owners_touch_managers() -> None:
    for type in ("database", "table", "volume"):
        for holder in _LEVELS[1:]:
            closure = NEKT.roles[holder].closure
            given = {role for rule in NEKT.assign if rule.holder in closure and type in rule.on for role in rule.roles}
            assert given == GRANTING.get(holder, set())


def test_only_owners_touch_owners() -> None:
    assert {rule.holder for rule in NEKT.assign if "owner" in rule.roles} == {"owner"}


def test_every_pipeline_is_derived_and_takes_no_assignment() -> None:
    assert set(NEKT.derived) == set(_PIPELINES)
    assert not any(role.on & NEKT.derived.keys() for role in NEKT.roles.values())


def test_every_action_is_given_or_required_or_about_assignments() -> None:
    given = {action for role in NEKT.roles.values() for action in role.actions} | NEKT.requires.keys()

    assert ACTIONS.keys() - given == {"assignment.add", "assignment.remove"}


def test_the_vocabulary_is_type_and_verb() -> None:
    for name in ACTIONS:
        type, _, verb = name.partition(".")
        assert type.islower()
        assert verb.replace("_", "").islower()


def test_the_models_own_words_for_types() -> None:
    assert NEKT.type_name("database") == "layer"
    assert NEKT.type_name("table") == "table"
    assert (NEKT.name, NEKT.version) == ("nekt", 1)
