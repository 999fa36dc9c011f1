"""A small dbt-like job: seeds, staging views, an incremental model, a snapshot, and tests, run in the order of their references."""

import json
import re
import sys
import time

from pyspark.sql import SparkSession

SCHEMA = "analytics"

SEEDS = {
    "raw_customers": (
        "id INT, name STRING, country STRING",
        [(1, "Ada", "GB"), (2, "Grace", "US"), (3, "Linus", "FI"), (4, "Margaret", "US")],
    ),
    "raw_orders": (
        "id INT, customer_id INT, status STRING, amount_cents INT, ordered_at STRING",
        [
            (10, 1, "completed", 1250, "2024-01-03 10:00:00"),
            (11, 1, "returned", 900, "2024-01-05 11:30:00"),
            (12, 2, "completed", 4310, "2024-02-01 09:15:00"),
            (13, 3, "shipped", 2200, "2024-02-11 16:45:00"),
        ],
    ),
}

MODELS = {
    "stg_customers": (
        "view",
        "select id as customer_id, trim(name) as name, upper(country) as country from {{ ref('raw_customers') }}",
    ),
    "stg_orders": (
        "view",
        """
        select id as order_id, customer_id, status, cast(amount_cents / 100.0 as decimal(10, 2)) as amount,
               to_timestamp(ordered_at) as ordered_at
        from {{ ref('raw_orders') }}
        """,
    ),
    "fct_orders": (
        "incremental",
        """
        with orders as (select * from {{ ref('stg_orders') }}),
        customers as (select * from {{ ref('stg_customers') }})
        select o.order_id, o.customer_id, c.country, o.status, o.amount, o.ordered_at, current_timestamp() as loaded_at
        from orders o left join customers c using (customer_id)
        {% if is_incremental() %}
        where o.ordered_at >= (select coalesce(max(ordered_at), timestamp'1970-01-01') from {{ this }})
        {% endif %}
        """,
    ),
    "dim_customers": (
        "table",
        """
        select c.customer_id, c.name, c.country, count(o.order_id) as orders, coalesce(sum(o.amount), 0) as lifetime_value,
               min(o.ordered_at) as first_order, max(o.ordered_at) as last_order
        from {{ ref('stg_customers') }} c left join {{ ref('fct_orders') }} o using (customer_id)
        group by all
        """,
    ),
}

TESTS = {
    "unique_fct_orders_order_id": "select order_id from {{ ref('fct_orders') }} where order_id is not null group by order_id having count(*) > 1",
    "not_null_dim_customers_name": "select * from {{ ref('dim_customers') }} where name is null",
    "accepted_values_status": """
        with all_values as (select status as value_field, count(*) as n_records from {{ ref('stg_orders') }} group by status)
        select * from all_values where value_field not in ('completed', 'shipped', 'returned', 'placed')
    """,
    "relationships_orders_customers": """
        select child.customer_id from {{ ref('fct_orders') }} child
        left join {{ ref('stg_customers') }} parent on child.customer_id = parent.customer_id
        where child.customer_id is not null and parent.customer_id is null
    """,
    "lifetime_value_is_positive": "select * from {{ ref('dim_customers') }} where lifetime_value < 0",
}

spark = SparkSession.builder.appName("dbt-like").getOrCreate()


def execute(node, statement):
    """Run one statement with dbt's comment in front, and return its rows."""
    comment = json.dumps(
        {"app": "dbt", "dbt_version": "1.9.0", "profile_name": "shop", "target_name": "dev", "node_id": node}
    )
    return spark.sql(f"/* {comment} */\n{statement}").collect()


def compile_sql(name, text):
    """Return the SQL of a model, with its references and conditions filled in."""
    incremental = MODELS.get(name, ("",))[0] == "incremental" and exists(name)
    text = re.sub(r"{% if is_incremental\(\) %}(.*?){% endif %}", r"\1" if incremental else "", text, flags=re.DOTALL)
    text = text.replace("{{ this }}", f"{SCHEMA}.{name}")
    return re.sub(r"{{ ref\('(\w+)'\) }}", rf"{SCHEMA}.\1", text).strip()


def exists(name):
    return any(row.tableName == name for row in execute("relations", f"show tables in {SCHEMA} like '*'"))


def seed():
    for name, (schema, rows) in SEEDS.items():
        spark.createDataFrame(rows, schema).writeTo(f"{SCHEMA}.{name}").using("iceberg").createOrReplace()


def build(name):
    """Build one model as dbt-spark does."""
    kind, text = MODELS[name]
    query, relation, node = compile_sql(name, text), f"{SCHEMA}.{name}", f"model.shop.{name}"
    if kind == "view":
        execute(node, f"create or replace view {relation} as {query}")
    elif kind == "table" or not exists(name):
        execute(
            node,
            f"create or replace table {relation} using iceberg tblproperties ('owner.team' = 'analytics') as {query}",
        )
    else:
        execute(node, f"create or replace temporary view {name}__dbt_tmp as {query}")
        execute(
            node,
            f"""
            merge into {relation} as DBT_INTERNAL_DEST using {name}__dbt_tmp as DBT_INTERNAL_SOURCE
            on DBT_INTERNAL_SOURCE.order_id = DBT_INTERNAL_DEST.order_id
            when matched then update set * when not matched then insert *
            """,
        )


def snapshot():
    """Keep the history of customers (a slowly changing dimension of type 2), as `dbt snapshot` does with the strategy `check`."""
    node, relation = "snapshot.shop.customers_snapshot", f"{SCHEMA}.customers_snapshot"
    columns = "customer_id, name, country"
    scd_id = (
        "md5(coalesce(cast(customer_id as string), '') || '|' || coalesce(cast(current_timestamp() as string), ''))"
    )
    if not exists("customers_snapshot"):
        execute(
            node,
            f"""
            create or replace table {relation} using iceberg as
            select {columns}, {scd_id} as dbt_scd_id, current_timestamp() as dbt_updated_at,
                   current_timestamp() as dbt_valid_from, cast(null as timestamp) as dbt_valid_to
            from {SCHEMA}.stg_customers
            """,
        )
        return
    execute(
        node,
        f"""
        create or replace temporary view customers_snapshot__dbt_tmp as
        with snapshotted as (select * from {relation} where dbt_valid_to is null),
        changed as (
            select s.*, d.dbt_scd_id as old_id from {SCHEMA}.stg_customers s left join snapshotted d using (customer_id)
            where d.dbt_scd_id is null or s.name is distinct from d.name or s.country is distinct from d.country
        )
        select 'insert' as dbt_change_type, {columns}, {scd_id} as dbt_scd_id from changed
        union all
        select 'update' as dbt_change_type, {columns}, old_id as dbt_scd_id from changed where old_id is not null
        """,
    )
    execute(
        node,
        f"""
        merge into {relation} as DBT_INTERNAL_DEST using customers_snapshot__dbt_tmp as DBT_INTERNAL_SOURCE
        on DBT_INTERNAL_SOURCE.dbt_scd_id = DBT_INTERNAL_DEST.dbt_scd_id
        when matched and DBT_INTERNAL_DEST.dbt_valid_to is null and DBT_INTERNAL_SOURCE.dbt_change_type in ('update', 'delete')
            then update set dbt_valid_to = current_timestamp()
        when not matched and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert'
            then insert ({columns}, dbt_scd_id, dbt_updated_at, dbt_valid_from, dbt_valid_to)
            values ({columns}, dbt_scd_id, current_timestamp(), current_timestamp(), null)
        """,
    )


def test(name):
    """Return the number of failures of one test."""
    query = compile_sql(name, TESTS[name])
    [row] = execute(
        f"test.shop.{name}",
        f"""
        select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error
        from ({query}) dbt_internal_test
        """,
    )
    return row.failures


def run():
    """Build and test everything once; return the number of failed tests."""
    failed = 0
    steps = [(f"{MODELS[name][0]} model {SCHEMA}.{name}", lambda name=name: build(name)) for name in MODELS]
    steps += [("snapshot customers_snapshot", snapshot)]
    for number, (label, step) in enumerate(steps, 1):
        started = time.time()
        step()
        print(f"{number} of {len(steps)} OK created sql {label} [in {time.time() - started:.2f}s]")
    for name in TESTS:
        failures = test(name)
        print(f"{'PASS' if failures == 0 else f'FAIL {failures}'} {name}")
        failed += failures > 0
    return failed


execute("connection", f"create schema if not exists {SCHEMA}")
for relation in ("customers_snapshot", "dim_customers", "fct_orders"):
    execute("clean", f"drop table if exists {SCHEMA}.{relation}")
seed()
failed = run()

# The second day: a customer moves, an order is completed, and two orders are new.
execute("source", f"update {SCHEMA}.raw_customers set country = 'DE' where id = 3")
execute("source", f"update {SCHEMA}.raw_orders set status = 'completed' where id = 13")
execute(
    "source",
    f"insert into {SCHEMA}.raw_orders values (14, 4, 'placed', 7700, '2024-03-01 08:00:00'), (15, 2, 'placed', 150, '2024-03-02 08:00:00')",
)
failed += run()

# The catalog queries of `dbt docs generate`, and `persist_docs`.
for row in execute("docs", f"show table extended in {SCHEMA} like '*'"):
    print("relation", row.tableName)
execute("docs", f"alter table {SCHEMA}.fct_orders alter column amount comment 'in dollars'")
execute("docs", f"comment on table {SCHEMA}.fct_orders is 'one row for each order'")
columns = execute("docs", f"describe extended {SCHEMA}.fct_orders")
print("columns of fct_orders:", ", ".join(row.col_name for row in columns[:7]))

spark.table(f"{SCHEMA}.dim_customers").orderBy("customer_id").show()
spark.sql(
    f"select customer_id, country, dbt_valid_to is null as current from {SCHEMA}.customers_snapshot order by 1, 3"
).show()
orders = spark.table(f"{SCHEMA}.fct_orders").count()
versions = spark.table(f"{SCHEMA}.customers_snapshot").count()
print(f"Done. PASS={2 * len(TESTS) - failed} ERROR={failed} orders={orders} customer versions={versions}")
spark.stop()
sys.exit(1 if failed else 0)
