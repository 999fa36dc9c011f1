"""One session per credential: its statements share the session, and it is closed when it is unused."""

import pytest

from headgate.spark.authority import PresentedCredential
from headgate.spark.sql import client_sessions
from headgate.spark.sql.client_sessions import ClientSession, ClientSessions

MINE = PresentedCredential("mine")


class Spark:
    """Counts how often it was stopped."""

    def __init__(self, credential: PresentedCredential) -> None:
        self.credential = credential
        self.stopped = 0

    def stop(self) -> None:
        self.stopped += 1


class Opened:
    """Opens sessions and records them."""

    def __init__(self) -> None:
        self.all: list[Spark] = []

    def __call__(self, credential: PresentedCredential) -> Spark:
        self.all.append(Spark(credential))
        return self.all[-1]


@pytest.fixture
def opened() -> Opened:
    return Opened()


@pytest.fixture
def sessions(opened: Opened) -> ClientSessions:
    return ClientSessions(opened)  # pyright: ignore[reportArgumentType]


def used(sessions: ClientSessions, token: str, organization: str = "") -> ClientSession:
    session = sessions.take(PresentedCredential(token, organization))
    session.spark(sessions.connect)
    sessions.give_back(session)
    return session


class TestATokensStatements:
    def test_concurrent_statements_of_one_token_share_a_session(self, sessions: ClientSessions, opened: Opened) -> None:
        one, other = sessions.take(MINE), sessions.take(MINE)

        assert one.spark(sessions.connect) is other.spark(sessions.connect)
        assert [each.credential for each in opened.all] == [MINE]

    def test_statements_of_another_token_have_another_session(self, sessions: ClientSessions) -> None:
        assert used(sessions, "mine") is not used(sessions, "another")

    def test_statements_of_one_login_have_another_session_in_each_organization(self, sessions: ClientSessions) -> None:
        assert used(sessions, "mine", "acme") is not used(sessions, "mine", "globex")


class TestASession:
    def test_the_least_recently_used_session_ends(
        self, sessions: ClientSessions, opened: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(client_sessions, "KEPT", 2)
        for token in ("a", "b", "a", "c"):
            used(sessions, token)

        assert {each.credential.token: each.stopped for each in opened.all} == {"a": 0, "b": 1, "c": 0}

    def test_a_session_in_use_does_not_end(
        self, sessions: ClientSessions, opened: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(client_sessions, "KEPT", 1)
        held = sessions.take(PresentedCredential("a"))
        held.spark(sessions.connect)
        used(sessions, "b")

        assert opened.all[0].stopped == 0
        assert opened.all[1].stopped == 1

    def test_a_lost_session_is_replaced_and_is_stopped_after_its_last_use(
        self, sessions: ClientSessions, opened: Opened
    ) -> None:
        one, other = sessions.take(MINE), sessions.take(MINE)
        one.spark(sessions.connect)
        sessions.forget(one)
        used(sessions, "mine")
        sessions.give_back(one)
        assert [each.stopped for each in opened.all] == [0, 0]

        sessions.give_back(other)

        assert [each.stopped for each in opened.all] == [1, 0]

    def test_every_session_ends_when_the_sessions_are_closed(self, sessions: ClientSessions, opened: Opened) -> None:
        used(sessions, "a")
        used(sessions, "b")

        sessions.close()

        assert [each.stopped for each in opened.all] == [1, 1]
