"""OpenFGA on PostgreSQL, with the tuples and the model of `bench/decision`."""

from collections.abc import Sequence
from typing import Any, ClassVar

import orjson
from typing_extensions import override

from bench.decision_engines.openfga_engine import OpenFgaEngine
from bench.decision_engines.oracle import Oracle, Question
from bench.decision_engines.organization import Grant, Organization
from bench.http_engines.case import Case, Exchange, WrongAnswerError
from bench.http_engines.postgres import Postgres
from bench.http_engines.serving import BATCH, Serving


class OpenFgaServing(Serving):
    """OpenFGA without authentication of clients. Without PostgreSQL its store is SQLite, and its name has that."""

    name: ClassVar[str] = "openfga"

    @classmethod
    @override
    def missing(cls) -> str | None:
        """Return how to install the server, or None."""
        return OpenFgaEngine.missing() or Postgres.missing()

    def __init__(self, organization: Organization) -> None:
        """Start the database and the server, and write the tuples."""
        self._database = Postgres()
        self._oracle = Oracle(organization)
        self._organization = organization
        try:
            self._engine = _OnPostgres(organization, self._database.url)
        except BaseException:
            self._database.close()
            raise
        self._engine.load(OpenFgaEngine.prepare(organization))
        self.port = self._engine.port

    @override
    def says(self, body: bytes) -> Any:
        """Return the decision; for a batch the decisions in the order of the questions."""
        said = orjson.loads(body)
        if "result" in said:
            return [said["result"][str(number)]["allowed"] for number in range(len(said["result"]))]
        return said.get("allowed", True)

    @override
    def table(self, question: Question) -> bytes:
        """Check once."""
        return self._engine.asked("check", {"tuple_key": self._engine.key(question)})

    @override
    def pipeline(self, question: Question, *, right: bool) -> Case:
        """Check each table until one is refused: a relation of OpenFGA means "any of", never "all of"."""
        exchanges: list[Exchange] = []
        for table in self._organization.touched(question.resource):
            each = Question(question.user, question.level, table)
            exchanges.append(Exchange(self.table(each), self._oracle.allows(each)))
            if not exchanges[-1].right:
                break
        if exchanges[-1].right is not right:
            raise WrongAnswerError(f"the oracle disagrees with itself about {question}")
        return Case(tuple(exchanges))

    @override
    def batch(self, questions: Sequence[Question]) -> bytes:
        """Send a batch check."""
        keys = (self._engine.key(each) for each in questions)
        checks = [{"tuple_key": key, "correlation_id": str(number)} for number, key in enumerate(keys)]
        return self._engine.asked("batch-check", {"checks": checks})

    @override
    def revoke(self, grant: Grant) -> Case:
        """Delete the tuples of the grant."""
        check = self.table(Question(grant.subject, "viewer", grant.place))
        delete = self._engine.asked("write", {"deletes": {"tuple_keys": self._engine.granted(grant)}})
        return Case((Exchange(delete, right=True), Exchange(check, right=False)), (self.grant(grant),))

    @override
    def grant(self, grant: Grant) -> Exchange:
        """Write the tuples of the grant."""
        written = self._engine.asked("write", {"writes": {"tuple_keys": self._engine.granted(grant)}})
        return Exchange(written, right=True)

    @override
    def close(self) -> None:
        """Stop both servers."""
        self._engine.close()
        self._database.close()


class _OnPostgres(OpenFgaEngine):
    def __init__(self, organization: Organization, url: str) -> None:
        self._url = f"{url}?sslmode=disable"
        super().__init__(organization)

    @override
    def _datastore(self, folder: str) -> tuple[str, ...]:
        return "--datastore-engine", "postgres", "--datastore-uri", self._url

    @override
    def _more(self) -> tuple[str, ...]:
        return "--max-checks-per-batch-check", str(BATCH)
