"""The measured statements, and the tables that they read."""

from itertools import pairwise

DATABASE = "bench"
TABLES = {
    "flights": "SELECT id, concat('C', id % 16) AS carrier, id % 100 AS delay, id % 3 + 2012 AS year FROM range(2000)",
    "airlines": "SELECT concat('C', id) AS carrier, concat('Airline ', id) AS name FROM range(16)",
}
_CTES = 10

SIMPLE = "SELECT carrier, delay FROM lake.bench.flights WHERE delay > 97 AND year = 2013"
JOIN = (
    "SELECT a.name, count(*) AS flights, avg(f.delay) AS delay FROM lake.bench.flights f "
    "JOIN lake.bench.airlines a ON f.carrier = a.carrier WHERE f.year = 2013 GROUP BY a.name"
)


_CTE = (
    "c{0} AS (SELECT f.id, f.carrier, f.delay + {0} AS d{0} FROM lake.bench.flights f WHERE f.delay > {0} "
    "AND EXISTS (SELECT 1 FROM lake.bench.airlines a WHERE a.carrier = f.carrier AND a.name <> 'c{0}'))"
)


def _ten() -> str:
    names = [f"c{number}" for number in range(_CTES)]
    ctes = ", ".join(map(_CTE.format, range(_CTES)))
    joins = " ".join(f"JOIN {name} ON {name}.id = {before}.id" for before, name in pairwise(names))
    columns = ", ".join(f"sum(d{number}) AS s{number}" for number in range(_CTES))
    return f"WITH {ctes} SELECT c0.carrier, {columns} FROM c0 {joins} GROUP BY c0.carrier"  # noqa: S608 - of constants


TEN = _ten()
STATEMENTS = {"simple": SIMPLE, "join": JOIN, "ten CTEs with EXISTS": TEN}
