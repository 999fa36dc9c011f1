"""An exploration of a table and checks of its quality: nulls, duplicates, outliers, distributions and correlations."""

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("data-quality").getOrCreate()
spark.sql("CREATE DATABASE IF NOT EXISTS quality")

# A table with the usual faults: nulls, duplicates, mixed case, an outlier.
base = spark.range(1, 401).select(
    F.col("id").alias("customer_id"),
    F.when(F.col("id") % 17 == 0, None)
    .otherwise(F.concat(F.lit("user"), F.col("id"), F.lit("@example.com")))
    .alias("email"),
    F.element_at(F.array(*map(F.lit, ["Berlin", "berlin ", "Paris", "Rome"])), (F.col("id") % 4 + 1).cast("int")).alias(
        "city"
    ),
    F.when(F.col("id") % 23 == 0, None).otherwise((F.col("id") * 37 % 61 + 18).cast("int")).alias("age"),
    F.when(F.col("id") == 200, 1_000_000.0).otherwise((F.col("id") * 53 % 97) * 10.0).alias("spend"),
    F.date_add(F.lit("2024-01-01").cast("date"), (F.col("id") % 120).cast("int")).alias("signed_up"),
)
base.union(base.filter("customer_id <= 10")).writeTo("quality.customers").createOrReplace()
df = spark.table("quality.customers")
print("rows:", df.count(), "columns:", df.dtypes)

# Nulls and duplicates.
nulls = df.select([F.sum(F.col(c).isNull().cast("int")).alias(c) for c in df.columns]).first().asDict()
print("nulls:", nulls)
print("duplicates:", df.count() - df.dropDuplicates(["customer_id"]).count())
df = df.dropDuplicates(["customer_id"])
df.groupBy("customer_id").count().filter("count > 1").show()

# Clean: fill, replace, trim.
clean = (
    df.withColumn("city", F.initcap(F.trim("city")))
    .fillna({"email": "unknown"})
    .na.fill(0, subset=["age"])
    .replace({"Rome": "Roma"}, subset=["city"])
    .withColumn("valid_email", F.col("email").rlike(r"^[^@\s]+@[^@\s]+\.[a-z]+$"))
    .withColumn(
        "age_band",
        F.expr("CASE WHEN age = 0 THEN 'none' WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END"),
    )
)
clean.groupBy("city").count().orderBy("city").show()
print("valid addresses:", clean.filter("valid_email").count())

# Distributions.
print("quantiles:", clean.approxQuantile("spend", [0.25, 0.5, 0.75], 0.0))
clean.select(
    F.expr("percentile(spend, array(0.05, 0.95))").alias("exact"),
    F.percentile_approx("spend", 0.5, 1000).alias("median"),
    F.skewness("spend").alias("skew") > 0,
    F.kurtosis("age").isNotNull(),
    F.mode("age_band").alias("mode"),
    F.approx_count_distinct("age").alias("ages"),
).show(truncate=False)
clean.select("age", "spend").summary().show()
clean.stat.crosstab("city", "age_band").orderBy("city_age_band").show()
print("frequent:", clean.stat.freqItems(["city"], 0.3).first()[0])
clean.groupBy("city").pivot("age_band", ["young", "middle", "old"]).agg(F.count("customer_id")).orderBy("city").show()
clean.groupBy("city").pivot("age_band").sum("spend").orderBy("city").show()
unpivoted = (
    clean.groupBy("city")
    .agg(F.min("age").alias("lowest"), F.max("age").alias("highest"))
    .unpivot("city", ["lowest", "highest"], "measure", "age")
)
unpivoted.orderBy("city", "measure").show()
clean.cube("city", "age_band").count().filter("city IS NULL").orderBy("age_band").show()

# Outliers by the interquartile range, and correlations.
q1, q3 = clean.approxQuantile("spend", [0.25, 0.75], 0.0)
limit = q3 + 1.5 * (q3 - q1)
print("outliers:", [row.customer_id for row in clean.filter(F.col("spend") > limit).collect()])
print(
    "correlation:",
    round(clean.stat.corr("age", "spend"), 3),
    "covariance is set:",
    clean.cov("age", "spend") is not None,
)
clean.select(F.corr("age", "spend"), F.covar_samp("age", "spend")).show()

# Windows: rank, lag, running totals, moving averages, buckets.
by_city = Window.partitionBy("city").orderBy("signed_up", "customer_id")
windows = clean.select(
    "city",
    "customer_id",
    F.row_number().over(by_city).alias("n"),
    F.dense_rank().over(Window.partitionBy("city").orderBy(F.desc("spend"))).alias("rank"),
    F.lag("spend", 1, 0.0).over(by_city).alias("before"),
    F.sum("spend").over(by_city.rowsBetween(Window.unboundedPreceding, Window.currentRow)).alias("running"),
    F.avg("spend").over(by_city.rowsBetween(-2, 0)).alias("moving"),
    F.ntile(4).over(Window.orderBy("spend", "customer_id")).alias("quartile"),
    F.percent_rank().over(Window.partitionBy("city").orderBy("spend")).alias("percent"),
)
windows.filter("n <= 2").orderBy("city", "n").show()
windows.groupBy("quartile").count().orderBy("quartile").show()

# Samples, stratified and random, and a split.
strata = clean.sampleBy("city", fractions={"Berlin": 0.5, "Paris": 0.2}, seed=11)
print("sampled cities:", sorted(row.city for row in strata.select("city").distinct().collect()))
first, second = clean.randomSplit([0.7, 0.3], seed=5)
print("split is complete:", first.count() + second.count() == clean.count())
print("sampled:", clean.sample(withReplacement=False, fraction=0.5, seed=3).count() < clean.count())

# Rules, as a quality report that is kept.
rules = {
    "email is present": "email IS NOT NULL",
    "age is plausible": "age BETWEEN 18 AND 110",
    "spend is plausible": "spend < 100000",
    "city is known": "lower(trim(city)) IN ('berlin', 'paris', 'rome')",
}
report = (
    df.select([F.count_if(~F.coalesce(F.expr(rule), F.lit(False))).alias(name) for name, rule in rules.items()])
    .first()
    .asDict()
)
rows = [(name, int(broken), broken == 0) for name, broken in report.items()]
spark.createDataFrame(rows, "rule STRING, broken INT, passed BOOLEAN").writeTo("quality.report").createOrReplace()
spark.table("quality.report").orderBy("rule").show(truncate=False)
print("rules broken:", spark.table("quality.report").filter("NOT passed").count(), "of", len(rules))

spark.stop()
