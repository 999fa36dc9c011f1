package io.headgate.guard.scheduling

import org.apache.spark.{SparkContext, SparkDisk}

/** Keeps a part of the driver's disks free: with a full one, no statement of any user can continue. */
final class DiskWatch(spark: SparkContext, use: DiskUse) {
  private val reserve = System.getProperty(DiskWatch.Reserve, "0").toLong
  private var waits = 0L
  private var collects = 0L
  private var settled = 0L

  /**
   * Make room on the disks. Let Spark remove the shuffles that nothing reads. If room is still short, remove the shuffles from
   * which cached rows of operations that have ended were computed. Then drop the cached or checkpointed rows that take the
   * most, or return the running operation that has written the most. Spark recomputes rows that are read again.
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
   * Collect the heap, so that Spark finds the shuffles that nothing reads. Jobs of an operation may continue after its end:
   * Spark responds as soon as one side of a join is known to be empty. If the guard removed files that such a job reads, Spark
   * would treat everything that this driver has stored as lost.
   */
  private def collect(now: Long, isShort: Boolean, isUnderWay: String => Boolean, collectHeap: () => Unit): Unit = {
    if (use.left(isUnderWay) <= DiskWatch.Much) settled = now + DiskWatch.Settling
    // If room is short, the collection also removes broadcasts and cached rows that nothing refers to.
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
    System.err.println(s"headgate: the disk of the Spark driver has less than ${reserve >> 20} MiB free, so ${bytes >> 20} MiB of cached rows were dropped; free disk space")
    spark.getPersistentRDDs.get(rows).foreach(_.unpersist())
  }
}

object DiskWatch {
  val Reserve = "headgate.disk.reserve"

  /** Bytes below which it is not worth ending a statement, or collecting the heap. */
  private val Much = 64L << 20

  /** Milliseconds until removed files are off the disk. */
  private val Removal = 2000L

  /** Milliseconds from the end of an operation until nothing refers to it. */
  private val Settling = 2000L

  /** Least milliseconds between two collections. */
  private val Collection = 10000L

  /**
   * Collections take at most one out of this number of milliseconds: collecting a large heap takes seconds, in which no
   * statement continues.
   */
  private val Share = 20L
}
