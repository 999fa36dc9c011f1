"""The precedence of settings: arguments, then the environment, then the configuration file, then the defaults."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.app.settings.schema import VARIABLES
from headgate.app.settings.settings import SettingsError, default_settings
from headgate.control.authentication.settings import Provider
from headgate.endpoints.http.limits import Limits
from tools.docs.settings_page import page

ROOT = Path(__file__).resolve().parents[3]
Configured = Callable[[str], dict[str, str]]


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    """Write a configuration file, and return an environment that names it."""

    def write(text: str) -> dict[str, str]:
        file = tmp_path / "headgate.toml"
        file.write_text(text, encoding="utf-8")
        return {"HEADGATE_CONFIG": str(file)}

    return write


class TestDefaultSettings:
    def test_an_empty_environment_gives_the_documented_settings(self) -> None:
        found = default_settings({})

        assert (found.folder, found.api_port, found.gateway_port) == (Path.cwd() / ".headgate", 8020, 15002)
        assert (found.bind, found.tls, found.store_url, found.limits) == ("127.0.0.1", False, None, Limits())
        assert found.logins.provider is None

    def test_settings_are_read_from_the_environment(self) -> None:
        environ = {"HEADGATE_DATA": "/d", "HEADGATE_API_PORT": "1", "HEADGATE_SPARK_PORT": "2"}

        found = default_settings(environ)

        assert (found.folder, found.api_port, found.gateway_port) == (Path("/d"), 1, 2)

    def test_given_values_precede_the_environment(self) -> None:
        environ = {"HEADGATE_DATA": "/d", "HEADGATE_API_PORT": "1", "HEADGATE_SPARK_PORT": "2"}

        found = default_settings(environ, folder=Path("/given"), api_port=0, gateway_port=3)

        assert (found.folder, found.api_port, found.gateway_port) == (Path("/given"), 0, 3)

    def test_the_environment_precedes_the_configuration_file(self, configured: Configured) -> None:
        environ = configured(
            'api_port = 1\nspark_port = 2\ninsecure_http = true\norigins = ["https://a.b", "http://c"]'
        )

        found = default_settings({**environ, "HEADGATE_SPARK_PORT": "3"})

        assert (found.api_port, found.gateway_port, found.insecure_http) == (1, 3, True)
        assert found.origins == ("https://a.b", "http://c")

    def test_limits_are_read_from_the_environment(self) -> None:
        found = default_settings({"HEADGATE_BODY_BYTES": "7", "HEADGATE_RATE": "0", "HEADGATE_BODY_SECONDS": "0.5"})

        assert found.limits == Limits(body=7, principal_rate=0, body_seconds=0.5)

    def test_an_oidc_provider_is_read_from_the_environment(self) -> None:
        found = default_settings(
            {
                "HEADGATE_OIDC_ISSUER": "https://login.example.com",
                "HEADGATE_OIDC_CLIENT": "headgate",
                "HEADGATE_OIDC_DOMAINS": "example.com, example.org",
                "HEADGATE_SESSION_SECONDS": "60",
            }
        )

        domains = frozenset({"example.com", "example.org"})
        assert found.logins.provider == Provider("https://login.example.com", "headgate", join=domains)
        assert found.logins.session == 60

    @pytest.mark.parametrize("domain", ["\uff41cme.com", "a\u2024com"])
    def test_an_invalid_domain_is_refused_with_the_name_of_the_setting(self, domain: str) -> None:
        with pytest.raises(SettingsError, match="HEADGATE_OIDC_DOMAINS is not a list of ASCII domains"):
            default_settings({"HEADGATE_OIDC_DOMAINS": f"acme.com, {domain}"})

    def test_empty_and_unknown_variables_are_ignored(self) -> None:
        environ = {
            "HEADGATE_API_PORT": "",
            "HEADGATE_PORT_8020_TCP_ADDR": "10.0.0.1",
            "HEADGATE_SERVICE_HOST": "10.0.0.1",
        }

        assert default_settings({**environ, "HEADGATE_PORT": "tcp://10.0.0.1:8020", "OTHER": "x"}).api_port == 8020


class TestASecret:
    def test_a_secret_can_be_read_from_a_file(self, tmp_path: Path, configured: Configured) -> None:
        file = tmp_path / "secret"
        file.write_text("postgresql://u:p@db/headgate\n", encoding="utf-8")

        by_variable = default_settings({"HEADGATE_STORE_FILE": str(file)})
        by_key = default_settings(configured(f'store_file = "{file}"'))

        assert by_variable.store_url == by_key.store_url == "postgresql://u:p@db/headgate"

    def test_a_secret_is_in_no_message_and_no_representation(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError) as caught:
            default_settings({"HEADGATE_STORE": "mysql://u:hush@db"})
        found = default_settings({"HEADGATE_STORE": "postgresql://u:hush@db", "HEADGATE_METRICS_TOKEN": "hush"})

        assert "hush" not in f"{caught.value} {found}"

    def test_a_secret_in_a_variable_and_in_a_file_is_refused(self) -> None:
        with pytest.raises(SettingsError, match="HEADGATE_STORE and HEADGATE_STORE_FILE are both set; unset one"):
            default_settings({"HEADGATE_STORE": "postgresql://db", "HEADGATE_STORE_FILE": "/dev/null"})


class TestAnError:
    @pytest.mark.parametrize(
        ("environ", "said"),
        [
            *[({"HEADGATE_API_PORT": each}, f"`{each}` in HEADGATE_API_PORT is not a port; use a number up to 65535")
              for each in ("eighty", "-1", "65536", "80.0", "9" * 5000)],
            ({"HEADGATE_BIND": "everywhere"}, "`everywhere` in HEADGATE_BIND is not an IP address; use one such as"),
            ({"HEADGATE_AUDIT": "some"}, "`some` in HEADGATE_AUDIT is not one of `changes`, `denied`, `all`; use one"),
            ({"HEADGATE_INSECURE_HTTP": "perhaps"}, "is neither 1 (yes) nor 0 (no); use 1 or 0, or unset it"),
            ({"HEADGATE_BODY_BYTES": "0"}, "`0` in HEADGATE_BODY_BYTES is not a count; use a whole number above 0"),
            ({"HEADGATE_BODY_BYTES": "9" * 5000}, "is not a count; use a whole number above 0"),
            ({"HEADGATE_BODY_SECONDS": "inf"}, "`inf` in HEADGATE_BODY_SECONDS is not a time; use a number of seconds"),
            ({"HEADGATE_RATE": "1e9"}, "`1e9` in HEADGATE_RATE is not a rate; use a number per second"),
            ({"HEADGATE_OIDC_ISSUER": "login"}, "is not an `http://` or `https://` URL; use one such as https://"),
            ({"HEADGATE_ORIGINS": "https://a/b"}, "is not a list of origins; use origins such as https://"),
            ({"HEADGATE_PROXIES": "*"}, "`*` in HEADGATE_PROXIES is not a list of IP addresses or networks; use a list"),
            ({"HEADGATE_API_PROT": "1"}, "HEADGATE_API_PROT is not a setting; did you mean `HEADGATE_API_PORT`?"),
            ({"HEADGATE_API_PORT_FILE": "/f"}, "HEADGATE_API_PORT_FILE is not a setting; did you mean"),
            ({"HEADGATE_STORE_FILE": "/nowhere"}, "the file `/nowhere` in HEADGATE_STORE_FILE cannot be read"),
            ({"HEADGATE_CONFIG": "/nowhere"}, "the configuration file `/nowhere` in HEADGATE_CONFIG cannot be read"),
            ({"HEADGATE_TLS_CERT": "/c"}, "only one of HEADGATE_TLS_CERT and HEADGATE_TLS_KEY is set; set both or neither"),
            ({"HEADGATE_METRICS": "token"}, "HEADGATE_METRICS is `token`, but no token is set; set HEADGATE_METRICS_TOKEN"),
            ({"HEADGATE_OIDC_CLIENT": "c"}, "needs HEADGATE_OIDC_ISSUER and HEADGATE_OIDC_CLIENT; set both, or unset all"),
        ],
    )  # fmt: skip
    def test_an_error_names_the_variable_and_a_valid_value(self, environ: dict[str, str], said: str) -> None:
        with pytest.raises(SettingsError) as caught:
            default_settings(environ)

        assert said in str(caught.value)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("api_prot = 1", "`api_prot` of `{file}` is not a setting; did you mean `api_port`?"),
            ('api_port = "x"', "`x` in `api_port` of `{file}` is not a port; use a number up to 65535, or unset it"),
            (
                "[limits]\nbody = 1",
                "`limits` of `{file}` has an invalid type; write a string, a number, true, false or a list",
            ),
            ("api_port =", "the configuration file `{file}` in HEADGATE_CONFIG cannot be read ("),
            ('url = "http://a"', "`url` of `{file}` is not a setting"),
            ('store = "a"\nstore_file = "/dev/null"', "`store` and `store_file` of `{file}` are both set; remove one"),
        ],
    )
    def test_an_error_names_the_key_and_the_configuration_file(
        self, configured: Configured, text: str, said: str
    ) -> None:
        environ = configured(text)

        with pytest.raises(SettingsError) as caught:
            default_settings(environ)

        assert said.format(file=environ["HEADGATE_CONFIG"]) in str(caught.value)


class TestAnotherAddress:
    TLS: Any = {"HEADGATE_TLS_CERT": "/c", "HEADGATE_TLS_KEY": "/k"}  # noqa: RUF012 (not changed)

    def test_an_address_that_other_machines_reach_needs_tls(self) -> None:
        with pytest.raises(SettingsError, match=r"`0\.0\.0\.0` in HEADGATE_BIND can be reached from other machines"):
            default_settings({"HEADGATE_BIND": "0.0.0.0"})  # noqa: S104 (the subject of the test)

    @pytest.mark.parametrize("more", [TLS, {"HEADGATE_INSECURE_HTTP": "1"}, {"HEADGATE_BIND": "::1"}])
    def test_an_address_is_accepted_with_tls_behind_a_tls_proxy_or_on_this_machine(self, more: dict[str, str]) -> None:
        assert default_settings({"HEADGATE_BIND": "::", **more}).bind == more.get("HEADGATE_BIND", "::")


class TestThePage:
    def test_the_page_of_settings_is_generated_from_the_settings(self, generated: Callable[[Path, str], None]) -> None:
        generated(ROOT / "docs" / "operate" / "settings.md", page())

    def test_the_page_of_settings_names_every_setting_once(self) -> None:
        assert [page().count(f"\n| `{each.name}` |") for each in VARIABLES] == [1] * len(VARIABLES)
