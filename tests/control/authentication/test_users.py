import json
import re
from dataclasses import dataclass, replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.control.authentication.errors import LoginError, TooOftenError
from headgate.control.authentication.login_rate_limit import AttemptLimiter, client_key
from headgate.control.authentication.sessions import NewSession
from headgate.control.authentication.settings import AttemptLimit, Hashing
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import AlreadyExistsError, CallerGoneError, InvalidError, NotFoundError
from headgate.control.kernel.login_normalization import (
    domain_of,
    login_name,
    new_login_name,
    nfkc_casefold,
    normalize_address,
)
from headgate.control.kernel.ports import DocumentPut
from headgate.facts.changes import PrincipalRemoved
from headgate.facts.ids import PrincipalId
from tests.control.authentication.auth_services_harness import FAST, HOME, PASSWORD, Deployment

OTHER = "another horse entirely"
FULL_WIDTH = "\uff21\uff2e\uff2e"


def log_in(world: Deployment, name: str = "ann", password: str = PASSWORD, **told: str) -> NewSession:
    return world.logins.log_in(name, password, {**HOME, **told})


class TestAUser:
    def test_a_user_logs_in_by_password_and_the_session_authenticates_them(self) -> None:
        world = Deployment()
        ann = world.user("ann")

        started = log_in(world)
        assert started.secret.startswith("hgs.")
        assert world.logins.principal_of(started.secret) == ann

    def test_a_user_logs_in_with_any_spelling_of_the_login_name(self) -> None:
        world = Deployment()
        ann = world.user("Ånn")

        for name in ("ånn", "Å" + "NN", "A\u030ann", "ånn".upper(), "Å\uff4e\uff4e"):
            assert log_in(world, name).session.principal == ann

    def test_a_login_name_that_another_user_has_is_refused(self) -> None:
        world = Deployment()
        world.user("ann")
        head = world.store.head()

        with pytest.raises(AlreadyExistsError):
            world.user(FULL_WIDTH)
        assert world.store.head() == head

    def test_a_verified_address_that_another_user_has_is_refused(self) -> None:
        world = Deployment()
        world.user("ann", email="ann@acme.com", verified=True)
        world.user("eve", email="ann@acme.com")

        with pytest.raises(AlreadyExistsError):
            world.user("ben", email="Ann@ACME.com", verified=True)

    def test_a_user_without_a_password_cannot_log_in_until_one_is_set(self) -> None:
        world = Deployment()
        ann = world.logins.register("ann")
        with pytest.raises(LoginError):
            log_in(world)

        user = world.logins.user(ann)
        assert user is not None
        world.logins.set_password(user, PASSWORD)
        assert log_in(world).session.principal == ann

    def test_a_login_name_without_a_password_is_reserved(self) -> None:
        world = Deployment()
        ann = world.logins.register("Ann", login="ann")
        for password in ("", "None", PASSWORD):
            with pytest.raises(LoginError):
                log_in(world, password=password)
        with pytest.raises(AlreadyExistsError):
            world.user("ann")

        world.logins.set_password(world.logins.user_of("ann"), PASSWORD)
        assert log_in(world).session.principal == ann

    def test_a_removed_user_cannot_log_in_or_use_a_session(self) -> None:
        world = Deployment()
        ann = world.user("ann")
        started = log_in(world)

        world.store.write(PrincipalRemoved(ann))
        replica = world.replica()
        assert replica.principal_of(started.secret) is None
        with pytest.raises(CallerGoneError):
            replica.log_in("ann", PASSWORD, HOME)

    def test_users_are_listed_by_name_and_found_by_login_name(self) -> None:
        world = Deployment()
        ben, ann = world.user("ben"), world.user("ann", email="Ann@acme.com")

        assert [each.principal for each in world.logins.users()] == [ann, ben]
        assert world.logins.user_of("ANN").email == "ann@acme.com"
        with pytest.raises(NotFoundError):
            world.logins.user_of("eve")

    def test_the_log_contains_no_name_and_no_secret_of_a_user(self) -> None:
        world = Deployment()
        world.user("ann-with-a-name", email="ann@acme.com")
        started = log_in(world, "ann-with-a-name")

        written = repr(world.store.log)
        assert "ann" not in written.replace("_sign", "")
        assert started.secret.split(".")[2] not in written + repr(world.store.bodies)
        assert PASSWORD not in repr(world.store.bodies)
        assert json.dumps(list(world.store.bodies.values()))


class TestAWrongPassword:
    @pytest.mark.parametrize(
        ("name", "password"),
        [("ann", OTHER), ("ann", ""), ("nobody", PASSWORD), ("../ann", PASSWORD), ("", ""), ("ann\x00", PASSWORD)],
    )
    def test_a_wrong_password_and_an_unknown_user_are_refused_in_the_same_words(self, name: str, password: str) -> None:
        world = Deployment()
        world.user("ann")

        with pytest.raises(LoginError, match=re.escape("the login name or the password is wrong")):
            log_in(world, name, password)

    def test_a_login_of_an_unknown_user_costs_a_hash(self) -> None:
        world = Deployment(hashing=Hashing(time=2, memory=2_048, lanes=1))
        passwords, turns = world.logins._passwords, []
        passwords._turn = _Counting(turns)  # type: ignore[assignment]

        with pytest.raises(LoginError):
            log_in(world, "nobody")
        assert turns == [1]

    def test_a_login_that_is_refused_for_load_does_not_count_as_an_attempt(self) -> None:
        """A flood of logins is refused at once, so that it does not block other requests."""
        world = Deployment(hashing=replace(FAST, at_once=1, waiting=0), tries_of_name=AttemptLimit(1, 60.0))
        world.user("ann")

        with world.logins._passwords._in_turn():
            for _ in range(3):
                with pytest.raises(TooOftenError) as error:
                    log_in(world)
                assert error.value.wait == 1.0
        assert log_in(world)

    def test_repeated_wrong_passwords_block_the_login_name_for_a_time(self) -> None:
        world = Deployment(tries_of_name=AttemptLimit(3, 60.0))
        world.user("ann")
        for spelling in ("ann", "Ann", FULL_WIDTH):
            with pytest.raises(LoginError):
                log_in(world, spelling, OTHER)

        with pytest.raises(TooOftenError) as error:
            log_in(world)
        assert error.value.wait == 60.0
        world.now += 60.0
        assert log_in(world)

    def test_repeated_wrong_passwords_block_the_client_network_for_any_name(self) -> None:
        world = Deployment(tries_of_address=AttemptLimit(3, 60.0))
        world.user("ann")
        for host in range(3):
            with pytest.raises(LoginError):
                log_in(world, f"guess{host}", address=f"2001:db8::{host}")

        with pytest.raises(TooOftenError):
            log_in(world, address="2001:db8::ffff")
        assert log_in(world, address="2001:db8:1::1")

    def test_correct_passwords_do_not_count_as_attempts(self) -> None:
        world = Deployment(tries_of_name=AttemptLimit(2, 60.0), tries_of_address=AttemptLimit(2, 60.0))
        world.user("ann")

        for _ in range(5):
            assert log_in(world)


class _Counting:
    def __init__(self, turns: list[int]) -> None:
        self._turns = turns

    def __enter__(self) -> None:
        self._turns.append(1)

    def __exit__(self, *_: object) -> None:
        pass


@cache
def _standing() -> Deployment:
    """Return one deployment for all examples of a property."""
    return Deployment()


@dataclass(frozen=True)
class _Erased:
    """A command that erases the document of a session."""

    session: str
    name: str = "erase"

    def decide(self, view: CommandContext) -> CommandEffect:
        return CommandEffect((), (DocumentPut("session", self.session, None),))


class TestASession:
    def test_a_session_expires_and_is_erased(self) -> None:
        world = Deployment(session=60.0)
        world.user("ann")
        started = log_in(world)

        world.now += 59.0
        assert world.logins.principal_of(started.secret)
        world.now += 1.0
        assert world.logins.principal_of(started.secret) is None
        world.logins.sessions.tidy()
        assert not world.store.documents("session")

    def test_an_ended_session_is_refused_at_once(self) -> None:
        world = Deployment()
        ann = world.user("ann")
        first, second = log_in(world), log_in(world)
        assert world.logins.principal_of(first.secret)

        world.logins.sessions.end(ann, first.session.id)
        assert world.logins.principal_of(first.secret) is None
        assert world.logins.principal_of(second.secret) == ann
        assert world.logins.sessions.of(ann) == (second.session,)

    def test_an_erased_session_is_refused_at_once(self) -> None:
        """The command that erases a session's document need not know about sessions."""
        world = Deployment()
        world.user("ann")
        started = log_in(world)
        assert world.logins.principal_of(started.secret)

        world.control.execute(_Erased(started.session.id), None)
        assert world.logins.principal_of(started.secret) is None

    def test_a_session_that_ended_on_one_replica_is_refused_on_another(self) -> None:
        world = Deployment()
        ann = world.user("ann")
        started, control = log_in(world), world.opened()
        replica = world.replica(control)
        assert replica.principal_of(started.secret) == ann

        world.logins.sessions.end(ann, started.session.id)
        control.catch_up()
        assert replica.principal_of(started.secret) is None

    def test_a_session_is_authenticated_by_its_complete_secret_only(self) -> None:
        world = Deployment()
        world.user("ann")
        secret = log_in(world).secret

        for wrong in (secret[:-1], secret + "x", secret.replace("hgs", "hgt"), secret.upper()):
            assert world.logins.principal_of(wrong) is None

    @given(st.text())
    @settings(deadline=None)
    def test_any_other_text_authenticates_no_user(self, text: str) -> None:
        world = _standing()
        for written in (text, f"hgs.{text}", f"hgs.s.{text}", f"hgs.{text}.s"):
            assert world.logins.principal_of(written) is None


class TestChangingThePassword:
    def test_changing_a_password_requires_the_old_one_and_ends_other_sessions(self) -> None:
        world = Deployment()
        ann, ben = world.user("ann"), world.user("ben")
        here, there, bens = log_in(world), log_in(world), log_in(world, "ben")

        with pytest.raises(LoginError, match="the old password is wrong"):
            world.logins.change_password(here.session, OTHER, OTHER, "")
        world.logins.change_password(here.session, PASSWORD, OTHER, "")
        assert [world.logins.principal_of(each.secret) for each in (here, there, bens)] == [ann, None, ben]
        with pytest.raises(LoginError):
            log_in(world)
        assert log_in(world, password=OTHER)
        assert len(world.store.documents("password")) == 2

    def test_a_login_by_the_old_password_fails_during_a_password_change(self) -> None:
        world = Deployment()
        world.user("ann")
        here = log_in(world)
        world.store.before_append = lambda: world.replica().change_password(here.session, PASSWORD, OTHER, "")

        with pytest.raises(LoginError):
            log_in(world)
        assert [each.id for each in world.logins.sessions.of(here.session.principal)] == [here.session.id]

    def test_a_password_that_the_operator_sets_ends_every_session(self) -> None:
        world = Deployment()
        world.user("ann")
        started = log_in(world)

        world.logins.set_password(world.logins.user_of("ann"), OTHER)
        assert world.logins.principal_of(started.secret) is None
        assert log_in(world, password=OTHER)

    @pytest.mark.parametrize("password", ["short", "x" * 1025, "ANN.THE.FIRST"])
    def test_a_password_that_is_too_short_too_long_or_the_login_name_is_refused(self, password: str) -> None:
        with pytest.raises(InvalidError):
            Deployment().logins.register("ann.the.first", password=password)

    def test_a_login_renews_a_hash_with_the_current_cost(self) -> None:
        world = Deployment()
        world.user("ann")
        (before,) = world.store.documents("password").values()
        world.settings = replace(world.settings, hashing=Hashing(time=2, memory=16, lanes=1))

        world.replica().log_in("ann", PASSWORD, HOME)
        (after,) = world.store.documents("password").values()
        assert before["hash"].startswith("$argon2id$v=19$m=8,t=1,")
        assert after["hash"].startswith("$argon2id$v=19$m=16,t=2,")


class TestALoginName:
    @given(st.text())
    @settings(deadline=None)
    def test_a_folded_text_is_the_same_when_it_is_folded_again(self, text: str) -> None:
        assert nfkc_casefold(nfkc_casefold(text)) == nfkc_casefold(text)

    @pytest.mark.parametrize("text", ["", " ", ".", "../etc", "a b", "a/b", "a\n", "x" * 101, "-x", "a\u202eb"])
    def test_a_login_name_that_could_be_misread_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidError):
            login_name(text)

    @pytest.mark.parametrize(
        "text",
        [
            "\u0441\u043e\u0441\u043e",
            "a\u1160",
            "\u0438\u03b1",
            "\u0430dmin",
            "admin\ufe0f",
            "a\u0663",
            "my\u30fcname",
            "v\u0131c",
        ],
    )
    def test_a_login_name_that_readers_would_mistake_is_refused_for_a_new_user(self, text: str) -> None:
        with pytest.raises(InvalidError):
            new_login_name(text)

    @pytest.mark.parametrize(
        "text",
        [
            "ann",
            "_x",
            "ann@acme.com",
            "\u0433\u043e\u0440\u0430",
            "\u4f50\u3005\u6728",
            "\u0939\u093f\u0928\u094d\u0926\u0940",
        ],
    )
    def test_a_login_name_of_one_script_is_accepted(self, text: str) -> None:
        assert new_login_name(text) == text

    def test_a_login_name_from_before_the_rule_is_still_found(self) -> None:
        assert login_name("\u0441\u043e\u0441\u043e") == "\u0441\u043e\u0441\u043e"

    def test_an_address_without_one_domain_is_refused(self) -> None:
        assert domain_of(normalize_address("Ann@ACME.com")) == "acme.com"
        for text in ("ann", "@", "a@b@c", "a b@c", "x" * 300 + "@acme.com", "a\x00@acme.com"):
            with pytest.raises(InvalidError):
                normalize_address(text)


class TestCountingAttempts:
    @given(st.lists(st.integers(0, 100), max_size=40))
    @settings(deadline=None)
    def test_a_time_window_admits_no_more_attempts_than_the_limit(self, times: list[int]) -> None:
        throttle, counted, waits = AttemptLimiter(AttemptLimit(3, 10.0)), [], []
        for now in sorted(times):
            try:
                throttle.record("k", now)
            except TooOftenError as error:
                waits.append(error.wait)
            else:
                counted.append(now)

        assert all(0 < each <= 10.0 for each in waits)
        assert all(b - a >= 10.0 for a, b in zip(counted, counted[3:], strict=False))

    def test_a_text_that_is_no_address_is_counted_as_it_is(self) -> None:
        assert client_key("somewhere") == "somewhere"
        assert client_key("192.0.2.1") != client_key("192.0.2.2")


def test_an_old_password_hash_that_is_written_late_allows_no_login() -> None:
    """Password hashes are renewed outside the log; a late write must not restore the old password."""
    world = Deployment()
    world.user("ann")
    ((id, old),) = world.store.documents("password").items()
    world.logins.set_password(world.logins.user_of("ann"), OTHER)

    world.store.put_document(DocumentPut("password", id, old))
    with pytest.raises(LoginError):
        log_in(world)
    assert PrincipalId(old["principal"]) == log_in(world, password=OTHER).session.principal
