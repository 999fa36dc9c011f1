"""Hostile input: malformed bodies, names, pages, tokens and fields. None has an effect, and none causes a server error."""

import base64
import json
import re
import secrets
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from headgate.app.background import run_in_background
from headgate.app.deployment import Deployment
from headgate.app.settings.settings import Settings
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization
from headgate.control.deployment.operators import add_operator
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.metadata import INTERNAL
from headgate.endpoints.http.limits import Limits
from headgate.facts.ids import PrincipalId, ResourceId
from tests.app.deployment_harness import OrganizationClient
from tests.app.routes import Route, routes

UNLIMITED = Limits(address_rate=0.0, principal_rate=0.0)
"""Without rate limits, which would answer before the checks that these tests are about."""


@dataclass(frozen=True)
class Target:
    """A served deployment: its home organization, another one, and every route of its OpenAPI document."""

    place: OrganizationClient
    other: OrganizationClient
    routes: list[Route]
    operator: str
    """The secret of an operator's session."""

    @property
    def revision(self) -> int:
        """The newest revision of the home organization."""
        return self.place.control.snapshot.revision

    def send(self, route: Route, path: str, content: bytes | None = None, **headers: str) -> httpx.Response:
        """Send a request as the owner, with a token."""
        return self._send(self.place.tokens["owner"], route, path, content, headers)

    def send_served(self, route: Route, path: str, content: bytes) -> httpx.Response:
        """Send a request as the owner, or as the operator where the owner's token is refused before the body is read."""
        answer = self.send(route, path, content)
        refused = answer.status_code in (401, 403)
        return self._send(self.operator, route, path, content, {}) if refused else answer

    def _send(
        self, secret: str, route: Route, path: str, content: bytes | None, headers: Mapping[str, str]
    ) -> httpx.Response:
        known = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        return self.place.http.request(route.method, path, content=content, headers={**known, **headers})


SENDING = ("POST", "PUT", "PATCH")
UNLISTED = ("/oauth2/token", "/oauth2/device", "/access/v1/evaluation", "/iceberg/v1/namespaces", "/guard/v1/decide")
"""Paths of other endpoints that accept a body, and that the OpenAPI document does not list."""
LARGE = b'{"k":"' + b"x" * 70_000 + b'"}'


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("hostile")
    settings = Settings(folder, folder / "cache", None, api_port=0, gateway_port=0, spark=False, limits=UNLIMITED)
    with (
        run_in_background(settings, print) as server,
        httpx.Client(base_url=server.url, trust_env=False, timeout=30) as client,
    ):
        owner, root = PrincipalId(new_id("p")), ResourceId(new_id("o"))
        second = create_organization(
            server.deployment.organizations, OrganizationSpec(root, "other", owner, "someone", "nekt")
        )
        other = OrganizationClient(client, second, "/o/other", {})
        other.tokens["owner"] = other.token(owner)
        token = settings.owner_token.read_text(encoding="utf-8").strip()
        place = OrganizationClient(client, server.deployment.home, "", {"owner": token})
        yield Target(place, other, routes(client.get("/api/openapi.json").json()), operator_session(server.deployment))


def operator_session(deployment: Deployment) -> str:
    """Log in a new operator; returns the secret of the session."""
    logins, password = deployment.auth_services.authentication, secrets.token_urlsafe()
    user = logins.register("olga", login="olga", password=password)
    add_operator(deployment.organizations.deployment.control, user, INTERNAL)
    return logins.log_in("olga", password, {}).secret


@pytest.fixture(params=[37, pytest.param(1, marks=[pytest.mark.soak, pytest.mark.timeout(600)])], ids=["some", "all"])
def share(request: pytest.FixtureRequest) -> int:
    """The share of the pairs of a route and a hostile input that is tried: one of this number; every input is in a pair."""
    return request.param


def part(known: list[Route], number: int, share: int) -> list[Route]:
    """Return the routes that are tried with the hostile input of this number."""
    return known[number % share :: share]


def sending(target: Target) -> list[tuple[str, str]]:
    """Return the method and the path of every route that accepts a body."""
    listed = [(each.method, each.filled("x")) for each in target.routes if each.method in SENDING]
    assert len(listed) > 50
    return [*listed, *(("POST", each) for each in UNLISTED)]


def is_refused(answer: httpx.Response, *expected: int) -> bool:
    """Check that an answer is a refusal with a 4xx status, one of `expected` if given; return True."""
    request = f"{answer.request.method} {answer.request.url}"
    assert 400 <= answer.status_code < 500, (request, answer.status_code, answer.text)
    assert not expected or answer.status_code in expected, (request, answer.status_code, answer.text)
    return True


def is_no_failure(answer: httpx.Response) -> bool:
    """Check that an answer is no server error, except for 503 by a route that needs Spark, which is off; return True."""
    request = f"{answer.request.method} {answer.request.url}"
    assert answer.status_code < 500 or (answer.status_code == 503 and "Spark" in answer.text), (request, answer.text)
    return True


BODIES = {
    "nothing": b"",
    "no JSON": b"<xml/>",
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "half a character": b'{"name": "\\ud800"}',
    "UTF-16": '{"name": "a"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"name": "a"}',
    "cut off": b'{"name": "a',
    "deep arrays": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "a long number": b'{"name": ' + b"9" * 100_000 + b"}",
    "a large exponent": b'{"name": 1e999999999}',
    "no number": b'{"name": NaN, "limit": -Infinity}',
    "a list": b"[]",
    "a text": b'"name"',
    "null": b"null",
    "many fields": b"{" + b",".join(b'"f%d":0' % number for number in range(20_000)) + b"}",
    "one field twice": b'{"name": {}, "name": []}',
    "a field of no name": b'{"": "", "__proto__": {}, "__class__": {}}',
    "too large": b'{"name": "' + b"a" * 2_000_000 + b'"}',
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_malformed_body_is_refused_by_every_route_and_changes_nothing(target: Target, kind: str, share: int) -> None:
    before = target.revision
    taking = [route for route in target.routes if route.body is not None]

    for route in part(taking, list(BODIES).index(kind), share):
        assert is_refused(target.send_served(route, route.filled("lake"), BODIES[kind]))

    assert target.revision == before


def test_a_body_with_a_byte_order_mark_is_refused_alike_at_every_endpoint(target: Target) -> None:
    known = {"authorization": f"Bearer {target.place.tokens['owner']}", "content-type": "application/json"}

    for method, path in sending(target):
        answer = target.place.http.request(method, path, content=BODIES["a byte order mark"], headers=known)

        assert (answer.status_code, answer.json()["type"]) == (400, "urn:headgate:problem:byte-order-mark"), path


TEXTS = {
    "SQL": "x'; DROP TABLE log; --",
    "SQL in a comment": 'x"/**/OR/**/1=1--',
    "LIKE": "%_%",
    "a template": "{{7913*7919}}${7913*7919}#{7913*7919}<%= 7913*7919 %>{% raw %}",
    "a format string": "{0.__class__} %s %n %(x)s",
    "markup": "<script>alert(1)</script>",
    "a shell command": "`id`; $(id) | id & id",
    "a path": "../../etc/passwd",
    "a path of Windows": "..\\..\\windows\\win.ini",
    "an encoded path": "..%2f..%2fetc%2fpasswd",
    "a URL": "file:///etc/passwd",
    "lines": "a\r\nset-cookie: a=b\r\n\r\nHTTP/1.1 200 OK",
    "a NUL character": "a\0b",
    "a bidirectional override": "a\u202egnp.exe",
    "a zero width space": "ow\u200bner",
    "a lookalike": "оwner",  # noqa: RUF001 (the subject of the test)
    "fullwidth letters": "ｏｗｎｅｒ",  # noqa: RUF001 (the subject of the test)
    "many combining marks": "a" + "\u0301" * 5000,
    "an emoji": "👩‍👩‍👧‍👦" * 50,
    "a dot": ".",
    "dots": "..",
    "spaces": "   ",
    "nothing": "",
    "long": "a" * 100_000,
    "JSON": '{"$ne": null}',
    "XML": '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    "LDAP": "*)(uid=*))(|(uid=*",
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_hostile_text_is_only_ever_a_text_in_every_field_of_every_route(
    target: Target, kind: str, share: int
) -> None:
    text = TEXTS[kind]
    facts = target.place.control.snapshot
    paths = [quote(text[:2000], safe=""), "owner"] if text not in ("", ".", "..") else ["owner"]

    for route in part(target.routes, list(TEXTS).index(kind), share):
        content = None if route.body is None else json.dumps(route.sample(text)).encode()
        for path in paths:
            answer = target.send(route, route.filled(path), content)
            assert is_no_failure(answer)
            assert str(7913 * 7919) not in answer.text
            assert "root:" not in answer.text
            assert "set-cookie" not in answer.headers or route.path.startswith(("/api/v1/log", "/oidc"))

    assert set(target.place.control.snapshot.principals) >= set(facts.principals)
    assert target.place.opened.store.head().revision == target.revision
    assert all(is_name(each.name) for each in target.place.control.snapshot.resources.values())


def is_name(name: str) -> bool:
    """Whether a name has only characters that are safe in a path, a statement and a page."""
    return not set(name) & set("./\\%{}<>'\"`;$&|\0\r\n\u202e\u200b ")


@pytest.mark.parametrize("value", ["0", "-1", "501", "1e3", "1.5", "9" * 400, "", "NaN", "٣", "null", "1;2"])
def test_no_page_is_larger_than_it_may_be_or_of_a_size_that_is_no_number(target: Target, value: str) -> None:
    paged = [route for route in target.routes if "limit" in {each["name"] for each in route.parameters("query")}]
    assert paged

    for route in paged:
        answer = target.send(route, f"{route.filled('lake')}?limit={quote(value)}")
        assert value == "٣" or is_refused(answer)
        assert is_no_failure(answer)


CURSORS = [
    b"",
    b"[]",
    b"{}",
    b"[1,2]",
    b'["a"]',
    b"[[],{}]",
    b'["a","b","c"]',
    b"[null,null]",
    b'["\\ud800","a"]',
    b"\xff",
]


MADE_UP_CURSORS = [*(base64.urlsafe_b64encode(each).decode() for each in CURSORS), "=", "a", "%00", "a" * 3000, "é"]


@pytest.mark.parametrize("cursor", MADE_UP_CURSORS)
def test_a_made_up_cursor_causes_no_failure(target: Target, cursor: str, share: int) -> None:
    paged = [route for route in target.routes if "cursor" in {each["name"] for each in route.parameters("query")}]
    assert len(paged) > len(MADE_UP_CURSORS)

    for route in part(paged, MADE_UP_CURSORS.index(cursor), min(share, len(MADE_UP_CURSORS))):
        assert is_no_failure(target.send(route, f"{route.filled('lake')}?cursor={quote(cursor)}"))
        assert is_no_failure(target.send(route, f"{route.filled('lake')}?sort={quote(cursor)}&q={quote(cursor)}"))


MADE_UP = {"is_admin": True, "revision": 0, "grantor": "owner", "id": "p_0", "__class__": {}, "model_config": {}}


@pytest.mark.parametrize("name", MADE_UP)
def test_an_unknown_field_is_refused_by_every_route_of_the_api(target: Target, name: str, share: int) -> None:
    before = target.revision

    for route in part(target.routes, list(MADE_UP).index(name), share):
        body = route.sample("a")
        if route.path.startswith("/api/") and isinstance(body, dict) and body and name not in body:
            form = json.dumps({**body, name: MADE_UP[name]}).encode()
            answer = target.send_served(route, route.filled("lake"), form)
            assert is_refused(answer, 422), route.name
            faults = [each["at"] for each in answer.json().get("faults", ())]
            assert any(each.split(".")[-1] == name for each in faults), (route.name, name, answer.text)

    assert target.revision == before


WRONG = (7.5, "NaN", None, {"a": {"b": [1]}}, [[{}]], [None])
VALIDATOR_WORDS = re.compile(r"\w[\[(]|Input|Value error|valid dictionary|after validation|JSON decode|Extra|required")


@pytest.mark.parametrize("wrong", WRONG, ids=map(str, WRONG))
def test_a_fault_of_a_form_names_fields_and_no_types_of_the_program(target: Target, wrong: object, share: int) -> None:
    taking = [route for route in target.routes if isinstance(route.sample("a"), dict)]

    for route in part(taking, WRONG.index(wrong), min(share, len(WRONG))):
        body = route.sample("a")
        for form in (wrong, *({**body, name: wrong} for name in body)):
            answer = target.send(route, route.filled("lake"), json.dumps(form).encode())
            assert is_no_failure(answer)
            if answer.status_code == 422:
                told = [text for each in answer.json().get("faults", ()) for text in each.values()]
                assert [text for text in told if VALIDATOR_WORDS.search(text)] == [], route.name


def _numbers(schema: Any) -> bool:
    """Whether a schema accepts a number with a fraction."""
    if not isinstance(schema, dict):
        return False
    return schema.get("type") == "number" or any(_numbers(each) for each in schema.get("anyOf", ()))


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_is_refused_wherever_a_route_takes_one(target: Target, written: str) -> None:
    tried = 0
    for route in target.routes:
        for each in route.parameters("query"):
            if _numbers(each["schema"]):
                answer = target.send(route, f"{route.filled('x')}?{each['name']}={written}", b"{}")
                assert answer.status_code == 422, f"{route.name} {each['name']}: {answer.text}"
                tried += 1
        for name, field in _fields(route):
            if _numbers(field):
                answer = target.send(route, route.filled("x"), f'{{"{name}": {written}}}'.encode())
                assert answer.status_code == 422, f"{route.name} {name}: {answer.text}"
                assert name in answer.text, f"{route.name} {name}: {answer.text}"
                tried += 1
    assert tried > 10


def _fields(route: Route) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a route's body with their schemas."""
    body = route.body or {}
    named = str(body.get("$ref", "")).rpartition("/")[2]
    found = route.document["components"]["schemas"].get(named, body)
    yield from found.get("properties", {}).items()


@pytest.mark.parametrize("known", [{}, {"authorization": "Bearer hgs.none.none"}], ids=["without", "unknown"])
def test_every_route_refuses_a_large_body_without_a_valid_credential(target: Target, known: dict[str, str]) -> None:
    for method, path in sending(target):
        answer = target.place.http.request(method, path, content=LARGE, headers=known)

        assert (answer.status_code, answer.json()["type"]) == (413, "urn:headgate:problem:too-large"), path


class TestATokenThatIsNone:
    """Forged, revoked and foreign tokens."""

    def test_a_forged_token_is_refused_at_every_route_that_is_not_public(self, target: Target, share: int) -> None:
        for number, secret in enumerate(self.forged(target)):
            for route in part(asking_who(target), number, share):
                path = route.filled("owner")
                answer = target.send(route, path, b"{}", authorization=f"Bearer {secret}")
                assert is_refused(answer, 401), (route.name, secret)

    def test_a_malformed_authorization_header_is_refused(self, target: Target) -> None:
        token = target.place.tokens["owner"]
        ways = [
            "",
            "Bearer",
            "Bearer ",
            f"Basic {token}",
            f"Bearer {token} {token}",
            f"Bearer  {token}x",
            f"Token {token}",
        ]

        for way in ways:
            answer = target.place.http.get("/api/v1/me", headers={"authorization": way.strip()})
            assert is_refused(answer, 401), way

    def test_a_revoked_token_is_refused_however_often_it_is_sent_again(self, target: Target) -> None:
        target.place.add(name := f"user{secrets.token_hex(4)}")
        token = target.place.tokens[name]
        assert target.place.call(name, "GET", "/me").status_code == 200

        assert target.place.call(name, "DELETE", f"/tokens/{token.split('.')[1]}").status_code == 200

        assert all(is_refused(target.place.call(name, "GET", "/me"), 401) for _ in range(3))

    def test_a_token_is_refused_in_another_organization(self, target: Target, share: int) -> None:
        theirs, ours = target.other.tokens["owner"], target.place.tokens["owner"]
        pairs = (("/o/main", theirs), ("/o/other", ours), (f"/o/{target.other.opened.id}", ours))
        for number, (prefix, token) in enumerate(pairs):
            for route in part(asking_who(target), number, share):
                if route.path.startswith(("/api/v1/organizations", "/api/v1/deployment/")):  # a route of the deployment
                    continue
                path = f"{prefix}{route.filled('owner')}"
                answer = target.send(route, path, b"{}", authorization=f"Bearer {token}")
                assert is_refused(answer, 401, 404 if route.path.startswith("/iceberg") else 401), route.name

    def forged(self, target: Target) -> list[str]:
        """Return forged secrets: mixed from two, changed in one place, truncated, or of another kind."""
        prefix, id, secret = target.place.tokens["owner"].split(".")
        _, other, other_secret = target.other.tokens["owner"].split(".")
        turned = secret[:-2] + ("AA" if secret[-2:] != "AA" else "BB")
        unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
        claims = base64.urlsafe_b64encode(json.dumps({"sub": "owner", "exp": 9e9}).encode()).decode().rstrip("=")
        return [
            f"{prefix}.{id}.{turned}",
            f"{prefix}.{id}.{other_secret}",
            f"{prefix}.{other}.{secret}",
            f"{prefix}.{id}.",
            f"{prefix}.{id}",
            f"{prefix}..",
            f"{prefix}.{id}.{secret}.{secret}",
            f"{prefix.upper()}.{id}.{secret}",
            f"hgr.{id}.{secret}",
            f"{unsigned}.{claims}.",
            "null",
            "x" * 5000,
        ]


def asking_who(target: Target) -> list[Route]:
    """Return the routes that need a caller."""
    return [route for route in target.routes if not {"x-headgate-public"} & route.operation.keys()]


def test_every_route_says_which_action_it_needs_or_why_it_needs_none(target: Target) -> None:
    for route in target.routes:
        said = [key for key in ("x-headgate-needs", "x-headgate-public", "x-headgate-own") if route.operation.get(key)]
        assert len(said) == 1, route.name


HEADS = {
    "two lengths": b"content-length: 4\r\ncontent-length: %(all)d",
    "a length with a sign": b"content-length: +%(all)d",
    "lengths in a list": b"content-length: 4, %(all)d",
    "a length and chunks": b"content-length: %(all)d\r\ntransfer-encoding: chunked",
    "a misspelled transfer coding": b"transfer-encoding: xchunked\r\ncontent-length: 4",
    "chunks after another coding": b"transfer-encoding: gzip, chunked",
    "chunks twice": b"transfer-encoding: chunked\r\ntransfer-encoding: identity",
    "a space before the colon": b"content-length : %(all)d",
    "a folded line": b"x-a: b\r\n content-length: %(all)d",
    "a bare line end": b"x-a: b\ntransfer-encoding: chunked",
    "a bare return": b"x-a: b\rtransfer-encoding: chunked",
    "a NUL in a header": b"x-a: b\0c",
    "two credentials": b"content-length: 4\r\nauthorization: Bearer x",
    "two hosts": b"content-length: 4\r\nhost: elsewhere",
}


@pytest.mark.parametrize("kind", HEADS)
def test_no_request_is_hidden_in_another(target: Target, kind: str) -> None:
    known = (
        f"host: localhost\r\nauthorization: Bearer {target.place.tokens['owner']}\r\ncontent-type: application/json\r\n"
    )
    hidden = f"POST /api/v1/groups HTTP/1.1\r\n{known}content-length: 18\r\n\r\n" + '{"name": "hidden"}'
    body = b"0\r\n\r\n" + hidden.encode()
    head = HEADS[kind] % {b"all": len(body)} if b"%" in HEADS[kind] else HEADS[kind]
    before, url = target.revision, target.place.http.base_url

    with socket.create_connection((url.host, url.port or 80), timeout=30) as connection:
        connection.sendall(f"POST /api/v1/questions HTTP/1.1\r\n{known}".encode() + head + b"\r\n\r\n" + body)
        connection.shutdown(socket.SHUT_WR)
        answered = b"".join(iter(partial(connection.recv, 65536), b""))

    # Refused, or closed without an answer: in no case does the server answer two requests.
    assert not answered or answered.startswith((b"HTTP/1.1 400", b"HTTP/1.1 411", b"HTTP/1.1 501")), answered
    assert answered.count(b"HTTP/1.1 ") <= 1
    assert target.revision == before


FORGED = {
    "x-http-method-override": "DELETE",
    "x-original-url": "/api/v1/health",
    "x-rewrite-url": "/api/v1/health",
    "x-forwarded-user": "owner",
    "x-remote-user": "owner",
    "x-forwarded-prefix": "/o/other",
    "x-forwarded-host": "elsewhere",
    "x-headgate-organization": "other",
    "x-headgate-principal": "owner",
}


@pytest.mark.parametrize("header", FORGED)
def test_a_header_that_claims_another_identity_has_no_effect(target: Target, header: str) -> None:
    nobody = target.place.http.get("/api/v1/me", headers={header: FORGED[header]})
    owner = target.place.send("owner", "GET", "/me", None, {header: FORGED[header]})

    assert nobody.status_code == 401
    assert owner.json()["organization"]["id"] == target.place.opened.id
