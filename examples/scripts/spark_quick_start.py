"""Spark quick start: DataFrames, temporary views and SQL, after the guides "Quick Start" and "Spark SQL: Getting Started"."""

from datetime import date, datetime

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

spark = (
    SparkSession.builder.appName("Python Spark SQL basic example")
    .config("spark.some.config.option", "some-value")
    .getOrCreate()
)
spark.sql("CREATE DATABASE IF NOT EXISTS quickstart")
spark.catalog.setCurrentDatabase("quickstart")

# Create a DataFrame from rows, with an inferred schema.
df = spark.createDataFrame(
    [
        Row(a=1, b=2.0, c="string1", d=date(2000, 1, 1), e=datetime(2000, 1, 1, 12, 0)),
        Row(a=2, b=3.0, c="string2", d=date(2000, 2, 1), e=datetime(2000, 1, 2, 12, 0)),
        Row(a=4, b=5.0, c="string3", d=date(2000, 3, 1), e=datetime(2000, 1, 3, 12, 0)),
    ]
)
df.show()
df.printSchema()
df.show(1, vertical=True)
print(df.columns)
df.select("a", "b", "c").describe().show()
print(df.collect())
print(df.take(1), df.tail(1), df.first())

# Select and compute columns.
df.select(df.c).show()
df.withColumn("upper_c", F.upper(df.c)).show()
df.filter(df.a == 1).show()

# Group data.
fruits = spark.createDataFrame(
    [
        ["red", "banana", 1, 10],
        ["blue", "banana", 2, 20],
        ["red", "carrot", 3, 30],
        ["blue", "grape", 4, 40],
        ["red", "carrot", 5, 50],
        ["black", "carrot", 6, 60],
        ["red", "banana", 7, 70],
        ["red", "grape", 8, 80],
    ],
    schema=["color", "fruit", "v1", "v2"],
)
fruits.groupby("color").avg().orderBy("color").show()

# Work with SQL.
fruits.createOrReplaceTempView("tableA")
spark.sql("SELECT count(*) FROM tableA").show()
spark.sql("SELECT color, sum(v1) AS total FROM tableA GROUP BY color HAVING total > :least", args={"least": 5}).show()
print(spark.catalog.listTables())

# Untyped operations on people, as in "Getting Started".
people = spark.createDataFrame([(None, "Michael"), (30, "Andy"), (19, "Justin")], "age BIGINT, name STRING")
people.select("name").show()
people.select(people["name"], people["age"] + 1).show()
people.filter(people["age"] > 21).show()
people.groupBy("age").count().show()

people.createOrReplaceTempView("people")
teenagers = spark.sql("SELECT name FROM people WHERE age >= 13 AND age <= 19")
for teen in teenagers.collect():
    print(f"Name: {teen.name}")

# A schema that is built by the program.
schema = StructType([StructField(name, StringType(), True) for name in "name age".split()])
spark.createDataFrame([("Michael", "29"), ("Andy", "30"), ("Justin", "19")], schema).createOrReplaceTempView("strings")
spark.sql("SELECT name FROM strings").show()

# Count words, as in "Quick Start".
lines = spark.createDataFrame(
    [
        ("Apache Spark is a unified analytics engine for large-scale data processing.",),
        ("It provides high-level APIs in Java, Scala, Python and R,",),
        ("and an optimized engine that supports general execution graphs.",),
    ],
    ["value"],
)
print(lines.count(), lines.first())
with_spark = lines.filter(lines.value.contains("Spark"))
print("Lines with Spark:", with_spark.count())
print(lines.select(F.size(F.split(lines.value, r"\s+")).name("numWords")).agg(F.max(F.col("numWords"))).collect())
words = lines.select(F.explode(F.split(lines.value, r"\s+")).alias("word")).groupBy("word").count()
words.orderBy(F.desc("count"), "word").show(5)

with_spark.cache()
print(with_spark.count(), with_spark.count())
with_spark.unpersist()

# Save a table and read it again.
fruits.write.mode("overwrite").saveAsTable("fruits")
saved = spark.table("fruits")
saved.groupBy("fruit").agg(F.sum("v2").alias("v2")).orderBy("fruit").show()
print("Saved fruits:", saved.count())

spark.stop()
