"""Where a deployment lies and listens: what is given comes before the environment, and that before the defaults."""

from pathlib import Path

import pytest

from headgate.app.settings import SettingsError, default_settings


class TestDefaultSettings:
    def test_are_the_documented_ones_in_an_empty_environment(self) -> None:
        found = default_settings({})

        assert (found.folder, found.api_port, found.gateway_port) == (Path.cwd() / ".headgate", 8020, 15002)

    def test_follow_the_environment(self) -> None:
        environ = {"HEADGATE_DATA": "/d", "HEADGATE_API_PORT": "1", "HEADGATE_SPARK_PORT": "2"}

        found = default_settings(environ)

        assert (found.folder, found.api_port, found.gateway_port) == (Path("/d"), 1, 2)

    def test_yield_to_what_is_given_a_free_port_too(self) -> None:
        environ = {"HEADGATE_DATA": "/d", "HEADGATE_API_PORT": "1", "HEADGATE_SPARK_PORT": "2"}

        found = default_settings(environ, folder=Path("/given"), api_port=0, gateway_port=3)

        assert (found.folder, found.api_port, found.gateway_port) == (Path("/given"), 0, 3)

    @pytest.mark.parametrize("written", ["eighty", "-1", "65536", "80.0"])
    def test_name_the_variable_that_is_not_a_port(self, written: str) -> None:
        with pytest.raises(SettingsError, match=f"`{written}` in HEADGATE_API_PORT is not a port; use"):
            default_settings({"HEADGATE_API_PORT": written})
