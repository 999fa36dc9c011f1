"""The governing rules of an organization over HTTP: projects and their models, roles, settings."""

import pytest

from tests.endpoints.conftest import Make

MODELS = ("nekt", "y42", "onehouse", "datamesh")


class TestProjects:
    @pytest.mark.parametrize("model", ["y42", "onehouse"])
    def test_a_project_is_created_shown_and_listed(self, make: Make, model: str) -> None:
        acme = make(model)

        made = acme.call("owner", "POST", "/projects", {"name": "one"})

        assert made.status_code == 201, made.text
        one = acme.call("owner", "GET", "/projects/one")
        assert one.json() == {"id": made.json()["id"], "name": "one", "model": model, "version": made.json()["version"]}
        assert one.headers["etag"] == made.headers["etag"]
        assert [each["name"] for each in acme.call("owner", "GET", "/projects").json()["items"]] == ["one"]

    def test_a_y42_project_can_be_renamed_and_deleted(self, make: Make) -> None:
        acme = make("y42")
        acme.call("owner", "POST", "/projects", {"name": "one"})

        assert acme.call("owner", "PATCH", "/projects/one", {"name": "two"}).status_code == 200
        assert acme.call("owner", "DELETE", "/projects/two").status_code == 200
        assert acme.call("owner", "GET", "/projects/two").status_code == 404

    def test_a_hidden_project_is_answered_like_a_missing_one(self, make: Make) -> None:
        acme = make("onehouse")
        acme.call("owner", "POST", "/projects", {"name": "one"})
        acme.add("vic")

        hidden, missing = (acme.call("vic", "GET", f"/projects/{name}") for name in ("one", "two"))

        assert hidden.status_code == missing.status_code == 404
        assert hidden.text.replace("one", "X") == missing.text.replace("two", "X")
        assert acme.call("vic", "GET", "/projects").json()["items"] == []

    def test_a_repeated_request_creates_one_project(self, make: Make) -> None:
        acme = make("onehouse")

        first, again = (
            acme.send("owner", "POST", "/projects", {"name": "one"}, {"idempotency-key": "k"}) for _ in range(2)
        )

        assert first.json()["id"] == again.json()["id"]
        assert acme.call("owner", "POST", "/projects", {"name": "one"}).status_code == 409


class TestSettings:
    def test_settings_are_listed_with_their_values_and_defaults(self, make: Make) -> None:
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

    def test_a_member_cannot_read_the_settings(self, make: Make) -> None:
        acme = make("nekt")
        acme.add("vic")

        assert acme.call("vic", "GET", "/settings").status_code == 403

    def test_settings_of_every_model_in_force_on_a_resource_are_listed(self, make: Make) -> None:
        acme = make("onehouse", tree="datamesh")
        acme.call("owner", "POST", "/projects", {"name": "one"})

        on_all = acme.call("owner", "GET", "/settings").json()["items"]
        on_one = acme.call("owner", "GET", "/settings", resource="one").json()["items"]

        assert {each["model"] for each in on_all} == {"onehouse", "datamesh"}
        assert {each["name"] for each in on_one} == {"source_roles", "catalog_roles", "manage_ceiling"}

    def test_settings_can_be_changed_only_as_the_model_allows(self, make: Make) -> None:
        acme = make("datamesh")

        assert acme.call("owner", "PUT", "/settings/change_process", {"value": "true"}).status_code == 200
        assert acme.call("owner", "PUT", "/settings/change_process", {"value": "perhaps"}).status_code == 422
        assert acme.call("owner", "PUT", "/settings/edition", {"value": "standard"}).status_code == 403
        values = {each["name"]: each["value"] for each in acme.call("owner", "GET", "/settings").json()["items"]}
        assert (values["change_process"], values["edition"]) == ("true", "enterprise")


class TestRoles:
    @pytest.mark.parametrize("model", MODELS)
    def test_roles_are_listed_to_every_user_with_their_actions(self, make: Make, model: str) -> None:
        acme = make(model)
        acme.add("vic")

        found = acme.call("vic", "GET", "/roles", limit=500).json()["items"]

        assert {each["model"] for each in found} == {model}
        assert all(each["on"] for each in found)
        ruler = {"nekt": "owner", "y42": "administrator", "onehouse": "admin", "datamesh": "owner"}[model]
        assert "organization.read_audit" in next(each for each in found if each["name"] == ruler)["actions"]

    def test_a_custom_role_can_be_created_and_deleted(self, make: Make) -> None:
        acme = make("datamesh")
        body = {"permissions": ["TEAM_EDIT", "TEAM_ADD"]}

        assert acme.call("owner", "PUT", "/roles/lead", body, dry_run=True).json()["dry_run"]
        assert acme.call("owner", "PUT", "/roles/lead", body).status_code == 200
        lead = acme.call("owner", "GET", "/roles", q="lead").json()["items"][0]
        assert (lead["custom"], lead["includes"]) == (True, ["TEAM_ADD", "TEAM_EDIT"])
        assert "team.edit" in lead["actions"]
        assert acme.call("owner", "DELETE", "/roles/lead").status_code == 200
        assert acme.call("owner", "GET", "/roles", q="lead").json()["items"] == []

    def test_defining_a_role_needs_a_privilege_and_a_model_with_custom_roles(self, make: Make) -> None:
        acme, other = make("datamesh"), make("nekt")
        acme.add("vic")
        body = {"permissions": ["TEAM_EDIT"]}

        assert acme.call("vic", "PUT", "/roles/lead", body).status_code == 403
        assert other.call("owner", "PUT", "/roles/lead", body).status_code == 403
        assert acme.call("owner", "PUT", "/roles/lead", {"permissions": ["FLY"]}).status_code in (403, 422)


class TestModels:
    def test_models_are_listed_and_shown_as_data(self, make: Make) -> None:
        acme = make("nekt")

        lines = acme.call("owner", "GET", "/models").json()["items"]
        nekt = acme.call("owner", "GET", "/models/nekt").json()

        assert [each["name"] for each in lines if each["in_force"]] == ["nekt"]
        assert "editor" in nekt["matrix"]["database"]["database.create_table"]
        assert {"name": "database", "word": "layer", "parents": ["lake"], "implicit": False} in nekt["types"]
        assert acme.call("owner", "GET", "/models/nosuch").status_code == 404
