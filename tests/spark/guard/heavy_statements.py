"""Statements that use every processor of a driver for hours, each in a way of its own."""

CROSS = "SELECT count(*) FROM range(1000000) a CROSS JOIN range(1000000) b WHERE a.id + b.id = -1"
SKEWED = (
    "SELECT count(*) FROM (SELECT 1 AS k, id FROM range(1000000)) a "
    "JOIN (SELECT /*+ REPARTITION(2) */ 1 AS k, id FROM range(1000000)) b ON a.k = b.k WHERE a.id + b.id < -1"
)
NESTED = (
    "SELECT count(*) FROM (SELECT explode(sequence(1, 2000000)) AS x FROM range(2)) "
    "LATERAL VIEW explode(sequence(1, 2000000)) y AS y WHERE x + y < 0"
)
LONG_TEXT = "(SELECT repeat('x', cast(8000000 + max(id) AS INT)) FROM range(2))"
LONG_HASH = f"xxhash64(id, {', '.join([LONG_TEXT] * 10)})"
"""One evaluation takes about ten milliseconds."""
LONG_DISTANCE = "levenshtein(repeat('a', cast(20000 + id % 7 AS INT)), repeat('b', 20000))"
"""One evaluation takes about a hundred milliseconds."""
MANY_CALLS = " AND ".join(f"sha2(concat(id, {n}), 512) > ''" for n in range(1500))
"""One evaluation takes some milliseconds, although each call is short."""
HEAVY = {
    "cross join": CROSS,
    "join of one key": SKEWED,
    "nested generators": NESTED,
    "regular expression": r"SELECT count(*) FROM range(0, 64, 1, 8) WHERE rlike(concat(repeat('x', 40), id), r'(x+x+)+y\1')",
    "like in any case": "SELECT count(*) FROM range(0, 64, 1, 8) WHERE concat(repeat('a', 5000), id) ILIKE '%a%a%a%a%a%a%b'",
    "text to map": "SELECT count(*) FROM range(0, 64, 1, 8) "
    "WHERE str_to_map(repeat('x', cast(100000 + id AS INT)), 'x*x*x*x*x*y', '=') IS NULL",
    "lambda functions": "SELECT count(*) FROM range(0, 64, 1, 8) WHERE "
    "exists(sequence(1, 2000000), x -> exists(sequence(1, 2000000), y -> x + y + id < 0))",
    "long distances of a range": f"SELECT count(*) FROM range(0, 1000000, 1, 8) WHERE {LONG_DISTANCE} < 0",
    "long hashes of groups": f"SELECT count(*) FROM (SELECT id FROM range(0, 100000, 1, 8) GROUP BY id) WHERE {LONG_HASH} = 1",
    "long hashes of pairs": "SELECT count(*) FROM range(0, 64, 1, 8) CROSS JOIN (SELECT id AS n FROM range(1000000)) "
    f"WHERE {LONG_HASH} % 3 < n - 2000000",
    "many hashes of one text": "SELECT min(h) FROM (SELECT array("
    + ", ".join(f"xxhash64(repeat('x', cast(8000000 + id % 2 AS INT)), {n})" for n in range(3000))
    + ") AS h FROM range(0, 1000, 1, 8))",
    "a sort by long hashes": f"SELECT id FROM (SELECT id FROM range(0, 100000, 1, 8) SORT BY {LONG_HASH}) LIMIT 1",
    "short calls over groups": f"SELECT count(*) FROM (SELECT id FROM range(0, 1000000, 1, 8) GROUP BY id) WHERE {MANY_CALLS}",
    "short calls over elements": f"SELECT count(*) FROM (SELECT explode(sequence(1, 1000000)) AS id FROM range(0, 8, 1, 8)) WHERE {MANY_CALLS}",
    "a sort by short calls": "SELECT id FROM (SELECT id FROM range(0, 4000000, 1, 2) SORT BY "
    f"concat('same beginning', {', '.join(f'sha2(concat(id, {n}), 512)' for n in range(7))})) LIMIT 1",
    "elements of one hash": "SELECT max(size(array_distinct(transform(sequence(0L, 1000000L), x -> x * 4294967297L + id)))) "
    "FROM range(0, 8, 1, 8)",
    "bins of a histogram": "SELECT histogram_numeric(id, 200000) FROM range(0, 4000000, 1, 8)",
    "a range below objects": f"SELECT kll_sketch_agg_bigint(1) FROM range(0, {2**63 - 1}, 1, 8)",
    "a range that is shuffled": f"SELECT /*+ REPARTITION(2) */ id FROM range(0, {2**63 - 1}, 1, 8)",
    "recursion": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1000000000) SELECT max(n) FROM r",
    "doubled common table expressions": "WITH a0 AS (SELECT 1 x), "
    + ", ".join(f"a{n} AS (SELECT l.x FROM a{n - 1} l, a{n - 1} r)" for n in range(1, 28))
    + " SELECT * FROM a27",
    "unions": " UNION ALL ".join(["SELECT count(*) FROM lake.raw.flights"] * 3000),
    "columns": f"SELECT {', '.join(f'max(id + {n}) AS c{n}' for n in range(8000))} FROM range(9)",
}

FEW = (
    "join of one key",
    "regular expression",
    "many hashes of one text",
    "short calls over groups",
    "a sort by short calls",
    "recursion",
    "unions",
)
"""The heavy statements that `make test` tries; the soak run tries all of them."""
