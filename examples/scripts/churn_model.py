"""An MLlib example: a pipeline that predicts churn by logistic regression, its evaluation, and a cross-validation."""

from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression, RandomForestClassifier
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator
from pyspark.ml.feature import OneHotEncoder, StandardScaler, StringIndexer, VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("churn").getOrCreate()

# The data: customers who call the support often and pay much tend to leave.
customers = spark.range(600).select(
    F.col("id").alias("customer_id"),
    (F.pmod(F.hash("id", F.lit(1)), F.lit(60)) + 1).cast("double").alias("tenure"),
    (F.pmod(F.hash("id", F.lit(2)), F.lit(100)) + 20).cast("double").alias("monthly_charges"),
    F.pmod(F.hash("id", F.lit(3)), F.lit(8)).cast("double").alias("support_calls"),
    F.element_at(
        F.array(F.lit("monthly"), F.lit("yearly"), F.lit("two years")), F.pmod(F.hash("id", F.lit(4)), F.lit(3)) + 1
    ).alias("contract"),
)
score = (
    F.col("support_calls") * 0.8
    + F.col("monthly_charges") * 0.03
    - F.col("tenure") * 0.06
    - 3
    + F.when(F.col("contract") == "monthly", 1.5).otherwise(-0.5)
)
noise = F.pmod(F.hash("customer_id", F.lit(5)), F.lit(100)) / 100.0 - 0.5
data = customers.withColumn("label", ((score + noise) > 0).cast("double"))

spark.sql("CREATE DATABASE IF NOT EXISTS churn")
data.writeTo("churn.customers").using("iceberg").createOrReplace()
data = spark.table("churn.customers")
train = data.filter(F.pmod(F.hash("customer_id"), F.lit(5)) != 0)
test = data.filter(F.pmod(F.hash("customer_id"), F.lit(5)) == 0)
print("training rows:", train.count(), "test rows:", test.count())

# The pipeline.
indexer = StringIndexer(inputCol="contract", outputCol="contract_index", handleInvalid="keep")
encoder = OneHotEncoder(inputCols=["contract_index"], outputCols=["contract_vector"])
assembler = VectorAssembler(
    inputCols=["tenure", "monthly_charges", "support_calls", "contract_vector"], outputCol="raw_features"
)
scaler = StandardScaler(inputCol="raw_features", outputCol="features", withMean=True, withStd=True)
regression = LogisticRegression(featuresCol="features", labelCol="label", maxIter=20, regParam=0.01)
pipeline = Pipeline(stages=[indexer, encoder, assembler, scaler, regression])
model = pipeline.fit(train)

predictions = model.transform(test)
predictions.select(
    "customer_id", "label", "prediction", F.round(vector_to_array("probability")[1], 3).alias("p")
).orderBy("customer_id").show(5)
area = BinaryClassificationEvaluator(labelCol="label", metricName="areaUnderROC").evaluate(predictions)
accuracy = MulticlassClassificationEvaluator(labelCol="label", metricName="accuracy").evaluate(predictions)
print(f"area under ROC: {area:.3f}, accuracy: {accuracy:.3f}")
assert area > 0.8, area

# What the model learned.
fitted = model.stages[-1]
print(
    "coefficients:",
    [round(value, 2) for value in fitted.coefficients.toArray()],
    "intercept:",
    round(fitted.intercept, 2),
)
print("training accuracy:", round(fitted.summary.accuracy, 3), "iterations:", fitted.summary.totalIterations)
predictions.groupBy("label", "prediction").count().orderBy("label", "prediction").show()

# Choose the regularization by cross-validation.
grid = ParamGridBuilder().addGrid(regression.regParam, [0.01, 0.5]).build()
validator = CrossValidator(
    estimator=pipeline, estimatorParamMaps=grid, evaluator=BinaryClassificationEvaluator(), numFolds=2, seed=1
)
print("mean areas:", [round(value, 2) for value in validator.fit(train).avgMetrics])

# Another model on the same features, and its predictions as a table.
features = Pipeline(stages=[indexer, encoder, assembler]).fit(train)
forest = RandomForestClassifier(featuresCol="raw_features", labelCol="label", numTrees=5, maxDepth=4, seed=1).fit(
    features.transform(train)
)
scored = forest.transform(features.transform(test))
scored.select("customer_id", "prediction").writeTo("churn.predictions").using("iceberg").createOrReplace()
print("stored predictions:", spark.table("churn.predictions").count() == test.count())

spark.stop()
