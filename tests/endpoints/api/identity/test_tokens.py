from typing import Any

from headgate.facts.ids import TokenId
from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make


def issued(acme: OrganizationClient, who: str, **body: Any) -> dict[str, Any]:
    answer = acme.call(who, "POST", "/tokens", body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


class TestATokenOfOnesOwn:
    def test_the_secret_of_a_token_is_returned_only_once(self, make: Make) -> None:
        acme = make()

        first, again = (acme.send("owner", "POST", "/tokens", {}, {"idempotency-key": "k"}) for _ in range(2))

        assert first.json()["id"] == again.json()["id"]
        assert first.json()["token"]
        assert "token" not in again.json()

    def test_a_listed_token_shows_its_settings_but_not_its_secret(self, make: Make) -> None:
        acme = make()
        token = issued(acme, "owner", label="ci", days=1, only=["organization"], actions=["lake.list_all"])

        found = acme.call("owner", "GET", "/tokens", q="ci").json()["items"]

        assert [each["label"] for each in found] == ["ci"]
        assert found[0]["only"] == ["organization"]
        assert found[0]["actions"] == ["lake.list_all"]
        assert found[0]["ends"] == token["ends"]
        assert token["token"].split(".")[2] not in str(found)

    def test_a_listed_token_shows_its_last_use(self, make: Make) -> None:
        acme = make()
        acme.tokens["ci"] = (token := issued(acme, "owner", label="ci"))["token"]

        def last_used() -> float | None:
            found = acme.call("owner", "GET", "/tokens", q="ci").json()["items"]
            return None if found[0]["last_used"] is None else float(found[0]["last_used"])

        assert last_used() is None
        acme.call("ci", "GET", "/me")
        used = last_used()
        assert used is not None
        acme.opened.flush()
        assert last_used() == used
        assert acme.opened.store.document("token_use", TokenId(token["id"])) == {"at": used}

    def test_a_token_restricted_to_actions_cannot_perform_others(self, make: Make) -> None:
        acme = make()
        acme.tokens["ci"] = issued(acme, "owner", actions=["group.describe"])["token"]

        assert acme.call("ci", "POST", "/groups", {"name": "crew"}).status_code == 403
        assert acme.call("ci", "POST", "/tokens", {}).status_code == 422
        assert acme.call("owner", "POST", "/tokens", {"actions": ["table.fly"]}).status_code == 422

    def test_an_access_token_issues_no_tokens(self, make: Make) -> None:
        acme = make()
        acme.call("owner", "POST", "/service-principals", {"name": "bot", "role": "admin"}).raise_for_status()
        acme.tokens["bot"] = token = issued(acme, "owner", principal="bot")["token"]
        form = {
            "grant_type": "client_credentials",
            "client_id": acme.caller("bot").principal,
            "client_secret": token,
        }
        acme.tokens["hour"] = acme.http.post("/oauth2/token", data=form).raise_for_status().json()["access_token"]

        refused = acme.call("hour", "POST", "/tokens", {"days": 1})

        assert refused.status_code == 422
        assert "send the service principal's own token instead" in refused.json()["detail"]
        assert acme.call("hour", "GET", "/users").status_code == 200
        assert acme.call("bot", "POST", "/tokens", {}).status_code == 201

    def test_a_replaced_token_is_revoked(self, make: Make) -> None:
        acme = make()
        old = issued(acme, "owner", label="old")
        acme.tokens["old"] = old["token"]

        issued(acme, "owner", label="new", replaces=old["id"])

        assert acme.call("old", "GET", "/me").status_code == 401
        assert acme.call("owner", "POST", "/tokens", {"replaces": old["id"]}).status_code == 404

    def test_a_token_request_with_contradictory_or_invalid_fields_is_refused(self, make: Make) -> None:
        acme = make()

        assert acme.call("owner", "POST", "/tokens", {"ends": 9e9, "days": 1}).status_code == 422
        assert acme.call("owner", "POST", "/tokens", {"ends": 1}).status_code == 422
        assert acme.call("owner", "POST", "/tokens", {"secret": "mine"}).status_code == 422

    def test_a_deleted_token_is_refused_at_once(self, make: Make) -> None:
        acme = make()
        acme.tokens["ci"] = (token := issued(acme, "owner"))["token"]

        assert acme.call("owner", "DELETE", f"/tokens/{token['id']}", dry_run=True).status_code == 200
        assert acme.call("ci", "GET", "/me").status_code == 200
        assert acme.call("owner", "DELETE", f"/tokens/{token['id']}").status_code == 200
        assert acme.call("ci", "GET", "/me").status_code == 401


class TestATokenOfAnother:
    def test_a_token_of_a_hidden_user_is_answered_like_a_missing_one(self, make: Make) -> None:
        acme = make()
        acme.add("vic")
        acme.add("sam")
        sams = acme.call("sam", "GET", "/tokens").json()["items"][0]["id"]

        assert acme.call("vic", "POST", "/tokens", {"principal": "sam"}).status_code == 404
        assert acme.call("vic", "GET", "/tokens", principal="sam").status_code == 404
        hidden, missing = (acme.call("vic", "DELETE", f"/tokens/{id}") for id in (sams, "t_nosuch"))
        assert hidden.status_code == missing.status_code == 404
        assert hidden.text.replace(sams, "X") == missing.text.replace("t_nosuch", "X")

    def test_an_admin_manages_tokens_of_users_with_no_higher_role(self, make: Make) -> None:
        acme = make()
        acme.add("vic")
        acme.add("adi", "admin")
        token = issued(acme, "adi", principal="vic")

        assert acme.call("adi", "POST", "/tokens", {"principal": "owner"}).status_code == 403
        assert len(acme.call("adi", "GET", "/tokens", principal="vic").json()["items"]) == 2
        assert acme.call("adi", "DELETE", f"/tokens/{token['id']}").status_code == 200
