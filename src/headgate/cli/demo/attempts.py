"""The attempts of the demo: what each person tries, and which persons should succeed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from headgate.cli.demo.people import AttemptRefusedError, Person
from headgate.cli.run_progress import follow
from headgate.control.text.error_text import REFUSED_STATE, visible_words

if TYPE_CHECKING:
    from headgate.app.server import Server

FLIGHTS = "lake.raw.flights"
SALARIES = "lake.secret.salaries"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt; `may` are the names of the persons that should succeed.

    `question` is the action and resource by which a refusal is explained.
    """

    title: str
    may: frozenset[str]
    attempt: Callable[[Person], object]
    question: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an attempt: allowed, refused with the text of the endpoint, or `broken` by any other error."""

    thing: Attempt
    person: Person
    allowed: bool
    words: str = ""
    broken: bool = False

    @property
    def as_expected(self) -> bool:
        """Whether the attempt succeeded if the person may make it, and was refused if not."""
        return not self.broken and self.allowed == (self.person.name in self.thing.may)


def list_attempts(server: "Server") -> list[Attempt]:
    """Return the attempts: ten, of which two are repeated through the API and the REST catalog."""
    everybody = frozenset(("ada", "ed", "vic"))
    writers = frozenset(("ada", "ed"))
    owner = frozenset(("ada",))
    files = server.settings.warehouse
    return [
        Attempt("count the flights", everybody, _sql(f"SELECT count(*) FROM {FLIGHTS}"), ("table.select", FLIGHTS)),
        Attempt("  through the API", everybody, _http(f"SELECT count(*) FROM {FLIGHTS}"), ("table.select", FLIGHTS)),
        Attempt("  through PyIceberg", everybody, _scan(FLIGHTS), ("table.select", FLIGHTS)),
        Attempt(
            "read the delays by carrier",
            everybody,
            lambda p: p.spark.table("lake.trusted.delays_by_carrier").collect(),
            ("table.select", "lake.trusted.delays_by_carrier"),
        ),
        Attempt("read the salaries", owner, _sql(f"SELECT * FROM {SALARIES}"), ("table.select", SALARIES)),
        Attempt("  through the API", owner, _http(f"SELECT * FROM {SALARIES}"), ("table.select", SALARIES)),
        Attempt("  through PyIceberg", owner, _scan(SALARIES), ("table.select", SALARIES)),
        Attempt(
            "guess a salary in a subquery",
            owner,
            _sql(f"SELECT 1 FROM lake.raw.airlines WHERE EXISTS (SELECT 1 FROM {SALARIES} WHERE amount > 2e5)"),
            ("table.select", SALARIES),
        ),
        Attempt("read the files behind the tables", frozenset(), lambda p: p.spark.read.parquet(str(files)).count()),
        Attempt(
            "add an airline",
            writers,
            _sql("INSERT INTO lake.raw.airlines VALUES ('ZZ', 'Headgate Air')"),
            ("table.insert", "lake.raw.airlines"),
        ),
        Attempt("copy a table into trusted", writers, _copy, ("database.create_table", "lake.trusted")),
        Attempt(
            "drop a table of trusted",
            owner,
            lambda p: p.spark.sql(f"DROP TABLE lake.trusted.scratch_{p.name}").collect(),
            ("table.drop", "lake.trusted.scratch_{person}"),
        ),
        Attempt("run the pipeline delays_by_carrier", writers, _run, ("query.trigger", "delays_by_carrier")),
        Attempt("let sam read the salaries", owner, _give, None),
    ]


def try_everything(server: "Server", people: list[Person], watch: Callable[[Result], None]) -> list[Result]:
    """Make every attempt as every person, in order, and return the results; `watch` is called with each."""
    tried: list[Result] = []
    for thing in list_attempts(server):
        for person in people:
            tried.append(_try(thing, person))
            watch(tried[-1])
    return tried


def _try(thing: Attempt, person: Person) -> Result:
    try:
        thing.attempt(person)
    except AttemptRefusedError as error:
        return Result(thing, person, allowed=False, words=str(error))
    except Exception as error:  # noqa: BLE001 (client libraries raise errors of many types)
        refusal = _refusal(error)
        return Result(
            thing, person, allowed=False, words=refusal or f"{type(error).__name__}: {error}", broken=not refusal
        )
    return Result(thing, person, allowed=True)


def _refusal(error: Exception) -> str:
    """Return the text of a refusal by Spark, the gateway or the catalog; empty for any other error."""
    from pyiceberg.exceptions import ForbiddenError, NoSuchTableError
    from pyspark.errors import PySparkException

    if isinstance(error, ForbiddenError | NoSuchTableError):
        return str(error)
    if isinstance(error, PySparkException) and (
        error.getSqlState() == REFUSED_STATE or "PERMISSION_DENIED" in str(error)
    ):
        return visible_words(error)
    return ""


def _sql(statement: str) -> Callable[[Person], object]:
    return lambda person: person.spark.sql(statement).collect()


def _http(statement: str) -> Callable[[Person], object]:
    return lambda person: person.call("POST", "/sql", {"statement": statement})


def _scan(table: str) -> Callable[[Person], object]:
    return lambda person: person.catalog.load_table(table.removeprefix("lake.")).scan(limit=10).to_arrow()


def _copy(person: Person) -> object:
    target = f"lake.trusted.airlines_of_{person.name}"
    person.spark.table("lake.raw.airlines").writeTo(target).create()
    return target


def _run(person: Person) -> object:
    run = person.call("POST", "/pipelines/delays_by_carrier/runs")["run"]
    return follow(partial(person.call, "GET"), run, show=lambda _: None)


def _give(person: Person) -> object:
    given = person.call("POST", "/assignments", {"subject": "sam", "role": "viewer", "resource": SALARIES})
    person.call("DELETE", "/assignments", subject="sam", role="viewer", resource=SALARIES)
    return given
