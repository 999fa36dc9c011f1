"""The addresses of the endpoints: the configured one for clients, and a local one that the Spark driver can always reach."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse

from headgate.app.http.middleware import ServedApp
from headgate.app.http.server import HttpServer, ServerError, listen
from headgate.app.settings.settings import HOST, Settings, default_settings
from headgate.endpoints.http.fast_path import FastPath
from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.probes import Readiness
from headgate.endpoints.http.rate_limits import of_principals
from tests.endpoints.http.asgi_client import guarded
from tests.endpoints.http.test_tls import issue
from tests.threads import event_loop

OK = PlainTextResponse("ok")


def front(app: Any) -> ServedApp:
    limits = Limits()
    return ServedApp(app, FastPath({}, of_principals(limits), (), limits), Readiness(lambda: None))


def settings(**changed: object) -> Settings:
    return replace(default_settings({}, api_port=0), drain_seconds=1, **changed)


@contextmanager
def serving(told: Settings, app: Any = OK) -> Iterator[HttpServer]:
    with event_loop() as run:
        listening = HttpServer(told)

        async def begin() -> asyncio.Task[None]:
            task = asyncio.create_task(listening.serve(front(app)))
            await listening.answering.wait()
            return task

        async def end() -> None:
            listening.end()
            await task

        task = run(begin())
        try:
            yield listening
        finally:
            run(end())


def got(url: str) -> httpx.Response:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return httpx.get(url, verify=context, trust_env=False, timeout=30)


class TestTheDoors:
    def test_a_local_server_has_one_address_for_clients_and_the_driver(self) -> None:
        with serving(settings()) as listening:
            assert listening.url == listening.inner_url == f"http://127.0.0.1:{listening.port}"
            assert got(listening.url).text == "ok"

    @pytest.mark.parametrize("bind", ["127.0.0.1", "127.0.0.2", "::1"])
    def test_a_server_uses_tls_for_clients_and_none_for_the_driver(self, tmp_path: Path, bind: str) -> None:
        certificate, key = issue(tmp_path, "one")

        with serving(settings(bind=bind, tls_cert=certificate, tls_key=key)) as listening:
            assert (listening.url[:8], listening.inner_url[:17]) == ("https://", "http://127.0.0.1:")
            assert [got(url).text for url in (listening.url, listening.inner_url)] == ["ok", "ok"]

    def test_a_server_may_listen_on_every_address_with_one_port(self) -> None:
        with serving(settings(bind="0.0.0.0", insecure_http=True)) as listening:  # noqa: S104 (the subject of the test)
            assert listening.inner_url == f"http://127.0.0.1:{listening.port}"
            assert got(f"http://127.0.0.2:{listening.port}").text == "ok"


class TestAPort:
    def test_an_occupied_port_is_reported_with_its_setting(self) -> None:
        held = HttpServer(settings())
        try:
            with pytest.raises(
                ServerError, match=f"port {held.port} of 127.0.0.1 cannot be used .* or set HEADGATE_API_PORT"
            ):
                HttpServer(replace(settings(), api_port=held.port))
        finally:
            held.close()

    def test_an_unusable_certificate_is_reported_with_its_settings(self, tmp_path: Path) -> None:
        missing = tmp_path / "none"

        with pytest.raises(
            ServerError, match=r"cannot be used: .*; check the files of HEADGATE_TLS_CERT and HEADGATE_TLS_KEY"
        ):
            HttpServer(settings(tls_cert=missing, tls_key=missing))

    def test_connections_of_a_server_send_each_part_of_an_answer_at_once(self) -> None:
        async def accepted() -> int:
            taken = asyncio.get_running_loop().create_future()
            opened = listen(HOST, 0, "HEADGATE_API_PORT")
            server = await asyncio.start_server(lambda _, writer: taken.set_result(writer), sock=opened)
            async with server:
                _, mine = await asyncio.open_connection(*opened.getsockname())
                theirs = await taken
                at_once = theirs.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                for each in (mine, theirs):
                    each.close()
                return int(at_once)

        assert asyncio.run(accepted()) == 1


class TestTheEnd:
    @pytest.mark.parametrize(("lasts", "status"), [(0.3, 200), (30.0, 503)])
    def test_a_server_that_ends_waits_for_active_requests_up_to_a_limit(self, lasts: float, status: int) -> None:
        begun = threading.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            begun.set()
            await asyncio.sleep(lasts)
            await OK(scope, receive, send)

        with serving(settings(), guarded(slow)) as listening, ThreadPoolExecutor() as beside:
            asked = beside.submit(got, listening.url)
            begun.wait()
            listening.end()

            assert asked.result().status_code == status


class TestProxies:
    @pytest.mark.parametrize(("proxies", "scheme"), [((), "http"), (("127.0.0.0/8",), "https")])
    def test_forwarded_headers_are_used_from_configured_proxies_only(
        self, proxies: tuple[str, ...], scheme: str
    ) -> None:
        seen: list[tuple[str, str]] = []

        async def note(scope: dict[str, object], receive: object, send: object) -> None:
            seen.append((str(scope["scheme"]), str(scope["client"][0])))  # type: ignore[index]
            await OK(scope, receive, send)  # type: ignore[arg-type]

        with event_loop() as run:
            listening = HttpServer(settings(proxies=proxies))
            headers = {"x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "https"}

            async def asked() -> None:
                task = asyncio.create_task(listening.serve(front(note)))
                await listening.answering.wait()
                async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
                    await client.get(listening.url, headers=headers)
                listening.end()
                await task

            run(asked())

        assert seen == [(scheme, "192.0.2.7" if proxies else "127.0.0.1")]
