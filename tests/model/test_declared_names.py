"""The declared parameters are exactly those that the commands and endpoints pass with their questions."""

import re
from collections.abc import Iterator, Mapping

import pytest

from headgate.control.kernel.errors import InvalidError
from headgate.control.resources.generic_types import require_generic_type
from tests.fakes.small_organization import ACTIONS
from tests.model.parameter_sites import EVERYTHING, Site, sites, sites_of

NAMES = ACTIONS.names

CREATING = r"\w+\.create_\w+"
SETTING = r"\w+\.(edit|alter)"

WRITTEN: Mapping[tuple[str, str], str] = {
    ("control.access.escalation.require_adding_access", "'output_port.add_access'"): r"output_port\.add_access",
    (
        "control.access.escalation.require_adding_access_of_owners",
        "'output_port.add_access'",
    ): r"output_port\.add_access",
    ("control.access.roles.decide", "DefineRole: view.facts.resources[view.root]"): r"organization\.define_role",
    ("control.access.roles.decide", "DeleteRole: view.facts.resources[view.root]"): r"organization\.delete_role",
    ("control.access.switches.decide", "ChangeSetting: place"): r"\w+\.set_\w+",
    ("control.approvals.agreements._port", "port"): r"output_port\.(request|add)_access",
    ("control.identity.principals.decide", "CreateServicePrincipal: place"): r"\w+\.create_service_principal",
    ("control.pipelines.commands._remade", "SavePipeline: found"): r"(job|stream_capture)\.move_to_cluster",
    ("control.pipelines.states.decide", "MoveToCluster: found"): r"\w+\.(move_to_cluster|change_services_cluster)",
    ("control.pipelines.streams.decide", "AddStream: found"): r"\w+\.add_stream",
    ("control.pipelines.streams.decide", "SwitchStream: found"): r"\w+\.(enable|disable)_stream",
    ("endpoints.api.access.agreements._build_question", "f'output_port.{verb}'"): r"output_port\.(request|add)_access",
    ("endpoints.api.access.agreements._consumer", "asked"): r"output_port\.(request|add)_access",
    ("endpoints.api.pipelines.charts._query_rows", "'organization.execute_query'"): r"organization\.execute_query",
}
"""The actions of each call that writes out the names of its parameters, as a pattern."""

OF_THE_RESOURCE: Mapping[tuple[str, str], str] = {
    ("control.catalog.table_services.allowed_procedure", "MAKING"): CREATING,
    ("control.pipelines.commands._remade", "SavePipeline: view.target(found.parent)"): CREATING,
    ("control.pipelines.run_as._recreate_privileges", "action"): CREATING,
    ("control.resources.changes._makeable", "place"): CREATING,
    ("control.resources.commands.decide", "CreateResource: place"): CREATING,
    ("control.resources.commands.decide", "MoveResource: place"): CREATING,
    ("control.resources.commands.decide", "SetAttributes: found"): SETTING,
}
"""The actions of each call that passes the attributes, and when creating also the relations, of a resource."""

OF_THE_CALLER = {
    "cli.facts.names.question_of",
    "control.kernel.command.require_action",
    "control.kernel.command.require_operation",
    "control.questions.parsing.parse_question",
}
"""The functions that pass on what their own caller states."""

FOUND = [site for site in sites() if site.where not in OF_THE_CALLER]


def is_open(site: Site) -> bool:
    return EVERYTHING in (site.words, site.resources)


def passed(kind: str) -> Iterator[tuple[str, str]]:
    """Yield each action with each parameter of a kind that a call writes out for it."""
    for site in FOUND:
        for action in ACTIONS if not is_open(site) else ():
            if re.fullmatch(WRITTEN[site.where, site.action], action):
                yield from ((action, name) for name in getattr(site, kind))


class TestTheDeclaredParameters:
    def test_every_call_that_passes_parameters_is_known_with_its_actions(self) -> None:
        assert {(site.where, site.action) for site in FOUND if not is_open(site)} == WRITTEN.keys()
        assert {(site.where, site.action) for site in FOUND if is_open(site)} == OF_THE_RESOURCE.keys()

    @pytest.mark.parametrize("kind", ["words", "resources"])
    def test_the_written_parameters_of_the_calls_are_the_declared_ones(self, kind: str) -> None:
        declared: Mapping[str, tuple[str, ...]] = getattr(NAMES, kind)

        assert set(passed(kind)) == {(action, name) for action, names in declared.items() for name in names}

    def test_creating_passes_the_attributes_and_relations_of_the_created_type(self) -> None:
        creating = [site for site in FOUND if is_open(site) and OF_THE_RESOURCE[site.where, site.action] == CREATING]

        assert {site.words for site in creating} == {EVERYTHING}
        assert {site.resources for site in creating} <= {EVERYTHING, frozenset()}
        for action in ACTIONS:
            if re.fullmatch(CREATING, action) and (type := NAMES.created_type(action)):
                assert set(NAMES.attributes.get(type, ())) <= set(NAMES.words_of(action))
                assert set(NAMES.relations.get(type, ())) <= set(NAMES.resources_of(action))

    def test_setting_attributes_passes_them_as_words_alone(self) -> None:
        [setting] = [site for site in FOUND if is_open(site) and OF_THE_RESOURCE[site.where, site.action] == SETTING]

        assert (setting.words, setting.resources) == (EVERYTHING, frozenset())
        assert NAMES.words_of("module.edit") == ("kind",)
        assert NAMES.resources_of("job.edit") == ()

    def test_the_types_with_own_commands_are_those_that_no_generic_command_creates(self) -> None:
        def is_generic(type: str) -> bool:
            try:
                require_generic_type(type)
            except InvalidError:
                return False
            return True

        assert set(NAMES.with_own_commands) == {type for type in ACTIONS.types if not is_generic(type)}

    def test_a_parameter_that_callers_ask_with_is_passed_by_no_command(self) -> None:
        assert not any(
            {*NAMES.passed_words(action), *NAMES.passed_resources(action)} & set(names)
            for action, names in NAMES.asked.items()
        )


class TestTheCollector:
    @pytest.mark.parametrize(
        ("call", "words", "resources"),
        [
            ("view.require_action('a.b', id, given={'mode': (x,)})", {"mode"}, set()),
            ("view.require_action('a.b', id, on={**named, 'cluster': ()})", set(), {"*", "cluster"}),
            ("given = {'mode': x}; view.require_action('a.b', id, given=given)", {"mode"}, set()),
            ("on, given = {'to': x}, {'why': y}; Question(c, 'a.b', id, on, given=given)", {"why"}, {"to"}),
            ("Question(c, 'a.b', id, {'reads': r})", set(), {"reads"}),
            ("Question(c, 'a.b', id, given=found.attributes)", {"*"}, set()),
        ],
    )
    def test_a_call_is_found_with_the_names_that_it_passes(
        self, call: str, words: set[str], resources: set[str]
    ) -> None:
        [site] = sites_of(f"def decide(view):\n    {call}", "module")

        assert (site.where, site.action, site.words, site.resources) == ("module.decide", "'a.b'", words, resources)

    def test_a_call_without_parameters_is_no_site(self) -> None:
        assert list(sites_of("def decide(view):\n    view.require_action('a.b', id, role=r)", "module")) == []
