package io.headgate.guard

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser
import org.apache.spark.sql.types.StructType

/** Spark's parser with what Iceberg adds to it, whole: Iceberg's own refuses functions that have parameters. */
final class LakeParser(spark: ParserInterface) extends IcebergSparkSqlExtensionsParser(spark) {
  override def parseRoutineParam(text: String): StructType = spark.parseRoutineParam(text)
}
