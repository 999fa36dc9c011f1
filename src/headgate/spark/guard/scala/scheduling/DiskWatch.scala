package io.headgate.guard.scheduling

import org.apache.spark.{SparkContext, SparkDisk}

/** Keeps some of the driver's disks free: with a full one, no statement of any user goes on. */
final class DiskWatch(spark: SparkContext, use: DiskUse) {
  private val reserve = System.getProperty(DiskWatch.Reserve, "0").toLong
  private var waits = 0L
  private var collects = 0L
  private var settled = 0L

  /**
   * Has Spark remove the shuffles that nothing reads. Where room is still short, removes those that cached rows of operations that
   * have ended were made of; then drops the cached or checkpointed rows that take the most, or returns the operation that has written
   * the most of those under way. Spark computes again what is read once more.
   */
  def look(now: Long, isUnderWay: Set[String], collectHeap: () => Unit): Option[String] = {
    val isShort = SparkDisk.folders.exists(folder => folder.getUsableSpace < reserve)
    use.forget(isUnderWay)
    collect(now, isShort, isUnderWay, collectHeap)
    if (System.currentTimeMillis() < waits || !isShort) None
    else {
      waits = now + DiskWatch.Removal
      if (use.remove(isUnderWay)) None else dropOrEnd(isUnderWay)
    }
  }

  private def dropOrEnd(isUnderWay: String => Boolean): Option[String] = {
    val rows = spark.getRDDStorageInfo.maxByOption(_.diskSize).filter(_.diskSize > DiskWatch.Much)
    val statement = use.largest(isUnderWay).filter(_._2 > math.max(DiskWatch.Much, rows.fold(0L)(_.diskSize)))
    if (statement.isEmpty) rows.foreach(each => drop(each.id, each.diskSize))
    statement.map(_._1)
  }

  /**
   * Jobs of an operation may go on after its end: Spark answers as soon as one side of a join is known to be empty. Were files
   * removed that such a job reads, Spark would take all that this driver has stored for lost. So it is Spark that finds what nothing reads.
   */
  private def collect(now: Long, isShort: Boolean, isUnderWay: String => Boolean, collectHeap: () => Unit): Unit = {
    if (use.left(isUnderWay) <= DiskWatch.Much) settled = now + DiskWatch.Settling
    // Where room is short, broadcasts and cached rows that nothing refers to go with the collection, too.
    if (now >= collects && (isShort || now >= settled)) {
      val begun = System.currentTimeMillis()
      collectHeap()
      val ended = System.currentTimeMillis()
      waits = ended + DiskWatch.Removal
      collects = ended + math.max(DiskWatch.Collection, DiskWatch.Share * (ended - begun))
      use.collected(isUnderWay)
    }
  }

  private def drop(rows: Int, bytes: Long): Unit = {
    System.err.println(s"headgate: the disk has less than ${reserve >> 20} MiB free; dropped ${bytes >> 20} MiB of cached rows")
    spark.getPersistentRDDs.get(rows).foreach(_.unpersist())
  }
}

object DiskWatch {
  val Reserve = "headgate.disk.reserve"

  /** Less is not worth an end, or a collection. */
  private val Much = 64L << 20

  /** Milliseconds until what was written is gone. */
  private val Removal = 2000L

  /** Milliseconds from the end of an operation until nothing refers to it. */
  private val Settling = 2000L

  /** Milliseconds between two collections, at least. */
  private val Collection = 10000L

  /** Collections take one in so many milliseconds at most: that of a large heap takes seconds, in which no statement goes on. */
  private val Share = 20L
}
