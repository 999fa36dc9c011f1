"""The operator's file of clusters: parsed, or refused with the correct form in the message."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headgate.app.doctor.clusters import check_clusters
from headgate.app.settings.settings import SettingsError, default_settings
from headgate.spark.driver import standalone_master
from headgate.spark.driver.clusters import Cluster


def written(folder: Path, text: str) -> dict[str, str]:
    """Write the file, and return an environment that names it."""
    file = folder / "clusters.toml"
    file.write_text(text, encoding="utf-8")
    return {"HEADGATE_CLUSTERS": str(file)}


LOOPBACK_DRIVER = "its executors connect to the driver at `127.0.0.1`, a loopback address: from another machine it does not lead to this one"


class TestTheFile:
    def test_the_clusters_file_describes_clusters_beside_the_embedded_one(self, tmp_path: Path) -> None:
        environ = written(
            tmp_path,
            '[big]\nmaster = "spark://one:7077,two:7077"\nsecret_file = "/run/s"\nhost = "10.0.0.1"\nat_once = 9\n'
            'conf = {"spark.executor.memory" = "4g"}\n[embedded]\nmemory = "2g"\n',
        )

        found = default_settings(environ).clusters

        assert found.names == ("big", "embedded")
        assert found.find("big") == Cluster(
            "big",
            "spark://one:7077,two:7077",
            at_once=9,
            host="10.0.0.1",
            secret_file=Path("/run/s"),
            conf={"spark.executor.memory": "4g"},
        )
        assert (found.find("embedded"), found.at_once("big"), found.at_once("nosuch")) == (
            Cluster("embedded", memory="2g"),
            9,
            0,
        )

    def test_the_embedded_cluster_needs_no_clusters_file(self) -> None:
        found = default_settings({}).clusters

        assert (found.names, found.at_once("embedded")) == (("embedded",), 4)

    @pytest.mark.parametrize(
        ("text", "wrong"),
        [
            ("[big", "is not a TOML file ("),
            ('[big]\nmastr = "yarn"', "`big.mastr`"),
            ('[big]\nmaster = "mesos://x"', "`big.master`"),
            ('[big]\nmaster = "spark://x"', "`big.master`"),
            ('[big]\nmaster = "spark://x:7077"', "needs `secret_file`"),
            ('[big]\nmaster = "yarn"\nsecret_file = "/s"', "is for a standalone master"),
            (
                '[big]\nmaster = "local[4]"',
                "`big` has the master `local[4]`, but the cluster `embedded` must have a",
            ),
            (
                '[embedded]\nmaster = "yarn"',
                "`embedded` has the master `yarn`, but the cluster `embedded` must have a",
            ),
            ('[big]\nmaster = "yarn"\nmemory = "lots"', "`big.memory`"),
            ('[big]\nmaster = "yarn"\nat_once = 0', "`big.at_once`"),
            ('[embedded]\nconf = {"spark.sql.extensions" = ""}', "may not contain `spark.sql.extensions`"),
            ('[embedded]\nconf = {"spark.jars" = "/x.jar"}', "may not contain `spark.jars`"),
            ('[embedded]\nconf = {"spark.plugins" = "x.Y"}', "may not contain `spark.plugins`"),
            ('[embedded]\nconf = {"spark.authenticate" = "false"}', "may not contain `spark.authenticate`"),
        ],
    )
    def test_an_invalid_clusters_file_is_refused_with_the_fault(self, tmp_path: Path, text: str, wrong: str) -> None:
        with pytest.raises(SettingsError, match="HEADGATE_CLUSTERS") as raised:
            default_settings(written(tmp_path, text))

        assert wrong in str(raised.value)


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """Answer one client with these bytes; yield the port."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)

        def serve() -> None:
            client, _ = listening.accept()
            with client:
                asked.append(client.recv(1000))
                client.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(listening.getsockname()[1])
        thread.join(10)
    assert [each.startswith(b"GET /v1/submissions/status/") for each in asked] == [True]


class TestACheckup:
    """`headgate doctor` checks the clusters too."""

    def found(self, folder: Path, table: str) -> list[tuple[str, str]]:
        """Return the doctor's findings on a cluster: each state with its text."""
        settings = default_settings(written(folder, table), folder=folder / "data")
        return [(each.state, each.seen) for each in check_clusters(settings, {}, 0.0)]

    def test_doctor_reports_a_master_that_answers(self, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.touch(0o600)
        with socket.create_server(("127.0.0.1", 0)) as master:
            url = f"spark://127.0.0.1:{master.getsockname()[1]}"

            found = self.found(tmp_path, f'[big]\nmaster = "{url}"\nsecret_file = "{secret}"')

        assert found == [("ok", f"the cluster runs on `{url}`, with at most 4 runs at once")]

    def test_doctor_warns_of_the_faults_of_a_cluster(self, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.touch(0o644)

        found = self.found(tmp_path, f'[big]\nmaster = "spark://no.invalid:7077"\nsecret_file = "{secret}"')

        assert found == [
            (
                "warn",
                "no master of the cluster `big` accepts connections at no.invalid:7077; start the master, or correct its address in the settings",
            ),
            ("warn", f"`{secret}` can be read by other users of this machine"),
            ("warn", LOOPBACK_DRIVER),
        ]

    @pytest.mark.parametrize(
        ("answer", "warnings"),
        [
            (b'HTTP/1.1 200 OK\r\n\r\n{"action": "SubmissionStatusResponse", "serverSparkVersion": "4.1.4"}', 1),
            (b"HTTP/1.1 403 Forbidden\r\n\r\n", 0),
        ],
    )
    def test_doctor_warns_of_a_master_that_runs_unauthenticated_code(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, warnings: int
    ) -> None:
        secret = tmp_path / "secret"
        secret.touch(0o600)
        with socket.create_server(("127.0.0.1", 0)) as master, answering(answer) as rest:
            monkeypatch.setattr(standalone_master, "REST_PORT", rest)
            url = f"spark://127.0.0.1:{master.getsockname()[1]}"

            found = self.found(tmp_path, f'[big]\nmaster = "{url}"\nsecret_file = "{secret}"')

        assert sum("accepts jobs on port " in seen for _, seen in found) == warnings

    def test_doctor_fails_for_a_missing_file_of_a_cluster(self, tmp_path: Path) -> None:
        found = self.found(tmp_path, '[big]\nmaster = "yarn"\nhost = "10.0.0.1"\nhadoop = "/no/such"')

        assert found == [
            ("ok", "the cluster runs on `yarn`, with at most 4 runs at once"),
            ("fail", "the file `/no/such` does not exist"),
        ]


def test_the_example_in_the_documentation_of_clusters_is_valid(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "operate" / "clusters.md"
    example = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]

    found = default_settings(written(tmp_path, example)).clusters

    assert found.names == ("embedded", "hadoop", "kubernetes", "nightly")
