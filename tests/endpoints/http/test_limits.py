"""Limits of requests: size, time, nesting, rate and encoding; a request beyond one is refused with the reason."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.rate_limits import TokenBuckets
from tests.endpoints.http.asgi_client import ask, asks, guarded

PROBLEM = "application/problem+json"


KNOWN = {"authorization": "a token of a principal"}


def members(many: int) -> str:
    return json.dumps({f"k{each}": [] for each in range(many)})


class TestABodyOfACallerWithoutACredential:
    @pytest.mark.parametrize("kibibytes", [65, 4096])
    def test_a_body_above_64_kib_is_refused_without_a_credential(self, kibibytes: int) -> None:
        content = "x" * (kibibytes * 1024)

        refused = ask(guarded(), "POST", "/things/a", content=content)
        accepted = ask(guarded(), "POST", "/things/a", content=content, headers=KNOWN)

        assert (refused.status_code, accepted.status_code) == (413, 200)
        assert "without a valid credential" in refused.json()["detail"]

    def test_a_body_without_a_length_is_refused_once_it_is_too_large(self) -> None:
        async def pieces() -> Any:
            for _ in range(65):
                yield b"x" * 1024

        assert ask(guarded(), "POST", "/things/a", content=pieces()).status_code == 413

    def test_a_body_of_many_members_is_refused_without_a_credential(self) -> None:
        refused = ask(guarded(), "POST", "/things/a", content=members(1001))

        assert (refused.status_code, refused.json()["type"]) == (400, "urn:headgate:problem:too-wide")
        assert ask(guarded(), "POST", "/things/a", content=members(1000)).status_code == 200
        assert ask(guarded(), "POST", "/things/a", content=members(1001), headers=KNOWN).status_code == 200

    def test_a_body_of_more_members_than_the_limit_is_refused_with_a_credential_too(self) -> None:
        answer = ask(guarded(limits=Limits(members=10)), "POST", "/things/a", content=members(11), headers=KNOWN)

        assert (answer.status_code, answer.json()["type"]) == (400, "urn:headgate:problem:too-wide")
        assert "credential" not in answer.json()["detail"]

    @pytest.mark.parametrize("content", ['[{"a": 1}]', "[[[1]]]", '{"a": {"b": []}}'])
    def test_members_of_nested_values_are_counted(self, content: str) -> None:
        many = f"[{', '.join([content] * 400)}]"

        assert ask(guarded(), "POST", "/things/a", content=many).json()["type"] == "urn:headgate:problem:too-wide"

    def test_commas_in_strings_are_not_counted_as_members(self) -> None:
        content = json.dumps({"text": ',"' * 2000})

        assert ask(guarded(), "POST", "/things/a", content=content).status_code == 200


class TestABody:
    def test_a_body_of_usual_size_arrives_unchanged(self) -> None:
        answer = ask(guarded(), "POST", "/things/a", content='{"é": [1, "}]"]}')

        assert answer.json()["body"] == '{"é": [1, "}]"]}'

    def test_a_body_of_the_largest_size_arrives(self) -> None:
        assert ask(guarded(limits=Limits(body=10)), "POST", "/things/a", content="x" * 10).status_code == 200

    def test_a_body_that_is_too_large_by_its_length_is_refused_and_not_read(self) -> None:
        answer = ask(guarded(limits=Limits(body=10)), "POST", "/things/a", content="x" * 11)

        assert (answer.status_code, answer.headers["content-type"]) == (413, PROBLEM)
        assert answer.headers["connection"] == "close"

    def test_a_body_without_a_length_that_grows_too_large_is_refused(self) -> None:
        async def pieces() -> Any:
            for _ in range(11):
                yield b"x"

        answer = ask(guarded(limits=Limits(body=10)), "POST", "/things/a", content=pieces())

        assert (answer.status_code, answer.headers["content-type"]) == (413, PROBLEM)

    def test_a_body_that_is_not_utf_8_is_refused(self) -> None:
        answer = ask(guarded(), "POST", "/things/a", content=b'{"name": "\xff"}')

        assert (answer.status_code, answer.json()["type"]) == (400, "urn:headgate:problem:not-text")

    def test_a_body_with_a_byte_order_mark_is_refused_with_a_remedy(self) -> None:
        answer = ask(guarded(), "POST", "/things/a", content='{"name": "a"}'.encode("utf-8-sig"))

        assert (answer.status_code, answer.json()["type"]) == (400, "urn:headgate:problem:byte-order-mark")
        assert answer.json()["detail"].endswith("send it as UTF-8 without one")

    def test_a_body_with_a_byte_order_mark_character_inside_arrives(self) -> None:
        assert ask(guarded(), "POST", "/things/a", content='{"name": "\ufeffa"}').status_code == 200

    def test_a_body_that_nests_too_deeply_is_refused(self) -> None:
        answer = ask(guarded(), "POST", "/things/a", content="[" * 200)

        assert (answer.status_code, answer.json()["type"]) == (400, "urn:headgate:problem:too-deep")

    def test_a_body_that_arrives_too_slowly_is_refused(self) -> None:
        async def pieces() -> Any:
            yield b"x"
            await asyncio.sleep(5)

        answer = ask(guarded(limits=Limits(body_seconds=0.05)), "POST", "/things/a", content=pieces())

        assert (answer.status_code, answer.json()["type"]) == (408, "urn:headgate:problem:too-slow")

    def test_a_content_length_that_is_no_number_is_refused(self) -> None:
        answer = ask(guarded(), "POST", "/things/a", content=b"x", headers={"content-length": "+1"})

        assert answer.status_code == 400


class TestAHead:
    @pytest.mark.parametrize(
        "headers",
        [
            [("authorization", "Bearer a"), ("authorization", "Bearer b")],
            [("host", "a"), ("host", "b")],
            [("content-length", "0"), ("content-length", "0")],
            [("content-length", "0"), ("transfer-encoding", "chunked")],
        ],
    )
    def test_a_head_with_a_repeated_or_contradictory_header_is_refused(self, headers: list[tuple[str, str]]) -> None:
        answer = ask(guarded(), "POST", "/things/a", headers=headers)

        assert (answer.status_code, answer.json()["type"]) == (400, "urn:headgate:problem:ambiguous")
        assert answer.headers["connection"] == "close"

    @pytest.mark.parametrize("headers", [{f"x-{each}": "" for each in range(70)}, {"x-large": "x" * 40_000}])
    def test_a_head_that_is_too_large_is_refused(self, headers: dict[str, str]) -> None:
        answer = ask(guarded(), "GET", "/things/a", headers=headers)

        assert (answer.status_code, answer.headers["content-type"]) == (431, PROBLEM)

    @pytest.mark.parametrize(
        "path", ["/things/%ff", "/things/a%00", "/things/a?name=%c3%28", "/things/" + "a" * 40_000]
    )
    def test_a_request_path_that_is_not_text_or_too_long_is_refused(self, path: str) -> None:
        assert ask(guarded(), "GET", path).status_code in (400, 431)

    @pytest.mark.parametrize(("path", "said"), [("/things/a%00", "contains `%00`"), ("/things/%ff", "are not UTF-8")])
    def test_a_refusal_of_a_request_path_names_the_fault(self, path: str, said: str) -> None:
        assert said in ask(guarded(), "GET", path).json()["detail"]


class TestASlowAnswer:
    def test_a_request_that_takes_too_long_is_answered_with_503(self) -> None:
        answer = ask(guarded(limits=Limits(request_seconds=0.05)), "GET", "/slow")

        assert (answer.status_code, answer.json()["type"]) == (503, "urn:headgate:problem:too-slow")
        assert answer.headers["retry-after"] == "1"


class TestRates:
    LIMITS = Limits(principal_rate=0.001, address_rate=0.001, burst_seconds=2000)

    def test_the_rate_limit_of_a_principal_holds_across_client_addresses(self) -> None:
        app = guarded(limits=self.LIMITS)
        here, there = asks(app), asks(app, client=("10.0.0.2", 5))
        ann, ben = {"authorization": "Bearer ann"}, {"authorization": "Bearer ben"}

        first = [here("GET", "/things/a", headers=ann).status_code, there("GET", "/things/a", headers=ann).status_code]
        third = here("GET", "/things/a", headers=ann)

        assert first == [200, 200]
        assert (third.status_code, third.json()["type"]) == (429, "urn:headgate:problem:too-many-requests")
        assert 900 <= int(third.headers["retry-after"]) <= 1000
        assert here("GET", "/things/a", headers=ben).status_code == 200

    def test_the_rate_limit_of_anonymous_callers_holds_for_each_network(self) -> None:
        app = guarded(limits=self.LIMITS)
        near, far = asks(app, client=("2001:db8::1", 5)), asks(app, client=("2001:db8:0:1::1", 5))
        beside = asks(app, client=("2001:db8::2", 5))

        answers = [each("GET", "/things/a").status_code for each in (near, beside, near, far)]

        assert answers == [200, 200, 429, 200]

    def test_the_rate_limits_never_apply_to_probes(self) -> None:
        here = asks(guarded(limits=self.LIMITS))

        assert {here("GET", "/healthz").status_code for _ in range(5)} == {200}


class TestABucket:
    def test_a_token_bucket_refills_over_time_up_to_its_burst(self) -> None:
        bucket = TokenBuckets(rate=2, burst_seconds=1)

        taken = [bucket.take("a", at) for at in (0, 0, 0, 0.5, 0.5, 100, 100, 100)]

        assert taken == [0, 0, 0.5, 0, 0.5, 0, 0, 0.5]

    def test_a_token_bucket_without_a_rate_has_no_limit(self) -> None:
        bucket = TokenBuckets(rate=0, burst_seconds=1)

        assert {bucket.take("a", 0) for _ in range(100)} == {0}

    @given(st.lists(st.floats(min_value=0, max_value=10), min_size=1, max_size=200))
    def test_a_token_bucket_passes_no_more_than_its_burst_and_its_rate(self, times: list[float]) -> None:
        bucket = TokenBuckets(rate=3, burst_seconds=2)

        passed = sum(not bucket.take("a", at) for at in sorted(times))

        assert passed <= 6 + 3 * (max(times) - min(times)) + 1e-6

    def test_a_token_bucket_is_forgotten_after_many_others_were_used(self) -> None:
        bucket = TokenBuckets(rate=1, burst_seconds=1, remembered=2)

        for key in ("a", "b", "c"):
            bucket.take(key, 0)

        assert (bucket.take("c", 0) > 0, bucket.take("a", 0)) == (True, 0)
