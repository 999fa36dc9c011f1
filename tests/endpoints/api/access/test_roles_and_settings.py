"""Which rules hold: projects and their models, roles, settings."""

import pytest

from tests.endpoints.conftest import Make

MODELS = ("nekt", "y42", "onehouse", "datamesh")


class TestProjects:
    @pytest.mark.parametrize("model", ["y42", "onehouse"])
    def test_are_made_renamed_and_told(self, make: Make, model: str) -> None:
        acme = make(model)

        made = acme.call("owner", "POST", "/projects", {"name": "one"})

        assert made.status_code == 201, made.text
        one = acme.call("owner", "GET", "/projects/one")
        assert one.json() == {"id": made.json()["id"], "name": "one", "model": model, "version": made.json()["version"]}
        assert one.headers["etag"] == made.headers["etag"]
        assert [each["name"] for each in acme.call("owner", "GET", "/projects").json()["items"]] == ["one"]

    def test_of_a_model_that_edits_them(self, make: Make) -> None:
        acme = make("y42")
        acme.call("owner", "POST", "/projects", {"name": "one"})

        assert acme.call("owner", "PATCH", "/projects/one", {"name": "two"}).status_code == 200
        assert acme.call("owner", "DELETE", "/projects/two").status_code == 200
        assert acme.call("owner", "GET", "/projects/two").status_code == 404

    def test_hidden_and_missing_are_the_same(self, make: Make) -> None:
        acme = make("onehouse")
        acme.call("owner", "POST", "/projects", {"name": "one"})
        acme.add("vic")

        hidden, missing = (acme.call("vic", "GET", f"/projects/{name}") for name in ("one", "two"))

        assert hidden.status_code == missing.status_code == 404
        assert hidden.text.replace("one", "X") == missing.text.replace("two", "X")
        assert acme.call("vic", "GET", "/projects").json()["items"] == []

    def test_which_model_governs_one_the_deployment_says(self, make: Make) -> None:
        acme = make("y42")
        acme.call("owner", "POST", "/projects", {"name": "one"})

        refused = acme.call("owner", "PUT", "/projects/one/model", {"model": "onehouse"})

        assert refused.status_code == 422
        assert "the deployment says" in refused.json()["detail"]

    def test_a_repeated_request_makes_one(self, make: Make) -> None:
        acme = make("onehouse")

        first, again = (
            acme.send("owner", "POST", "/projects", {"name": "one"}, {"idempotency-key": "k"}) for _ in range(2)
        )

        assert first.json()["id"] == again.json()["id"]
        assert acme.call("owner", "POST", "/projects", {"name": "one"}).status_code == 409


class TestSettings:
    def test_are_told_with_their_values(self, make: Make) -> None:
        acme = make("nekt")

        found = acme.call("owner", "GET", "/settings").json()["items"]

        assert found == [
            {
                "id": "nekt.plan",
                "model": "nekt",
                "name": "plan",
                "value": "growth",
                "default": "growth",
                "values": ["starter", "growth", "custom"],
            }
        ]

    def test_are_for_whom_the_model_says(self, make: Make) -> None:
        acme = make("nekt")
        acme.add("vic")

        assert acme.call("vic", "GET", "/settings").status_code == 403

    def test_those_of_every_model_in_force_there(self, make: Make) -> None:
        acme = make("onehouse", tree="datamesh")
        acme.call("owner", "POST", "/projects", {"name": "one"})

        on_all = acme.call("owner", "GET", "/settings").json()["items"]
        on_one = acme.call("owner", "GET", "/settings", resource="one").json()["items"]

        assert {each["model"] for each in on_all} == {"onehouse", "datamesh"}
        assert {each["name"] for each in on_one} == {"source_roles", "catalog_roles", "manage_ceiling"}

    def test_are_changed_as_the_model_says(self, make: Make) -> None:
        acme = make("datamesh")

        assert acme.call("owner", "PUT", "/settings/change_process", {"value": "true"}).status_code == 200
        assert acme.call("owner", "PUT", "/settings/change_process", {"value": "perhaps"}).status_code == 422
        assert acme.call("owner", "PUT", "/settings/edition", {"value": "standard"}).status_code == 403
        values = {each["name"]: each["value"] for each in acme.call("owner", "GET", "/settings").json()["items"]}
        assert (values["change_process"], values["edition"]) == ("true", "enterprise")


class TestRoles:
    @pytest.mark.parametrize("model", MODELS)
    def test_are_told_to_everybody_with_what_they_give(self, make: Make, model: str) -> None:
        acme = make(model)
        acme.add("vic")

        found = acme.call("vic", "GET", "/roles", limit=500).json()["items"]

        assert {each["model"] for each in found} == {model}
        assert all(each["on"] for each in found)
        ruler = {"nekt": "owner", "y42": "administrator", "onehouse": "admin", "datamesh": "owner"}[model]
        assert "organization.read_audit" in next(each for each in found if each["name"] == ruler)["actions"]

    def test_of_the_organizations_own_come_and_go(self, make: Make) -> None:
        acme = make("datamesh")
        body = {"permissions": ["TEAM_EDIT", "TEAM_ADD"]}

        assert acme.call("owner", "PUT", "/roles/lead", body, dry_run=True).json()["dry_run"]
        assert acme.call("owner", "PUT", "/roles/lead", body).status_code == 200
        lead = acme.call("owner", "GET", "/roles", q="lead").json()["items"][0]
        assert (lead["custom"], lead["includes"]) == (True, ["TEAM_ADD", "TEAM_EDIT"])
        assert "team.edit" in lead["actions"]
        assert acme.call("owner", "DELETE", "/roles/lead").status_code == 200
        assert acme.call("owner", "GET", "/roles", q="lead").json()["items"] == []

    def test_are_defined_by_who_may_where_a_model_lets_them(self, make: Make) -> None:
        acme, other = make("datamesh"), make("nekt")
        acme.add("vic")
        body = {"permissions": ["TEAM_EDIT"]}

        assert acme.call("vic", "PUT", "/roles/lead", body).status_code == 403
        assert other.call("owner", "PUT", "/roles/lead", body).status_code == 403
        assert acme.call("owner", "PUT", "/roles/lead", {"permissions": ["FLY"]}).status_code in (403, 422)


class TestModels:
    def test_are_told_as_data(self, make: Make) -> None:
        acme = make("nekt")

        lines = acme.call("owner", "GET", "/models").json()["items"]
        nekt = acme.call("owner", "GET", "/models/nekt").json()

        assert [each["name"] for each in lines if each["in_force"]] == ["nekt"]
        assert "editor" in nekt["matrix"]["database"]["database.create_table"]
        assert {"name": "database", "word": "layer", "parents": ["lake"], "implicit": False} in nekt["types"]
        assert acme.call("owner", "GET", "/models/nosuch").status_code == 404
