#!/usr/bin/env python
# coding: utf-8

# # Sales analysis
#
# Exported from a notebook with `jupyter nbconvert --to script`.

# In[1]:


import random
from datetime import date, timedelta

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import *


# In[2]:


spark = (
    SparkSession.builder.appName("sales-analysis")
    .config("spark.executor.memory", "8g")
    .config("spark.executor.cores", "4")
    .config("spark.executor.instances", "10")
    .config("spark.driver.memory", "4g")
    .config("spark.driver.maxResultSize", "2g")
    .config(
        "spark.jars.packages",
        "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0,org.postgresql:postgresql:42.7.4",
    )
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config("spark.sql.catalog.spark_catalog", "org.apache.iceberg.spark.SparkSessionCatalog")
    .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
    .config("spark.dynamicAllocation.enabled", "true")
    .config("spark.sql.sources.partitionOverwriteMode", "dynamic")
    .config("spark.sql.adaptive.enabled", "true")
    .config("spark.sql.adaptive.coalescePartitions.enabled", "true")
    .config("spark.sql.adaptive.skewJoin.enabled", "true")
    .config("spark.sql.adaptive.advisoryPartitionSizeInBytes", "64MB")
    .config("spark.sql.autoBroadcastJoinThreshold", str(50 * 1024 * 1024))
    .config("spark.sql.broadcastTimeout", "600")
    .config("spark.sql.files.maxPartitionBytes", "134217728")
    .config("spark.sql.shuffle.partitions", "8")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.execution.arrow.pyspark.enabled", "true")
    .config("spark.sql.execution.arrow.pyspark.fallback.enabled", "true")
    .config("spark.sql.repl.eagerEval.enabled", "true")
    .config("spark.sql.debug.maxToStringFields", "1000")
    .config("spark.sql.legacy.timeParserPolicy", "CORRECTED")
    .config("spark.sql.caseSensitive", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.hadoop.fs.s3a.endpoint", "http://minio:9000")
    .config("spark.eventLog.enabled", "false")
    .enableHiveSupport()
    .getOrCreate()
)
spark.version


# In[3]:


print("partitionOverwriteMode =", spark.conf.get("spark.sql.sources.partitionOverwriteMode"))
print("shuffle partitions =", spark.conf.get("spark.sql.shuffle.partitions"))
print("adaptive =", spark.conf.get("spark.sql.adaptive.enabled"))
spark.conf.set("spark.sql.shuffle.partitions", 4)
spark.sql("SET spark.sql.ansi.enabled=true")


# ## Load

# In[4]:


random.seed(7)
products = spark.createDataFrame(
    [
        (1, "laptop", "electronics", 999.0),
        (2, "phone", "electronics", 599.0),
        (3, "desk", "furniture", 249.5),
        (4, "lamp", "furniture", 39.9),
    ],
    schema="product_id INT, product STRING, category STRING, price DOUBLE",
)
rows = [
    (
        n,
        random.choice([1, 2, 3, 4, None]),
        random.choice(["north", "south", "east", "west"]),
        random.randint(1, 5),
        date(2024, 1, 1) + timedelta(days=n % 90),
    )
    for n in range(500)
]
schema = StructType(
    [
        StructField("sale_id", IntegerType(), False),
        StructField("product_id", IntegerType()),
        StructField("region", StringType()),
        StructField("quantity", IntegerType()),
        StructField("day", DateType()),
    ]
)
sales = spark.createDataFrame(rows, schema)
sales.printSchema()


# In[5]:


sales.limit(5)


# In[6]:


sales.show(5)
sales.sample(fraction=0.1, seed=1).count()


# In[7]:


sales.describe("quantity").show()
sales.summary("count", "min", "25%", "75%", "max").show()
print("rows:", sales.count(), "columns:", len(sales.columns))
sales.select([F.count(F.when(F.col(c).isNull(), c)).alias(c) for c in sales.columns]).show()


# ## Clean and join

# In[8]:


clean = sales.dropna(subset=["product_id"]).withColumn("month", F.date_trunc("month", "day").cast("date"))
joined = (
    clean.join(F.broadcast(products), on="product_id", how="left")
    .withColumn("revenue", F.round(F.col("quantity") * F.col("price"), 2))
    .withColumnRenamed("day", "sold_on")
)
joined.cache()
print("after cleaning:", joined.count())
joined.explain()
joined.explain("formatted")
print(joined.storageLevel)


# In[9]:


monthly = joined.groupBy("month", "category").agg(
    F.sum("revenue").alias("revenue"),
    F.countDistinct("product_id").alias("products"),
    F.avg("quantity").alias("mean_quantity"),
)
monthly.orderBy("month", "category").show(truncate=False)


# In[10]:


window = Window.partitionBy("region").orderBy(F.desc("revenue"), "sale_id")
top = joined.withColumn("rank", F.row_number().over(window)).filter("rank <= 2")
top.select("region", "rank", "product", "revenue").orderBy("region", "rank").show()


# ## Save, and overwrite single partitions

# In[11]:


spark.sql("CREATE DATABASE IF NOT EXISTS sales")
(
    joined.select("sale_id", "product", "category", "region", "revenue", "month")
    .write.format("iceberg")
    .mode("overwrite")
    .partitionBy("month")
    .saveAsTable("sales.facts")
)
january = joined.filter("month = DATE'2024-01-01'").select(
    "sale_id", "product", "category", "region", "revenue", "month"
)
january.limit(10).write.mode("overwrite").insertInto("sales.facts")
left = spark.table("sales.facts").groupBy("month").count().orderBy("month").toPandas()
print(left.to_string(index=False))
print("january after the overwrite:", left["count"].iloc[0])


# In[12]:


get_ipython = globals().get("get_ipython")
if get_ipython is not None:
    get_ipython().run_line_magic("matplotlib", "inline")


# In[13]:


pdf = monthly.groupBy("category").agg(F.sum("revenue").alias("revenue")).orderBy("category").toPandas()
print(pdf)
pdf["share"] = pdf["revenue"] / pdf["revenue"].sum()
print("shares add up:", round(pdf["share"].sum(), 6))


# In[14]:


joined.unpersist()
spark.catalog.clearCache()
spark.catalog.listTables("sales")


# In[15]:


spark.stop()


# In[ ]:
