"""A report on orders in the manner of TPC-H: joins, CTEs, a recursive CTE over a hierarchy, lateral joins, JSON and arrays."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("tpch-report").config("spark.sql.shuffle.partitions", "4").getOrCreate()

TABLES = {
    "region": "SELECT CAST(id AS INT) AS r_regionkey, element_at(array('AFRICA', 'AMERICA', 'ASIA', 'EUROPE'), CAST(id AS INT) + 1) AS r_name FROM range(4)",
    "nation": "SELECT CAST(id AS INT) AS n_nationkey, concat('NATION_', id) AS n_name, CAST(id % 4 AS INT) AS n_regionkey FROM range(12)",
    "customer": """
        SELECT id AS c_custkey, concat('Customer#', lpad(id, 5, '0')) AS c_name, CAST(id % 12 AS INT) AS c_nationkey,
               element_at(array('BUILDING', 'MACHINERY', 'AUTOMOBILE'), CAST(id % 3 AS INT) + 1) AS c_mktsegment
        FROM range(1, 101)
    """,
    "orders": """
        SELECT id AS o_orderkey, id * 7 % 80 + 1 AS o_custkey, date_add(DATE'1995-01-01', CAST(id * 13 % 365 AS INT)) AS o_orderdate,
               element_at(array('1-URGENT', '2-HIGH', '3-MEDIUM'), CAST(id % 3 AS INT) + 1) AS o_orderpriority
        FROM range(1, 501)
    """,
    "lineitem": """
        SELECT o.id AS l_orderkey, CAST(line AS INT) AS l_linenumber, o.id * line % 40 + 1 AS l_partkey,
               CAST(o.id * line % 50 + 1 AS DECIMAL(12, 2)) AS l_quantity,
               CAST((o.id * line % 900 + 100) AS DECIMAL(12, 2)) AS l_extendedprice,
               CAST(o.id % 10 / 100.0 AS DECIMAL(12, 2)) AS l_discount, CAST(0.05 AS DECIMAL(12, 2)) AS l_tax,
               element_at(array('A', 'N', 'R'), CAST((o.id + line) % 3 AS INT) + 1) AS l_returnflag,
               date_add(DATE'1995-01-01', CAST(o.id * 13 % 365 + line * 3 AS INT)) AS l_shipdate
        FROM range(1, 501) o LATERAL VIEW explode(sequence(1, 1 + o.id % 4)) AS line
    """,
    "part": "SELECT id AS p_partkey, id DIV 3 AS p_parent, concat('part ', id) AS p_name FROM range(1, 901)",
}

spark.sql("CREATE DATABASE IF NOT EXISTS tpch")
spark.sql("USE tpch")
for name, query in TABLES.items():
    spark.sql(f"CREATE OR REPLACE TABLE {name} USING iceberg AS {query}")
print("tables:", sorted(row.tableName for row in spark.sql("SHOW TABLES").collect()))

# Q1: the pricing summary.
spark.sql("""
SELECT l_returnflag, sum(l_quantity) AS sum_qty, sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg(l_discount) AS avg_disc, count(*) AS count_order
FROM lineitem WHERE l_shipdate <= DATE'1995-12-01' - INTERVAL '90' DAY
GROUP BY l_returnflag ORDER BY l_returnflag
""").show()

# Q3 and Q5: open orders of a segment, and the revenue of a region.
spark.sql("""
SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate
FROM customer, orders, lineitem
WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
  AND o_orderdate < DATE'1995-06-15' AND l_shipdate > DATE'1995-06-15'
GROUP BY l_orderkey, o_orderdate ORDER BY revenue DESC, o_orderdate LIMIT 5
""").show()
spark.sql("""
WITH revenue AS (
  SELECT n_name, r_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
  FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
    JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey
  GROUP BY ALL
), ranked AS (SELECT *, rank() OVER (PARTITION BY r_name ORDER BY revenue DESC) AS rank FROM revenue)
SELECT r_name, n_name, round(revenue, 2) AS revenue FROM ranked WHERE rank = 1 ORDER BY r_name
""").show()

# Q4 and Q22: EXISTS, NOT EXISTS and scalar subqueries.
spark.sql("""
SELECT o_orderpriority, count(*) AS order_count FROM orders
WHERE EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_returnflag = 'R')
GROUP BY o_orderpriority ORDER BY o_orderpriority
""").show()
print(
    "customers without an order:",
    spark.sql(
        "SELECT c_custkey FROM customer WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)"
    ).count(),
)
spark.sql("""
SELECT count(*) AS above_average FROM lineitem WHERE l_extendedprice > (SELECT avg(l_extendedprice) FROM lineitem)
""").show()

# A hierarchy of 900 parts, by a recursive CTE.
levels = spark.sql("""
WITH RECURSIVE tree AS (
  SELECT p_partkey, 0 AS level, CAST(p_name AS STRING) AS path FROM part WHERE p_partkey IN (1, 2)
  UNION ALL
  SELECT p.p_partkey, t.level + 1, concat(t.path, ' > ', p.p_name) FROM part p JOIN tree t ON p.p_parent = t.p_partkey
)
SELECT level, count(*) AS parts, max(length(path)) AS longest FROM tree GROUP BY level ORDER BY level
""")
levels.show()
print("parts in the tree:", sum(row.parts for row in levels.collect()))

# The top two lines of each order of a customer, by a lateral join; grouping sets.
spark.sql("""
SELECT o_orderkey, best.l_linenumber, best.price
FROM orders, LATERAL (
  SELECT l_linenumber, l_extendedprice AS price FROM lineitem WHERE l_orderkey = o_orderkey
  ORDER BY l_extendedprice DESC, l_linenumber LIMIT 2
) AS best
WHERE o_custkey = 8 ORDER BY o_orderkey, price DESC
""").show()
spark.sql("""
SELECT c_mktsegment, o_orderpriority, count(*) AS n, grouping_id() AS g
FROM customer JOIN orders ON c_custkey = o_custkey
GROUP BY GROUPING SETS ((c_mktsegment, o_orderpriority), (c_mktsegment), ()) ORDER BY g DESC, 1, 2 LIMIT 6
""").show()

# Rows as JSON and back.
spark.sql("""
CREATE OR REPLACE TABLE documents USING iceberg AS
SELECT o_orderkey, to_json(struct(*)) AS document FROM (
  SELECT o.*, collect_list(struct(l_linenumber AS line, l_quantity AS quantity)) AS lines
  FROM orders o JOIN lineitem ON l_orderkey = o_orderkey GROUP BY ALL
)
""")
print("a document:", spark.sql("SELECT document FROM documents ORDER BY o_orderkey LIMIT 1").first()[0])
spark.sql("""
SELECT get_json_object(document, '$.o_orderpriority') AS priority, get_json_object(document, '$.lines[0].line') AS line,
       json_array_length(get_json_object(document, '$.lines')) AS lines,
       from_json(document, 'o_custkey BIGINT, lines ARRAY<STRUCT<line: INT, quantity: DOUBLE>>') AS parsed
FROM documents ORDER BY o_orderkey LIMIT 3
""").show(truncate=False)
spark.sql("""
SELECT schema_of_json('{"a": 1, "b": [1.5]}') AS schema, j.o_orderkey, j.o_orderdate
FROM documents LATERAL VIEW json_tuple(document, 'o_orderkey', 'o_orderdate') j AS o_orderkey, o_orderdate ORDER BY 2 LIMIT 2
""").show(truncate=False)

# Arrays and higher-order functions.
spark.sql("""
WITH lines AS (
  SELECT l_orderkey, sort_array(collect_list(CAST(l_quantity AS INT))) AS q FROM lineitem GROUP BY l_orderkey
)
SELECT l_orderkey, q, transform(q, x -> x * 2) AS doubled, filter(q, x -> x > 5) AS large, aggregate(q, 0, (a, x) -> a + x) AS total,
       exists(q, x -> x = 2) AS has_two, zip_with(q, q, (a, b) -> a * b) AS squares, array_max(q) AS most,
       map_filter(map_from_entries(transform(q, (x, i) -> struct(i, x))), (k, v) -> v > 3) AS by_place
FROM lines WHERE size(q) = 4 ORDER BY l_orderkey LIMIT 2
""").show(truncate=False)
spark.sql("""
SELECT * FROM (SELECT year(o_orderdate) AS year, quarter(o_orderdate) AS quarter, o_orderkey FROM orders)
PIVOT (count(o_orderkey) FOR quarter IN (1 AS q1, 2 AS q2, 3 AS q3, 4 AS q4))
""").show()
spark.sql("""
FROM orders |> WHERE o_orderpriority = '1-URGENT' |> AGGREGATE count(*) AS n GROUP BY month(o_orderdate) AS month |> ORDER BY month |> LIMIT 3
""").show()
total = spark.sql("SELECT sum(l_extendedprice * (1 - l_discount)) FROM lineitem").first()[0]
print(f"total revenue: {total:.2f}")

spark.stop()
