package io.headgate.guard

import org.apache.spark.{SparkContext, SparkDisk}

/** Keeps some of the driver's disks free: with a full one, no statement of any user goes on. */
final class DiskWatch(spark: SparkContext, use: DiskUse) {
  private val reserve = System.getProperty(DiskWatch.Reserve, "0").toLong
  private var waits = 0L

  /**
   * Removes what no operation needs any more. Where room is short, drops the cached or checkpointed rows that take the most, or
   * returns the operation that has written the most of those under way. Spark computes cached rows again.
   */
  def look(now: Long, isUnderWay: String => Boolean): Option[String] = {
    use.clean(now, isUnderWay)
    if (now < waits || !isShort) None
    else {
      waits = now + DiskWatch.Removal
      val rows = spark.getRDDStorageInfo.maxByOption(_.diskSize).filter(_.diskSize > DiskWatch.Much)
      val statement = use.largest(isUnderWay).filter(_._2 > math.max(DiskWatch.Much, rows.fold(0L)(_.diskSize)))
      if (statement.isEmpty) rows.foreach(each => drop(each.id, each.diskSize))
      statement.map(_._1)
    }
  }

  private def isShort: Boolean = SparkDisk.folders.exists(folder => folder.getUsableSpace < reserve)

  private def drop(rows: Int, bytes: Long): Unit = {
    System.err.println(s"headgate: the disk has less than ${reserve >> 20} MiB free; dropped ${bytes >> 20} MiB of cached rows")
    spark.getPersistentRDDs.get(rows).foreach(_.unpersist())
  }
}

object DiskWatch {
  val Reserve = "headgate.disk.reserve"

  /** Less is not worth an end. */
  private val Much = 64L << 20

  /** Milliseconds until what was written is gone. */
  private val Removal = DiskUse.Rest + 2000
}
