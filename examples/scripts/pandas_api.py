"""The pandas API on Spark: a notebook written for pandas, over tables that do not fit into the memory of one program."""

import os

os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "1")

import pyspark.pandas as ps  # noqa: E402 (the variable has to be set first)
from pyspark.sql import SparkSession  # noqa: E402

spark = SparkSession.builder.appName("pandas-api").getOrCreate()
spark.sql("CREATE DATABASE IF NOT EXISTS pandas_api")
ps.set_option("display.max_rows", 20)

# A table of trips, one for each hour of two weeks and each of three lines.
spark.sql("""
    CREATE OR REPLACE TABLE pandas_api.trips AS
    SELECT h.id * 3 + l.line AS trip, l.line, timestamp '2024-05-01 00:00:00' + make_interval(0, 0, 0, 0, h.id) AS started,
           10 + (h.id * 7 + l.line * 5) % 23 AS minutes, (h.id % 24) * (l.line + 1) AS passengers
    FROM range(336) AS h CROSS JOIN (SELECT explode(array(0, 1, 2)) AS line) AS l
""")

trips = ps.read_table("pandas_api.trips")
print(trips.shape, list(trips.columns))
print(trips.sort_values("trip").head())
print(trips.describe())

# Columns, filters and dates.
trips["hour"] = trips["started"].dt.hour
trips["is_late"] = trips["minutes"] > 25
rush = trips[(trips["hour"] >= 7) & (trips["hour"] <= 9)]
print("rush:", len(rush), "late:", int(trips["is_late"].sum()))

# Groups, as a frame of pandas in the end.
lines = trips.groupby("line").agg({"minutes": ["mean", "max"], "passengers": "sum"}).sort_index()
print(lines.to_pandas())
print("busiest hours:", trips.groupby("hour")["passengers"].sum().nlargest(3).index.tolist())

# Statistics, windows and missing values.
print(
    "mode:", trips["hour"].mode().min(), "median:", trips["minutes"].median(), "std:", round(trips["minutes"].std(), 3)
)
print("correlation:", round(trips["hour"].corr(trips["passengers"]), 3))
smooth = trips[trips["line"] == 0].set_index("trip").sort_index()["passengers"].rolling(3).mean()
print("rolling:", smooth.dropna().head(3).tolist())

# A join with a small frame, a pivot, and a table as the result.
names = ps.DataFrame({"line": [0, 1, 2], "name": ["red", "green", "blue"]})
named = trips.merge(names, on="line")
print(
    named.pivot_table(values="passengers", index=["hour"], columns="name", aggfunc="sum")
    .sort_index()
    .head(3)
    .to_pandas()
)
named.groupby("name", as_index=False)["passengers"].sum().to_table("pandas_api.passengers", mode="overwrite")
print(spark.table("pandas_api.passengers").orderBy("name").collect())
