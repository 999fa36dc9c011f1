"""The OpenAPI document that the server serves."""

import threading
from typing import Any

from fastapi import FastAPI

from headgate.endpoints.api import openapi
from tests.endpoints.http.asgi_client import ask


def test_the_openapi_document_is_built_once_and_outside_the_event_loop() -> None:
    app, makers = FastAPI(openapi_url=None), list[threading.Thread]()
    made = app.openapi

    def record() -> dict[str, Any]:
        makers.append(threading.current_thread())
        return made()

    app.openapi = record
    openapi.openapi_document(app)

    answers = [ask(app, "GET", openapi.ADDRESS) for _ in range(3)]

    assert {answer.json()["openapi"][0] for answer in answers} == {"3"}
    assert len(makers) == 1
    assert makers[0] is not threading.current_thread()
