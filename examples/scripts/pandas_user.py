"""A pandas user's first steps on Spark: frames go in with `createDataFrame` and come out with `toPandas` and Arrow."""

import io

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("pandas-user").getOrCreate()
spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
spark.sql("CREATE DATABASE IF NOT EXISTS pandas_user")

# A CSV file that was read by pandas.
csv = io.StringIO("""station,day,temperature,rain
Oslo,2024-06-01,14.5,0.0
Oslo,2024-06-02,16.1,2.4
Rome,2024-06-01,27.3,0.0
Rome,2024-06-02,28.8,
Lima,2024-06-01,18.0,0.1
""")
weather = pd.read_csv(csv, parse_dates=["day"])
weather["warm"] = weather["temperature"] > 20
print(weather.dtypes)

df = spark.createDataFrame(weather)
df.printSchema()
df.show()
df.write.mode("overwrite").saveAsTable("pandas_user.weather")

# Back to pandas.
back = spark.table("pandas_user.weather").orderBy("station", "day").toPandas()
print(back)
assert len(back) == len(weather)
assert back["temperature"].sum().round(1) == weather["temperature"].sum().round(1)
print("missing rain:", back["rain"].isna().sum())

# Aggregate on Spark, and go on in pandas.
means = df.groupBy("station").agg(F.avg("temperature").alias("mean"), F.max("day").alias("last")).toPandas()
means = means.set_index("station").sort_index()
means["anomaly"] = (means["mean"] - means["mean"].mean()).round(2)
print(means)

# NumPy and many rows.
rng = np.random.default_rng(42)
numbers = pd.DataFrame({"key": np.arange(20_000) % 10, "value": rng.normal(size=20_000)})
spark.createDataFrame(numbers).writeTo("pandas_user.numbers").createOrReplace()
stats = (
    spark.table("pandas_user.numbers")
    .groupBy("key")
    .agg(F.count("*").alias("n"), F.stddev("value").alias("sd"))
    .toPandas()
)
print("groups:", len(stats), "rows:", int(stats["n"].sum()))
print(
    "same mean:", np.isclose(numbers["value"].mean(), spark.table("pandas_user.numbers").agg(F.avg("value")).first()[0])
)

# A join with a pandas frame, pivots, and nested values.
names = spark.createDataFrame(pd.DataFrame({"station": ["Oslo", "Rome"], "tags": [["cold", "north"], ["warm"]]}))
joined = df.join(names, "station").select("station", F.size("tags").alias("tags"), "temperature")
print(joined.toPandas().groupby("station")["temperature"].max().to_dict())
wide = df.groupBy("station").pivot("day").agg(F.first("temperature")).orderBy("station").toPandas()
print(wide.shape)

# Arrow, without pandas.
table = spark.table("pandas_user.weather").toArrow()
print("arrow:", table.num_rows, table.column_names)
again = spark.createDataFrame(table.select(["station", "temperature"]))
print("from arrow:", again.count())

# A frame with times, categories and nulls, and an empty one with a schema.
mixed = pd.DataFrame(
    {
        "at": pd.to_datetime(["2024-01-01 10:00", "2024-01-02 11:30"]),
        "took": pd.to_timedelta(["1h", "90min"]),
        "kind": pd.Categorical(["a", "b"]).astype(str),
        "maybe": [1.0, None],
        "text": ["x", None],
    }
)
spark.createDataFrame(mixed).show(truncate=False)
empty = spark.createDataFrame(pd.DataFrame({"id": pd.Series(dtype="int64")}), "id BIGINT")
print("empty:", empty.count(), empty.schema.simpleString())
print(spark.sql("SELECT * FROM {weather} WHERE temperature > {least} ORDER BY day", weather=df, least=20).toPandas())

spark.stop()
