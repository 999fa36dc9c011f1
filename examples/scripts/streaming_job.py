"""A structured streaming job: the orders of a table become rows of a second table. Each run creates the tables again."""

import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = (
    SparkSession.builder.appName("orders-stream")
    .config("spark.sql.streaming.checkpointLocation", f"/tmp/checkpoints/orders-stream-{int(time.time())}")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)

spark.sql("CREATE DATABASE IF NOT EXISTS events")
for table in ("orders", "orders_enriched", "ticks", "per_hour"):
    spark.sql(f"DROP TABLE IF EXISTS events.{table}")
spark.sql("CREATE TABLE events.orders (id BIGINT, product STRING, amount DOUBLE, at TIMESTAMP) USING iceberg")
spark.sql(
    "CREATE TABLE events.orders_enriched (id BIGINT, product STRING, amount DOUBLE, at TIMESTAMP, price_class STRING) USING iceberg"
)
prices = spark.createDataFrame([("tea", "cheap"), ("watch", "dear")], "product STRING, price_class STRING")

spark.sql("""
INSERT INTO events.orders VALUES
  (1, 'tea', 3.5, TIMESTAMP '2024-05-01 10:05:00'), (2, 'watch', 250, TIMESTAMP '2024-05-01 10:40:00'),
  (3, 'tea', 7.0, TIMESTAMP '2024-05-01 11:10:00'), (4, 'bread', 2.2, TIMESTAMP '2024-05-01 11:20:00')
""")

# From a table to a table: all rows that are there, and then the end.
orders = spark.readStream.table("events.orders")
print("is streaming:", orders.isStreaming)
orders.printSchema()
query = (
    orders.join(F.broadcast(prices), "product", "left")
    .withColumn("price_class", F.coalesce("price_class", F.lit("unknown")))
    .select("id", "product", "amount", "at", "price_class")
    .writeStream.outputMode("append")
    .queryName("enrich_orders")
    .trigger(availableNow=True)
    .toTable("events.orders_enriched")
)
query.awaitTermination()
print("query:", query.name, "active:", query.isActive, "exception:", query.exception())
print("input rows:", sum(source.numInputRows for progress in query.recentProgress for source in progress.sources))
spark.table("events.orders_enriched").orderBy("id").show()

# Aggregate with a watermark, and look at the result in memory.
per_hour = (
    orders.withWatermark("at", "1 hour")
    .groupBy(F.window("at", "1 hour"))
    .agg(F.count("*").alias("orders"), F.sum("amount").alias("amount"))
    .writeStream.format("memory")
    .outputMode("complete")
    .queryName("per_hour")
    .trigger(availableNow=True)
    .start()
)
per_hour.awaitTermination()
spark.sql("SELECT window.start, orders, amount FROM per_hour ORDER BY 1").show(truncate=False)

# A rate source into a table, which runs until there are some rows.
ticks = (
    spark.readStream.format("rate")
    .option("rowsPerSecond", 20)
    .load()
    .withColumn("even", F.col("value") % 2 == 0)
    .writeStream.queryName("ticks")
    .trigger(processingTime="1 second")
    .toTable("events.ticks")
)
deadline = time.time() + 120
while time.time() < deadline and spark.table("events.ticks").count() < 20:
    time.sleep(1)
print("status:", ticks.status["isTriggerActive"] in (True, False), "last batch:", ticks.lastProgress["batchId"] >= 0)
print("active queries:", sorted(each.name for each in spark.streams.active))
ticks.stop()
print("ticks arrived:", spark.table("events.ticks").count() >= 20)
print("orders enriched:", spark.table("events.orders_enriched").count())

spark.stop()
