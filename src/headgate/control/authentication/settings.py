"""Settings of logins, with their defaults."""

from dataclasses import dataclass, field

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


@dataclass(frozen=True, slots=True)
class AttemptLimit:
    """A rate limit: at most `attempts` within `seconds`."""

    attempts: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Hashing:
    """The cost of one argon2id hash (RFC 9106); memory in KiB.

    At most `at_once` hashes are computed concurrently, and `waiting` more callers wait. Further logins are refused, so that
    a flood of logins does not stop other work.
    """

    time: int = 3
    memory: int = 65_536
    lanes: int = 4
    at_once: int = 4
    waiting: int = 12


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenID Connect provider. Times in seconds.

    `join` are the domains whose verified addresses let a new user register; without any, only known users may log in.
    `skew` is the tolerated difference of the provider's clock, `keys_age` the time after which its keys are read again,
    `refetch` the shortest interval at which an unknown key causes an earlier read.
    """

    issuer: str
    client: str
    secret: str | None = None
    join: frozenset[str] = frozenset()
    algorithms: tuple[str, ...] = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    skew: float = 60.0
    keys_age: float = HOUR
    refetch: float = MINUTE
    timeout: float = 10.0


@dataclass(frozen=True, slots=True)
class LoginSettings:
    """Everything about logins. Lengths in seconds, those of passwords in characters.

    `address` is the public URL of the deployment (`https://headgate.example`), if it differs from the one in requests.
    `tries_of_name` and `tries_of_address` limit wrong passwords, `codes_of_address` requested device codes, and
    `tries_of_code` the codes that one user enters.
    """

    address: str | None = None
    session: float = 12 * HOUR
    access_token: float = HOUR
    invitation: float = 7 * DAY
    device: float = 10 * MINUTE
    device_interval: float = 5.0
    shortest_password: int = 12
    longest_password: int = 1024
    hashing: Hashing = field(default_factory=Hashing)
    tries_of_name: AttemptLimit = AttemptLimit(10, 15 * MINUTE)
    tries_of_address: AttemptLimit = AttemptLimit(50, 15 * MINUTE)
    codes_of_address: AttemptLimit = AttemptLimit(20, 10 * MINUTE)
    tries_of_code: AttemptLimit = AttemptLimit(10, 10 * MINUTE)
    provider: Provider | None = None
