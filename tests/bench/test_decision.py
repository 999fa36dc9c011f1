"""The benchmark of decisions: it measures every engine in the same way, and detects wrong answers."""

import re
from dataclasses import replace
from typing import ClassVar

import pytest
from typing_extensions import override

from bench.decision_engines.asking import Asking, WrongAnswerError
from bench.decision_engines.engine import Check, Engine, List
from bench.decision_engines.oracle import Oracle, Question
from bench.decision_engines.organization import LEVELS, USUAL, VARIANTS, Edge, Grant, Organization, Sizes, generate
from bench.decision_engines.report import MEASURED, TARGETS
from bench.decision_engines.sample import sample
from tests.bench.quick import run_quick

SMALL = Sizes(users=30, groups=4, layers=20, tables=200, pipelines=60, grants=200)
CHECKS = 30


def organization(*grants: Grant) -> Organization:
    return Organization(
        users=("ann", "bob"),
        groups={"crew": ("ann",)},
        layers=("raw", "clean"),
        layer_of={"flights": "raw", "planes": "raw", "delays": "clean"},
        pipelines={
            "both": (Edge("delays", enabled=True), Edge("flights", enabled=True)),
            "one": (Edge("delays", enabled=False), Edge("flights", enabled=True)),
        },
        grants=grants,
    )


def allowed(user: str, level: str, resource: str, *grants: Grant) -> bool:
    return Oracle(organization(*grants)).allows(Question(user, level, resource))


class TestOracle:
    def test_the_oracle_denies_a_user_without_a_grant(self) -> None:
        assert not allowed("ann", "viewer", "flights", Grant("bob", "manager", "flights"))

    @pytest.mark.parametrize("place", ["flights", "raw"])
    @pytest.mark.parametrize("subject", ["ann", "crew"])
    def test_the_oracle_allows_by_a_grant_to_a_user_or_group_on_a_table_or_layer(
        self, subject: str, place: str
    ) -> None:
        assert allowed("ann", "editor", "flights", Grant(subject, "editor", place))

    def test_each_level_of_the_oracle_includes_the_levels_below_it_only(self) -> None:
        grant = Grant("ann", "editor", "flights")

        assert [allowed("ann", level, "flights", grant) for level in LEVELS] == [True, True, False]

    def test_the_oracle_uses_the_highest_of_several_grants(self) -> None:
        assert allowed("ann", "editor", "flights", Grant("ann", "viewer", "flights"), Grant("crew", "editor", "raw"))

    def test_the_weakest_table_of_a_pipeline_decides_in_the_oracle(self) -> None:
        assert not allowed("ann", "viewer", "both", Grant("ann", "manager", "raw"))
        assert allowed("ann", "viewer", "both", Grant("ann", "manager", "raw"), Grant("ann", "viewer", "delays"))

    def test_the_oracle_ignores_a_disabled_edge(self) -> None:
        assert allowed("ann", "viewer", "one", Grant("ann", "viewer", "flights"))


class TestOrganization:
    def test_the_generated_organization_is_the_same_each_time(self) -> None:
        assert generate(SMALL) == generate(SMALL)

    @pytest.mark.parametrize("sizes", [SMALL, USUAL])
    def test_the_generated_organization_has_the_requested_sizes(self, sizes: Sizes) -> None:
        made = generate(sizes)

        counted = (made.users, made.groups, made.layers, made.layer_of, made.pipelines, set(made.grants))
        assert Sizes(*map(len, counted)) == sizes
        assert len({(each.subject, each.place) for each in made.grants}) == sizes.grants

    def test_generated_pipelines_have_one_to_eight_edges_and_a_tenth_is_disabled(self) -> None:
        pipelines = generate(USUAL).pipelines.values()
        edges = [edge for pipeline in pipelines for edge in pipeline]

        assert {len(pipeline) for pipeline in pipelines} == set(range(1, 9))
        assert all(any(edge.enabled for edge in pipeline) for pipeline in pipelines)
        assert sum(not edge.enabled for edge in edges) / len(edges) == pytest.approx(0.1, abs=0.01)


class TestSample:
    made = generate(SMALL)
    cases = sample(made, CHECKS)

    def test_every_check_of_the_sample_has_the_answer_of_the_oracle(self) -> None:
        oracle = Oracle(self.made)

        for case in (*self.cases["table"], *self.cases["pipeline"], *self.cases["newcomer"]):
            assert oracle.allows(case.about) is case.right

    @pytest.mark.parametrize("measured", ["table", "pipeline"])
    def test_half_of_the_checks_of_the_sample_are_allowed(self, measured: str) -> None:
        assert sum(case.right is True for case in self.cases[measured]) * 2 == len(self.cases[measured])

    def test_each_newcomer_appears_in_one_check_of_the_sample_only(self) -> None:
        newcomers = [case.about.user for case in self.cases["newcomer"]]
        others = {case.about.user for name in ("table", "pipeline") for case in self.cases[name]}

        assert len(newcomers) == len(set(newcomers)) > 0
        assert others.isdisjoint(newcomers)

    def test_each_revoke_of_the_sample_removes_the_last_access_of_its_subject(self) -> None:
        assert self.cases["revoke"]
        for case in self.cases["revoke"]:
            remaining = tuple(each for each in self.made.grants if each != case.about)
            without = Oracle(replace(self.made, grants=remaining))
            assert not without.allows(Question(case.about.subject, "viewer", case.about.place))

    def test_the_sample_has_cases_for_every_measurement(self) -> None:
        assert self.cases.keys() == MEASURED.keys()
        assert TARGETS.keys() == VARIANTS.keys()


class FakeEngine(Engine):
    """Answers as the oracle does; has nothing to revoke."""

    name: ClassVar[str] = "fake"

    @classmethod
    @override
    def prepare(cls, organization: Organization) -> Oracle:
        return Oracle(organization)

    @override
    def load(self, prepared: Oracle) -> None:
        self.oracle = prepared

    @override
    def table(self, question: Question) -> Check:
        return lambda: self.oracle.allows(question)

    @override
    def pipeline(self, question: Question) -> Check:
        return lambda: self.oracle.allows(question)

    @override
    def readable(self, user: str) -> List:
        tables = self.organization.layer_of
        return lambda: [table for table in tables if self.oracle.allows(Question(user, "viewer", table))]

    @override
    def readers(self, table: str) -> List:
        users = self.organization.users
        return lambda: [user for user in users if self.oracle.allows(Question(user, "viewer", table))]


class ForgetfulEngine(FakeEngine):
    """Omits the last element of every list, and allows every question."""

    name: ClassVar[str] = "forgetful"

    @override
    def table(self, question: Question) -> Check:
        return lambda: True

    @override
    def readable(self, user: str) -> List:
        return lambda: list(super(ForgetfulEngine, self).readable(user)())[:-1]


def loaded(engine: FakeEngine) -> Asking:
    asking = Asking(engine, sample(engine.organization, CHECKS))
    asking.load(engine.prepare(engine.organization))
    return asking


class TestAsking:
    made = generate(SMALL)

    def test_the_benchmark_measures_only_operations_that_the_engine_supports(self) -> None:
        asking = loaded(FakeEngine(self.made))

        taken = {measured: asking.measure(measured, 0.01) for measured in MEASURED}

        assert {measured for measured, times in taken.items() if times} == MEASURED.keys() - {"revoke"}

    def test_the_benchmark_checks_each_newcomer_once(self) -> None:
        asking = loaded(FakeEngine(self.made))

        asked = [len(asking.measure("newcomer", 1)) for _ in range(2)]

        assert asked == [len(self.made.users) // 2, 0]

    @pytest.mark.parametrize("measured", ["table", "readable"])
    def test_a_wrong_answer_is_reported_with_its_engine_and_question(self, measured: str) -> None:
        asking = loaded(ForgetfulEngine(self.made))

        with pytest.raises(
            WrongAnswerError, match=r"^forgetful: .*(should be False, and is True|lacks \['table-\d+'\])"
        ):
            asking.compare(measured, 1)


def test_a_quick_run_measures_every_question() -> None:
    printed = run_quick("decision")

    assert re.search(r"^headgate: [\d,]+ answers agree with the oracle$", printed, re.MULTILINE)
    assert all(re.search(rf"^{title} +p50 +[\d.]+ [µm]s", printed, re.MULTILINE) for title in MEASURED.values())
