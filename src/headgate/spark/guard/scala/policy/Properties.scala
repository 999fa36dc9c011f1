package io.headgate.guard.policy

import java.util.Locale

/** Properties of tables, views and databases: which ones may be set, and which ones change data. */
object Properties {
  private val Note = "[a-z0-9_-]+".r

  private val Own = "[a-z0-9_-]+(\\.[a-z0-9_-]+)+".r

  /** Most characters in a key of the owner's own. */
  private val LongestKey = 100

  /** Keys with which `SET TBLPROPERTIES` makes another snapshot the current one. */
  private val ChangeData = Set("current-snapshot-id", "cherry-pick-snapshot-id")

  /** Keys without a dot to which Iceberg or Spark gives a meaning of its own. */
  private val Reserved = AllowLists.of("reserved-properties")

  /** First words of keys that engines and libraries read: Iceberg passes a table's properties to writers of files as Hadoop settings. */
  private val ReservedNamespaces = AllowLists.of("reserved-namespaces")

  /** Ends of words that name a class, a place or a secret. */
  private val ReservedWords = AllowLists.of("reserved-words")

  private val SnapshotOption = "snapshot-property."

  /** First words of keys of a snapshot's summary that have a meaning. */
  private val SummaryWords = AllowLists.of("reserved-summary-words")

  /** Most characters in a value of a snapshot's summary. */
  private val LongestNote = 1024

  /** Whether a property may be set: it has been reviewed, or only its owner reads it. */
  def isSettable(key: String): Boolean = {
    val name = key.toLowerCase(Locale.ROOT)
    AllowLists.tableProperties(name) || ChangeData(name) || isOwn(key)
  }

  /** Whether only the owner gives the key a meaning: no engine or library reads it, and it names no class, place or secret. */
  def isOwn(key: String): Boolean = {
    val name = key.toLowerCase(Locale.ROOT)
    if (Note.matches(name)) !Reserved(name)
    else key.length <= LongestKey && key.forall(_ < 128) && Own.matches(name) && !isReserved(name)
  }

  private def isReserved(name: String): Boolean =
    ReservedNamespaces(name.takeWhile(_ != '.')) || name.split("[^a-z0-9]+").exists(word => ReservedWords.exists(word.endsWith(_)))

  /** The write options `snapshot-property.<key>`, which add a key to the summary of the snapshot. Refuse one that is not the owner's own. */
  def checkSnapshotNotes(options: Map[String, String]): Unit = options.foreach { case (option, value) =>
    val key = option.drop(SnapshotOption.length)
    if (!isOwn(key) || SummaryWords(key.toLowerCase(Locale.ROOT).takeWhile(_.isLetterOrDigit)))
      Refusal.because(s"the option `$option` of table writes is refused: an engine could give the key a meaning; use a key of your own, such as `snapshot-property.my-note`")
    if (value.length > LongestNote) Refusal.because(s"the value of the option `$option` of table writes has more than $LongestNote characters; shorten it")
  }

  def hasSnapshotPrefix(option: String): Boolean = option.toLowerCase(Locale.ROOT).startsWith(SnapshotOption)

  def changeData(keys: Iterable[String]): Boolean = keys.exists(key => ChangeData(key.toLowerCase(Locale.ROOT)))
}
