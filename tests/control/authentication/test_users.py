import json
import re
from dataclasses import dataclass, replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.control.authentication.errors import LoginError, TooOftenError
from headgate.control.authentication.rate_limit import RateLimiter, client_key
from headgate.control.authentication.sessions import NewSession
from headgate.control.authentication.settings import AttemptLimit, Hashing
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import AlreadyExistsError, CallerGoneError, InvalidError, NotFoundError
from headgate.control.kernel.normalize import address, domain, login_name, new_login_name, nfkc_casefold
from headgate.control.kernel.ports import DocumentPut
from headgate.facts.changes import PrincipalRemoved
from headgate.facts.ids import PrincipalId
from tests.control.authentication.auth_services_harness import FAST, HOME, PASSWORD, Deployment

OTHER = "another horse entirely"
FULL_WIDTH = "\uff21\uff2e\uff2e"


def log_in(world: Deployment, name: str = "ann", password: str = PASSWORD, **told: str) -> NewSession:
    return world.logins.log_in(name, password, {**HOME, **told})


class TestAUser:
    def test_logs_in_by_name_and_password_and_is_known_by_the_session(self) -> None:
        world = Deployment()
        ann = world.user("ann")

        started = log_in(world)
        assert started.secret.startswith("hgs.")
        assert world.logins.principal_of(started.secret) == ann

    def test_is_known_however_the_name_is_spelled(self) -> None:
        world = Deployment()
        ann = world.user("Ånn")

        for name in ("ånn", "Å" + "NN", "A\u030ann", "ånn".upper(), "Å\uff4e\uff4e"):
            assert log_in(world, name).session.principal == ann

    def test_has_a_login_name_that_nobody_else_has(self) -> None:
        world = Deployment()
        world.user("ann")
        head = world.store.head()

        with pytest.raises(AlreadyExistsError):
            world.user(FULL_WIDTH)
        assert world.store.head() == head

    def test_has_an_address_that_nobody_else_has_if_somebody_answers_for_it(self) -> None:
        world = Deployment()
        world.user("ann", email="ann@acme.com", verified=True)
        world.user("eve", email="ann@acme.com")

        with pytest.raises(AlreadyExistsError):
            world.user("ben", email="Ann@ACME.com", verified=True)

    def test_can_be_without_a_password_until_one_is_set(self) -> None:
        world = Deployment()
        ann = world.logins.register("ann")
        with pytest.raises(LoginError):
            log_in(world)

        user = world.logins.user(ann)
        assert user is not None
        world.logins.set_password(user, PASSWORD)
        assert log_in(world).session.principal == ann

    def test_keeps_a_login_name_without_a_password(self) -> None:
        world = Deployment()
        ann = world.logins.register("Ann", login="ann")
        for password in ("", "None", PASSWORD):
            with pytest.raises(LoginError):
                log_in(world, password=password)
        with pytest.raises(AlreadyExistsError):
            world.user("ann")

        world.logins.set_password(world.logins.user_of("ann"), PASSWORD)
        assert log_in(world).session.principal == ann

    def test_who_is_removed_is_nobody(self) -> None:
        world = Deployment()
        ann = world.user("ann")
        started = log_in(world)

        world.store.write(PrincipalRemoved(ann))
        replica = world.replica()
        assert replica.principal_of(started.secret) is None
        with pytest.raises(CallerGoneError):
            replica.log_in("ann", PASSWORD, HOME)

    def test_is_listed_by_name_and_found_by_login(self) -> None:
        world = Deployment()
        ben, ann = world.user("ben"), world.user("ann", email="Ann@acme.com")

        assert [each.principal for each in world.logins.users()] == [ann, ben]
        assert world.logins.user_of("ANN").email == "ann@acme.com"
        with pytest.raises(NotFoundError):
            world.logins.user_of("eve")

    def test_leaves_no_secret_and_no_name_in_the_log(self) -> None:
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
    def test_is_refused_in_the_same_words_whether_or_not_there_is_somebody(self, name: str, password: str) -> None:
        world = Deployment()
        world.user("ann")

        with pytest.raises(LoginError, match=re.escape("the login name or the password is wrong")):
            log_in(world, name, password)

    def test_costs_a_hash_even_for_nobody(self) -> None:
        world = Deployment(hashing=Hashing(time=2, memory=2_048, lanes=1))
        passwords, turns = world.logins._passwords, []
        passwords._turn = _Counting(turns)  # type: ignore[assignment]

        with pytest.raises(LoginError):
            log_in(world, "nobody")
        assert turns == [1]

    def test_is_not_counted_when_nobody_has_time_to_look_at_it(self) -> None:
        """A flood of logins is refused at once, so that it does not hold everything else up."""
        world = Deployment(hashing=replace(FAST, at_once=1, waiting=0), tries_of_name=AttemptLimit(1, 60.0))
        world.user("ann")

        with world.logins._passwords._in_turn():
            for _ in range(3):
                with pytest.raises(TooOftenError) as error:
                    log_in(world)
                assert error.value.wait == 1.0
        assert log_in(world)

    def test_too_many_of_them_stop_the_name_until_time_has_passed(self) -> None:
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

    def test_too_many_of_them_stop_the_address_whatever_the_name(self) -> None:
        world = Deployment(tries_of_address=AttemptLimit(3, 60.0))
        world.user("ann")
        for host in range(3):
            with pytest.raises(LoginError):
                log_in(world, f"guess{host}", address=f"2001:db8::{host}")

        with pytest.raises(TooOftenError):
            log_in(world, address="2001:db8::ffff")
        assert log_in(world, address="2001:db8:1::1")

    def test_right_ones_do_not_count(self) -> None:
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
    """One for all examples of a property."""
    return Deployment()


@dataclass(frozen=True)
class _Erased:
    """A command that erases a session."""

    session: str
    name: str = "erase"

    def decide(self, view: CommandContext) -> CommandEffect:
        return CommandEffect((), (DocumentPut("session", self.session, None),))


class TestASession:
    def test_ends_by_itself(self) -> None:
        world = Deployment(session=60.0)
        world.user("ann")
        started = log_in(world)

        world.now += 59.0
        assert world.logins.principal_of(started.secret)
        world.now += 1.0
        assert world.logins.principal_of(started.secret) is None
        world.logins.sessions.tidy()
        assert not world.store.documents("session")

    def test_that_is_ended_is_nobodys_at_once(self) -> None:
        world = Deployment()
        ann = world.user("ann")
        first, second = log_in(world), log_in(world)
        assert world.logins.principal_of(first.secret)

        world.logins.sessions.end(ann, first.session.id)
        assert world.logins.principal_of(first.secret) is None
        assert world.logins.principal_of(second.secret) == ann
        assert world.logins.sessions.of(ann) == (second.session,)

    def test_that_goes_with_its_user_is_nobodys_at_once(self) -> None:
        """Whatever erases it does not have to know of sessions."""
        world = Deployment()
        world.user("ann")
        started = log_in(world)
        assert world.logins.principal_of(started.secret)

        world.control.execute(_Erased(started.session.id), None)
        assert world.logins.principal_of(started.secret) is None

    def test_ended_on_one_replica_is_not_believed_on_another_that_knows_the_log(self) -> None:
        world = Deployment()
        ann = world.user("ann")
        started, control = log_in(world), world.opened()
        replica = world.replica(control)
        assert replica.principal_of(started.secret) == ann

        world.logins.sessions.end(ann, started.session.id)
        control.catch_up()
        assert replica.principal_of(started.secret) is None

    def test_is_known_by_its_whole_secret_only(self) -> None:
        world = Deployment()
        world.user("ann")
        secret = log_in(world).secret

        for wrong in (secret[:-1], secret + "x", secret.replace("hgs", "hgt"), secret.upper()):
            assert world.logins.principal_of(wrong) is None

    @given(st.text())
    @settings(deadline=None)
    def test_any_other_text_is_nobodys(self, text: str) -> None:
        world = _standing()
        for written in (text, f"hgs.{text}", f"hgs.s.{text}", f"hgs.{text}.s"):
            assert world.logins.principal_of(written) is None


class TestChangingThePassword:
    def test_takes_the_old_one_and_ends_the_other_sessions(self) -> None:
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

    def test_outruns_a_login_by_the_old_one(self) -> None:
        world = Deployment()
        world.user("ann")
        here = log_in(world)
        world.store.before_append = lambda: world.replica().change_password(here.session, PASSWORD, OTHER, "")

        with pytest.raises(LoginError):
            log_in(world)
        assert [each.id for each in world.logins.sessions.of(here.session.principal)] == [here.session.id]

    def test_by_the_operator_ends_every_session(self) -> None:
        world = Deployment()
        world.user("ann")
        started = log_in(world)

        world.logins.set_password(world.logins.user_of("ann"), OTHER)
        assert world.logins.principal_of(started.secret) is None
        assert log_in(world, password=OTHER)

    @pytest.mark.parametrize("password", ["short", "x" * 1025, "ANN.THE.FIRST"])
    def test_refuses_what_is_too_easy_or_endless(self, password: str) -> None:
        with pytest.raises(InvalidError):
            Deployment().logins.register("ann.the.first", password=password)

    def test_a_login_keeps_the_hash_at_the_cost_that_is_set_now(self) -> None:
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
    def test_folding_once_is_enough(self, text: str) -> None:
        assert nfkc_casefold(nfkc_casefold(text)) == nfkc_casefold(text)

    @pytest.mark.parametrize("text", ["", " ", ".", "../etc", "a b", "a/b", "a\n", "x" * 101, "-x", "a\u202eb"])
    def test_that_looks_like_something_else_is_refused(self, text: str) -> None:
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
    def test_that_readers_would_mistake_is_not_given_to_a_new_user(self, text: str) -> None:
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
    def test_is_spelled_in_one_script(self, text: str) -> None:
        assert new_login_name(text) == text

    def test_that_is_there_already_is_still_found(self) -> None:
        assert login_name("\u0441\u043e\u0441\u043e") == "\u0441\u043e\u0441\u043e"

    def test_addresses_have_a_domain(self) -> None:
        assert domain(address("Ann@ACME.com")) == "acme.com"
        for text in ("ann", "@", "a@b@c", "a b@c", "x" * 300 + "@acme.com", "a\x00@acme.com"):
            with pytest.raises(InvalidError):
                address(text)


class TestCountingAttempts:
    @given(st.lists(st.integers(0, 100), max_size=40))
    @settings(deadline=None)
    def test_no_window_holds_more_than_the_limit(self, times: list[int]) -> None:
        throttle, counted, waits = RateLimiter(AttemptLimit(3, 10.0)), [], []
        for now in sorted(times):
            try:
                throttle.record("k", now)
            except TooOftenError as error:
                waits.append(error.wait)
            else:
                counted.append(now)

        assert all(0 < each <= 10.0 for each in waits)
        assert all(b - a >= 10.0 for a, b in zip(counted, counted[3:], strict=False))

    def test_an_address_that_is_none_is_counted_as_it_is(self) -> None:
        assert client_key("somewhere") == "somewhere"
        assert client_key("192.0.2.1") != client_key("192.0.2.2")


def test_a_document_written_again_behind_a_change_gives_no_way_in() -> None:
    """A hash is renewed outside the log; one that comes late must not bring the old password back."""
    world = Deployment()
    world.user("ann")
    ((id, old),) = world.store.documents("password").items()
    world.logins.set_password(world.logins.user_of("ann"), OTHER)

    world.store.put_document(DocumentPut("password", id, old))
    with pytest.raises(LoginError):
        log_in(world)
    assert PrincipalId(old["principal"]) == log_in(world, password=OTHER).session.principal
