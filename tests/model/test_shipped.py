"""The shipped models give what the tables of MODELS say, written down here a second time."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import pytest

from headgate.decision.conditions import CONDITIONS
from headgate.model.load import load_model
from headgate.model.model import Model
from headgate.model.vocabulary import MODELS
from tests.fakes.world import ACTIONS

# Suite action | types, in the model's own words | a tick for each of the roles in the first line.
MATRICES = {
    "nekt": """
        role                    on                                      none viewer editor manager admin owner
        see                     layer,table,volume,$pipelines           N Y Y Y Y Y
        read_data               volume                                  N Y Y Y Y Y
        see_runs                $pipelines                              N Y Y Y Y Y
        edit                    layer,table,volume,$pipelines           N N Y Y Y Y
        change_description      layer,table,volume,field                N N Y Y Y Y
        create table            layer                                   N N Y Y Y Y
        create volume           layer                                   N N Y Y Y Y
        activate                $pipelines                              N N Y Y Y Y
        deactivate              $pipelines                              N N Y Y Y Y
        trigger                 $pipelines                              N N Y Y Y Y
        add_stream              source                                  N N Y Y Y Y
        enable_stream           source                                  N N Y Y Y Y
        disable_stream          source                                  N N Y Y Y Y
        delete                  layer,table,volume,$pipelines           N N N Y Y Y
        create layer            lake                                    N N N N Y Y
        list_all                lake                                    N N N N Y Y
        see_settings            workspace                               N N N N Y Y
        manage_users_and_roles  workspace                               N N N N Y Y
        add_user                workspace                               N N N N Y Y
        invite_user             workspace                               N N N N Y Y
        create group            workspace                               N N N N Y Y
        edit                    group                                   N N N N Y Y
        rename                  group                                   N N N N Y Y
        delete                  group                                   N N N N Y Y
        add_member              group                                   N N N N Y Y
        remove_member           group                                   N N N N Y Y
        see_billing             workspace                               N N N N N Y
        manage_billing          workspace                               N N N N N Y
        """,
    "y42": """
        role            on                      administrator billing_administrator owner manager editor viewer member guest
        discover        organization            Y N Y - Y Y Y Y
        discover        $resources              Y N Y - Y Y Y Y
        git_checkout    space                   Y N Y - Y Y Y Y
        read_config     $resources              Y N Y - Y Y Y Y
        read            organization,$resources Y N Y - Y Y N N
        edit            organization,$resources Y N Y - Y N N N
        delete          $resources              Y N Y - N N N N
        delete          organization            Y N N - N N N N
        create_child *  organization,space,module,integration,model,job Y N Y - Y N N N
        read_subjects   organization,space      Y N Y - Y Y Y N
        read_billing    organization            Y Y N - N N N N
        change_billing  organization            Y Y N - N N N N
        discover        team,api_key            Y N Y Y Y Y Y Y
        read            team,api_key            Y N Y Y Y Y N N
        edit            team,api_key            Y N Y Y Y N N N
        delete          team,api_key            Y N Y Y N N N N
        add_member      team                    Y N Y Y Y N N N
        """,
    "onehouse": """
        role                            on                                  member admin
        modify_account_settings         account                             N Y
        modify_billing_settings         account                             N Y
        configure_scim                  account                             N Y
        create project                  account                             N Y
        create group                    account                             N Y
        create service_principal        account                             N Y
        open                            project                             Y Y
        view_integrations               project                             Y Y
        view_usage                      project                             Y Y
        create source                   project                             Y Y
        create catalog                  project                             Y Y
        create job                      project                             Y Y
        create stream_capture           project                             Y Y
        add_user                        project                             N Y
        create user                     project                             N Y
        remove_user                     project                             N Y
        edit_user_permissions           project                             N Y
        connect_cloud_account           project                             N Y
        create cluster                  project                             N Y
        create lake                     project                             N Y
        create integration              project                             N Y
        create api_token                project                             N Y
        edit_definition                 integration                         N Y
        delete                          integration                         N Y
        view_metadata                   group                               Y Y

        role                            on                                  viewer user editor manager
        view_definition                 cluster,source,catalog,job          Y Y Y Y
        view_notification               cluster,source,catalog,job          Y Y Y Y
        dismiss_notification            cluster,source,catalog,job          Y Y Y Y
        view_run_metadata               job                                 Y Y Y Y
        assign                          cluster                             N Y Y Y
        view_endpoint                   cluster                             N Y Y Y
        use                             source,catalog                      N Y Y Y
        view_run_logs                   job                                 N Y Y Y
        trigger_run                     job                                 N Y Y Y
        cancel_run                      job                                 N Y Y Y
        edit_definition                 cluster,source,catalog,job          N N Y Y
        move_to_cluster                 job                                 N N Y Y
        modify_permissions              cluster,source,catalog,job          N N N Y
        delete                          cluster,source,catalog,job          N N N Y

        role                            on                                  viewer editor manager
        view_definition                 stream_capture                      Y Y Y
        view_driver_logs                stream_capture                      Y Y Y
        edit_definition                 stream_capture                      N Y Y
        pause                           stream_capture                      N Y Y
        resume                          stream_capture                      N Y Y
        move_to_cluster                 stream_capture                      N Y Y
        clean_and_restart               stream_capture                      N N Y
        modify_permissions              stream_capture                      N N Y
        delete                          stream_capture                      N N Y

        role                            on                                  member manager
        view_metadata                   group                               Y Y
        assign_roles_and_privileges     group                               N Y
        remove_roles_and_privileges     group                               N Y
        edit_members                    group                               N Y
        edit_name                       group                               N Y
        delete                          group                               N Y

        role                            on                                  user manager
        view_metadata                   service_principal                   Y Y
        assign_roles_and_privileges     service_principal                   N Y
        remove_roles_and_privileges     service_principal                   N Y
        edit_members                    service_principal                   N Y
        edit_name                       service_principal                   N Y
        delete                          service_principal                   N Y

        role              on                    ALL MANAGE DROP DESCRIBE CREATE_DATABASE CREATE_TABLE ALTER SELECT INSERT DELETE
        drop              lake,database,table   Y N Y N N N N N N N
        describe          lake,database,table   Y N N Y N N N N N N
        view_definition   table_service         Y N N Y N N N N N N
        view_metrics      table_service         Y N N Y N N N N N N
        view_run_history  table_service         Y N N Y N N N N N N
        create database   lake                  Y N N N Y N N N N N
        create table      database              Y N N N N Y N N N N
        alter_schema      table                 Y N N N N N Y N N N
        change_services_cluster  table          Y N N N N N Y N N N
        select            table                 Y N N N N N N Y Y N
        insert            table                 Y N N N N N N N Y N
        update            table                 Y N N N N N N N Y N
        create_savepoint  table                 Y N N N N N N N Y N
        restore_savepoint table                 Y N N N N N N N Y N
        delete_rows       table                 Y N N N N N N N N Y
        """,
    "datamesh": """
        role                on                      owner approver editor member steward
        create team         team,domain             Y N N N N
        edit                team,domain             Y N N N N
        delete              team,domain             Y N N N N
        edit_team_member    team,domain             Y N N N N
        create *            $owned                  Y Y Y N N
        edit                $data                   Y Y Y N N
        delete              $data                   Y Y Y N N
        submit_change       $data                   Y Y Y Y N
        approve_change      change_request          Y Y N N N
        add_access          output_port             Y Y N N N
        approve_access      access                  Y Y N N N
        reject_access       access                  Y Y N N N
        terminate_access    access                  Y Y N N N
        delete_access       access                  Y Y N N N

        role                on                      owner member
        view                organization            Y Y
        invite_member       organization            Y N
        remove_member       organization            Y N
        create *            organization            Y N
        define_role         organization            Y N
        delete_role         organization            Y N
        set_role_mode       organization            Y N
        set_change_process  organization            Y N
        """,
}

GROUPS = {
    "$pipelines": "source,query,notebook,history,destination,integration,visualization",
    "$resources": "space,module,integration,model,dashboard,table,job,run",
    "$data": "data_product,output_port,data_contract,definition,tag,source_system,policy",
    "$owned": "data_product",
}


@cache
def shipped(name: str) -> Model:
    text = (files("headgate.model") / "models" / f"{name}.yaml").read_text()
    return load_model(text, ACTIONS, f"{name}.yaml", CONDITIONS)


def _cells(name: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield each row: the suite's action, a type in the model's own words, and the ticks by role."""
    for table in MATRICES[name].split("\n\n"):
        head, *rows = table.strip().splitlines()
        roles = head.split()[2:]
        for row in rows:
            *action, types, ticks = (*row.split()[: -len(roles)], row.split()[-len(roles) :])
            for group, members in GROUPS.items():
                types = types.replace(group, members)
            yield from ((" ".join(action), type, dict(zip(roles, ticks, strict=True))) for type in types.split(","))


def _actions(model: Model, wanted: str, word: str) -> list[str]:
    """Return the canonical actions that the suite's action stands for on the type; `*` stands for any type made there."""
    verb, _, rest = wanted.partition(" ")
    return [
        name
        for name, action in ACTIONS.items()
        if model.word(name.partition(".")[0]) == word
        for named in action.names.get(model.name, ())
        if named == wanted or (rest == "*" and named.startswith(f"{verb} "))
    ]


@pytest.mark.parametrize("name", MODELS)
class TestAShippedModel:
    def test_gives_what_the_matrix_says(self, name: str) -> None:
        model = shipped(name)
        for wanted, word, ticks in _cells(name):
            for action in _actions(model, wanted, word):
                given = {
                    role: "Y" if role != "none" and action in model.roles[role].actions else "N"
                    for role, tick in ticks.items()
                    if tick != "-"
                }
                assert given == {role: tick for role, tick in ticks.items() if tick != "-"}, action

    def test_has_an_action_for_every_row_of_the_matrix(self, name: str) -> None:
        model = shipped(name)

        assert [(wanted, word) for wanted, word, _ in _cells(name) if not _actions(model, wanted, word)] == []


class TestGrantingInNekt:
    @pytest.mark.parametrize(
        ("holder", "given"),
        [
            ("viewer", set[str]()),
            ("editor", set[str]()),
            ("member", set[str]()),
            ("manager", {"viewer", "editor"}),
            ("admin", {"viewer", "editor", "manager"}),
            ("owner", {"viewer", "editor", "manager"}),
        ],
    )
    def test_goes_up_to_editor_for_managers_and_further_for_admins_and_owners(
        self, holder: str, given: set[str]
    ) -> None:
        model = shipped("nekt")
        for type in ("database", "table", "volume"):
            rules = [rule for rule in model.assign if type in rule.on and model.roles[holder].closure & {*rule.holder}]
            assert {role for rule in rules for role in rule.roles} == given

    def test_leaves_owners_to_owners(self) -> None:
        assert {rule.holder for rule in shipped("nekt").assign if "owner" in rule.roles} == {("owner",)}
