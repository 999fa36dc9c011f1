import pytest

from tests.endpoints.conftest import Make

MODELS = ("nekt", "y42", "onehouse", "datamesh")


@pytest.mark.parametrize("model", MODELS)
class TestUnderEveryModel:
    def test_a_service_principal_is_created_acts_by_a_token_and_is_deleted(self, make: Make, model: str) -> None:
        acme = make(model)

        made = acme.call("owner", "POST", "/service-principals", {"name": "robot"})
        assert made.status_code == 201, made.text
        issued = acme.call("owner", "POST", "/tokens", {"principal": "robot", "label": "for the nightly run"})
        assert issued.status_code == 201, issued.text
        acme.tokens["robot"] = issued.json()["token"]

        assert acme.call("robot", "GET", "/me").json()["kind"] == "service_principal"
        assert [each["name"] for each in acme.call("owner", "GET", "/service-principals").json()["items"]] == ["robot"]
        gone = acme.call("owner", "DELETE", "/service-principals/robot")
        assert (gone.status_code, acme.call("robot", "GET", "/me").status_code) == (200, 401), gone.text

    def test_a_service_principal_is_unauthorized_after_its_end(self, make: Make, model: str) -> None:
        acme = make(model)
        acme.call("owner", "POST", "/service-principals", {"name": "robot"})
        acme.tokens["robot"] = acme.call("owner", "POST", "/tokens", {"principal": "robot"}).json()["token"]
        version = acme.call("owner", "GET", "/service-principals/robot").headers["etag"]
        body = {"name": "android", "ends": 1.0}

        assert acme.send("owner", "PATCH", "/service-principals/robot", body, {"if-match": '"x"'}).status_code == 412
        changed = acme.send("owner", "PATCH", "/service-principals/robot", body, {"if-match": version})
        assert changed.status_code == 200, changed.text
        assert acme.call("owner", "GET", "/service-principals/android").json()["ends"] == 1.0
        assert acme.call("robot", "GET", "/me").status_code == 401
        assert acme.call("owner", "PATCH", "/service-principals/android", {}).status_code == 422


class TestScopes:
    def test_the_scopes_of_service_principals_are_those_of_the_model(self, make: Make) -> None:
        acme = make("datamesh")

        assert acme.call("owner", "POST", "/service-principals", {"name": "a", "scope": "fly"}).status_code in (
            403,
            422,
        )
        made = acme.call("owner", "POST", "/service-principals", {"name": "b", "scope": "organization"})
        assert made.status_code == 201, made.text
        held = acme.call("owner", "GET", "/service-principals/b").json()["held"]
        assert [each["role"] for each in held] == ["owner"]


class TestWhoMayNot:
    def test_a_member_neither_sees_nor_creates_nor_deletes_service_principals(self, make: Make) -> None:
        acme = make()
        acme.program("robot")
        acme.add("vic")

        hidden, missing = (acme.call("vic", "GET", f"/service-principals/{name}") for name in ("robot", "nosuch"))
        assert hidden.status_code == missing.status_code == 404
        assert hidden.text.replace("robot", "X") == missing.text.replace("nosuch", "X")
        assert acme.call("vic", "POST", "/service-principals", {"name": "x"}).status_code == 403
        assert acme.call("vic", "DELETE", "/service-principals/robot").status_code == 404
        assert acme.call("owner", "GET", "/users/robot").status_code == 404
