"""What operators write about clusters: read as it is meant, or refused with what would be right."""

from pathlib import Path

import pytest

from headgate.app.settings import SettingsError, default_settings
from headgate.spark.clusters import Cluster


def written(folder: Path, text: str) -> dict[str, str]:
    """Write the file, and return the environment that names it."""
    file = folder / "clusters.toml"
    file.write_text(text, encoding="utf-8")
    return {"HEADGATE_CLUSTERS": str(file)}


class TestTheFile:
    def test_describes_clusters_beside_the_embedded_one(self, tmp_path: Path) -> None:
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

    def test_is_not_needed_for_the_embedded_one(self) -> None:
        found = default_settings({}).clusters

        assert (found.names, found.at_once("embedded")) == (("embedded",), 4)

    @pytest.mark.parametrize(
        ("text", "wrong"),
        [
            ("[big", "can be read"),
            ('[big]\nmastr = "yarn"', "`big.mastr`"),
            ('[big]\nmaster = "mesos://x"', "`big.master`"),
            ('[big]\nmaster = "spark://x"', "`big.master`"),
            ('[big]\nmaster = "spark://x:7077"', "needs `secret_file`"),
            ('[big]\nmaster = "yarn"\nsecret_file = "/s"', "is for a standalone master"),
            ('[big]\nmaster = "local[4]"', "`embedded` is the one with a `local` master"),
            ('[embedded]\nmaster = "yarn"', "`embedded` is the one with a `local` master"),
            ('[big]\nmaster = "yarn"\nmemory = "lots"', "`big.memory`"),
            ('[big]\nmaster = "yarn"\nat_once = 0', "`big.at_once`"),
            ('[embedded]\nconf = {"spark.sql.extensions" = ""}', "`spark.sql.extensions` is not one of the keys"),
            ('[embedded]\nconf = {"spark.jars" = "/x.jar"}', "`spark.jars` is not one of the keys"),
            ('[embedded]\nconf = {"spark.plugins" = "x.Y"}', "`spark.plugins` is not one of the keys"),
            ('[embedded]\nconf = {"spark.authenticate" = "false"}', "`spark.authenticate` is not one of the keys"),
        ],
    )
    def test_is_refused_with_what_is_wrong(self, tmp_path: Path, text: str, wrong: str) -> None:
        with pytest.raises(SettingsError, match="HEADGATE_CLUSTERS") as raised:
            default_settings(written(tmp_path, text))

        assert wrong in str(raised.value)
