"""Email addresses are compared as the provider spelled them; a second user cannot have a look-alike address."""

import pytest

from headgate.control.authentication.email_addresses import EmailAddresses
from headgate.control.authentication.errors import LoginError
from headgate.control.authentication.federation import ExternalIdentities, ExternalIdentity
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError
from headgate.control.kernel.login_normalization import address_skeleton, domain_name, normalize_address
from headgate.control.kernel.ports import DocumentPut
from headgate.facts.ids import PrincipalId
from tests.control.authentication.auth_services_harness import Deployment

LOOK_ALIKES = [
    ("strasse@acme.com", "straße@acme.com"),
    ("fiona@acme.com", "\ufb01ona@acme.com"),
    ("ann@acme.com", "\uff41nn@acme.com"),
    ("\u00e5nn@acme.com", "a\u030ann@acme.com"),
    ("kim@acme.com", "\u212aim@acme.com"),
]
MUNICH, MUNICH_IN_IDNA = "ann@m\u00fcnchen.de", "ann@xn--mnchen-3ya.de"


def outsiders(world: Deployment) -> ExternalIdentities:
    return ExternalIdentities(world.control, world.store, frozenset({"acme.com", "m\u00fcnchen.de"}))


def known(email: str, subject: str = "s") -> ExternalIdentity:
    return ExternalIdentity("https://id.example", subject, email, "Somebody")


def kept_by_the_former_version(world: Deployment, email: str) -> PrincipalId:
    """Create a user whose address is stored as by earlier versions: under the folded text only."""
    user = world.logins.register("former", email=email)
    world.store.put_document(DocumentPut("email", email, {"principal": user}))
    return user


class TestAnAddress:
    def test_an_address_keeps_its_local_part_except_the_case_of_ascii_letters(self) -> None:
        assert normalize_address("Ann.O@ACME.com") == "ann.o@acme.com"
        assert normalize_address("STRAßE@acme.com") == "straße@acme.com"
        assert normalize_address("\ufb01ona@acme.com") == "\ufb01ona@acme.com"

    def test_an_address_has_its_domain_in_idna(self) -> None:
        assert (
            normalize_address(MUNICH)
            == normalize_address("ann@M\u00dcNCHEN.de")
            == normalize_address(MUNICH_IN_IDNA.upper())
            == MUNICH_IN_IDNA
        )
        assert domain_name("stra\u00dfe.de") == "xn--strae-oqa.de"

    @pytest.mark.parametrize("domain", ["acm\uff45.com", "\ufb01ona.com", "\u212aim.com"])
    def test_a_domain_of_letters_that_stand_for_others_is_refused(self, domain: str) -> None:
        with pytest.raises(InvalidError):
            normalize_address(f"ann@{domain}")

    def test_an_invalid_punycode_label_keeps_its_form_in_the_skeleton(self) -> None:
        assert address_skeleton("ann@xn--\u00fc.de") == "ann@xn--\u00fc.de"
        assert address_skeleton(MUNICH_IN_IDNA) == address_skeleton(MUNICH) == MUNICH


class TestALookAlike:
    def test_a_look_alike_address_does_not_find_a_login_name(self) -> None:
        world = Deployment()
        ann = world.user("strasse@acme.com")

        assert world.logins.user_of("Strasse@ACME.com").principal == ann
        with pytest.raises(InvalidError, match="is not spelled like the login name"):
            world.logins.user_of("straße@acme.com")

    @pytest.mark.parametrize(
        ("there", "meant"),
        [("fiona", "\ufb01ona"), ("kim", "\u212aim"), ("strasse", "stra\u00dfe"), ("ann", "\uff41nn")],
    )
    def test_a_look_alike_text_does_not_find_a_login_name(self, there: str, meant: str) -> None:
        world = Deployment()
        user = world.user(there)

        assert world.logins.user_of(there.upper()).principal == user
        with pytest.raises(InvalidError, match=f"is not spelled like the login name `{there}`"):
            world.logins.user_of(meant)

    @pytest.mark.parametrize(("there", "proved"), LOOK_ALIKES)
    def test_a_look_alike_address_of_the_provider_logs_in_no_user(self, there: str, proved: str) -> None:
        world = Deployment()
        world.user("victim", email=there, verified=True)

        with pytest.raises(LoginError, match="looks like the address of another user"):
            outsiders(world).user(known(proved))
        with pytest.raises(LoginError, match="looks like the address of another user"):
            outsiders(world).user(known(proved, "t"))
        assert len(world.logins.users()) == 1

    @pytest.mark.parametrize(("there", "proved"), LOOK_ALIKES)
    def test_a_user_can_still_log_in_after_a_look_alike_was_refused(self, there: str, proved: str) -> None:
        world = Deployment()
        victim = world.user("victim", email=there, verified=True)
        with pytest.raises(LoginError):
            outsiders(world).user(known(proved))

        assert outsiders(world).user(known(there, "victim")) == victim

    @pytest.mark.parametrize(("there", "new"), [*LOOK_ALIKES, *[each[::-1] for each in LOOK_ALIKES]])
    def test_a_look_alike_address_is_refused_to_a_second_user(self, there: str, new: str) -> None:
        world = Deployment()
        world.user("ann", email=there, verified=True)

        with pytest.raises(AlreadyExistsError):
            world.user("eve", email=new, verified=True)
        assert world.logins.addresses.find(new) is None

    def test_two_look_alikes_that_register_at_once_yield_one_user(self) -> None:
        world = Deployment()
        other = world.replica()

        def register_the_other() -> None:
            other.register("eve", email="straße@acme.com", verified=True)

        world.store.before_append = register_the_other
        with pytest.raises(AlreadyExistsError):
            world.logins.register("ann", email="strasse@acme.com", verified=True)
        assert [each.name for each in world.logins.users()] == ["eve"]


class TestAnAddressKeptByTheFormerVersion:
    @pytest.mark.parametrize("email", ["ann@acme.com", "m\u00fcller@acme.com", MUNICH, MUNICH_IN_IDNA])
    def test_a_former_address_still_finds_its_user(self, email: str) -> None:
        world = Deployment()
        ann = kept_by_the_former_version(world, email)

        assert world.logins.addresses.find(email) == ann
        assert outsiders(world).user(known(email)) == ann

    def test_a_former_address_in_unicode_is_found_in_idna(self) -> None:
        world = Deployment()
        ann = kept_by_the_former_version(world, MUNICH)

        assert outsiders(world).user(known(MUNICH_IN_IDNA)) == ann

    @pytest.mark.parametrize(("there", "proved"), LOOK_ALIKES)
    def test_a_look_alike_of_a_former_address_is_refused(self, there: str, proved: str) -> None:
        world = Deployment()
        kept_by_the_former_version(world, there)

        with pytest.raises(LoginError, match="looks like the address of another user"):
            outsiders(world).user(known(proved))
        with pytest.raises(AlreadyExistsError):
            world.user("eve", email=proved, verified=True)
        assert EmailAddresses(world.store).find(proved) is None
