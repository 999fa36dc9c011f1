"""Probes and metrics for operators: liveness, readiness, and counters."""

import pytest

from headgate.endpoints.http.metrics import Figures, Metrics
from headgate.endpoints.http.probes import MetricsAccess, Readiness
from tests.endpoints.http.asgi_client import ask, asks, guarded

FAR = ("192.0.2.7", 5)


class TestAlive:
    def test_the_liveness_probe_succeeds_although_the_server_is_not_ready(self) -> None:
        readiness = Readiness(lambda: "the store cannot be read")
        readiness.draining = True

        answer = ask(guarded(readiness=readiness), "GET", "/healthz", client=FAR)

        assert (answer.status_code, answer.json()) == (200, {"status": "alive"})

    def test_the_liveness_probe_allows_only_get_and_head(self) -> None:
        answer = ask(guarded(), "POST", "/healthz")

        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


class TestReady:
    def test_the_readiness_probe_succeeds_while_the_server_is_ready(self) -> None:
        assert ask(guarded(), "GET", "/readyz").json() == {"status": "ready"}

    def test_the_readiness_probe_succeeds_without_spark_and_reports_its_state(self) -> None:
        readiness = Readiness(lambda: None)
        readiness.details = lambda: {"spark": "down"}

        assert ask(guarded(readiness=readiness), "GET", "/readyz").json() == {"status": "ready", "spark": "down"}

    def test_the_readiness_probe_fails_with_the_fault(self) -> None:
        answer = ask(guarded(readiness=Readiness(lambda: "the store cannot be read")), "GET", "/readyz")

        assert (answer.status_code, answer.json()["detail"]) == (503, "the store cannot be read")
        assert answer.headers["retry-after"] == "2"

    def test_the_readiness_probe_fails_while_the_server_is_draining(self) -> None:
        readiness = Readiness(lambda: None)
        app = guarded(readiness=readiness)

        before = ask(app, "GET", "/readyz").status_code
        readiness.draining = True

        assert (before, ask(app, "GET", "/readyz").status_code) == (200, 503)
        assert ask(app, "GET", "/things/a").status_code == 200

    def test_the_readiness_probe_checks_the_store_at_most_once_a_second(self) -> None:
        asked: list[float] = []
        now = [0.0]
        readiness = Readiness(lambda: asked.append(now[0]), clock=lambda: now[0])
        here = asks(guarded(readiness=readiness))

        for at in (0.0, 0.2, 0.9, 1.5, 1.6):
            now[0] = at
            here("GET", "/readyz")

        assert asked == [0.0, 1.5]


class TestMetrics:
    def test_the_metrics_count_requests_by_route_template(self) -> None:
        here = asks(guarded())

        for name in ("a", "b"):
            here("GET", f"/things/{name}")
        here("GET", "/nothing/of/the/kind")
        here("BREW", "/things/a")
        text = here("GET", "/metrics").text

        assert 'headgate_requests_total{method="GET",route="/things/{name}",status="200"} 2.0' in text
        assert 'headgate_requests_total{method="GET",route="unmatched",status="404"} 1.0' in text
        assert 'method="other"' in text
        assert "BREW" not in text
        assert 'headgate_request_seconds_bucket{le="+Inf",route="/things/{name}"}' in text

    def test_the_metrics_show_the_current_figures_of_the_core(self) -> None:
        figures = [Figures()]
        here = asks(guarded(metrics=Metrics(lambda: figures[0])))
        figures[0] = Figures(7, 3, 5, 1, 9, 2, {"o-1": 41, "o-2": 1})

        lines = here("GET", "/metrics").text.splitlines()

        assert {
            'headgate_decisions_total{answer="allowed"} 7.0',
            'headgate_decisions_total{answer="denied"} 3.0',
            "headgate_appends_total 5.0",
            "headgate_revision_conflicts_total 1.0",
            "headgate_head_reads_total 9.0",
            "headgate_audit_waiting 2.0",
            "headgate_organizations 2.0",
            'headgate_revision{organization="o-1"} 41.0',
        } <= set(lines)

    @pytest.mark.parametrize(
        ("access", "client", "token", "status"),
        [
            (MetricsAccess(), ("127.0.0.1", 5), "", 200),
            (MetricsAccess(), ("::1", 5), "", 200),
            (MetricsAccess(), FAR, "", 404),
            (MetricsAccess("open"), FAR, "", 200),
            (MetricsAccess("token", "m"), FAR, "Bearer m", 200),
            (MetricsAccess("token", "m"), ("127.0.0.1", 5), "", 401),
            (MetricsAccess("token", "m"), FAR, "Bearer n", 401),
            (MetricsAccess("token", ""), FAR, "Bearer ", 401),
        ],
    )
    def test_the_metrics_are_shown_only_to_callers_that_the_settings_allow(
        self, access: MetricsAccess, client: tuple[str, int], token: str, status: int
    ) -> None:
        app = guarded(metrics_access=access)

        assert ask(app, "GET", "/metrics", client=client, headers={"authorization": token}).status_code == status
