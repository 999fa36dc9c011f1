package io.headgate.guard.policy

import java.util.Locale

/** Properties of tables, views and databases: which ones may be set, and which ones change data. */
object Properties {
  private val Note = "[a-z0-9_-]+".r

  /** Keys with which `SET TBLPROPERTIES` makes another snapshot the current one. */
  private val ChangeData = Set("current-snapshot-id", "cherry-pick-snapshot-id")

  /** Keys without a dot to which Iceberg or Spark gives a meaning of its own. */
  private val Reserved = AllowLists.of("reserved-properties")

  /** Whether a property may be set: it has been reviewed, or it is a plain word that only its owner reads. */
  def isSettable(key: String): Boolean = {
    val name = key.toLowerCase(Locale.ROOT)
    AllowLists.tableProperties(name) || ChangeData(name) || (Note.matches(name) && !Reserved(name))
  }

  def changeData(keys: Iterable[String]): Boolean = keys.exists(key => ChangeData(key.toLowerCase(Locale.ROOT)))
}
