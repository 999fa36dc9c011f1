package io.headgate.guard.catalog

import io.headgate.guard.policy.ObjectNames
import org.apache.spark.sql.catalyst.util.StringUtils

/** The catalogs that `SHOW CATALOGS` and `listCatalogs` list: the governed ones. Programs list the namespaces of each catalog. */
object CatalogList {
  def governed(pattern: Option[String]): Seq[String] = {
    val names = Seq(ObjectNames.Lake)
    pattern.map(StringUtils.filterPattern(names, _)).getOrElse(names)
  }
}
