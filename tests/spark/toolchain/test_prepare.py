"""The folder of the toolchain, and the messages if it is not available."""

from pathlib import Path

import pytest

from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.prepare import default_cache, default_jars_folder, prepare


class TestPrepare:
    def test_the_error_of_an_unusable_cache_is_one_line(self, tmp_path: Path) -> None:
        in_the_way = tmp_path / "file"
        in_the_way.write_text("")

        with pytest.raises(ToolchainError) as refused:
            prepare(in_the_way / "cache", None, print)

        assert "cannot be used" in str(refused.value)
        assert "HEADGATE_CACHE" in str(refused.value)
        assert "\n" not in str(refused.value)


class TestDefaults:
    def test_the_environment_sets_the_cache_and_the_folder_of_jars(self) -> None:
        environ = {"HEADGATE_CACHE": "/somewhere", "HEADGATE_JARS": "/elsewhere"}

        assert default_cache(environ) == Path("/somewhere")
        assert default_jars_folder(environ) == Path("/elsewhere")

    def test_the_defaults_are_a_cache_in_the_home_folder_and_no_folder_of_jars(self) -> None:
        assert default_cache({}) == Path.home() / ".cache" / "headgate"
        assert default_jars_folder({}) is None
