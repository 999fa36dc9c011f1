package org.apache.spark

import java.io.File

import org.apache.spark.scheduler.StageInfo

/**
 * The files of Spark's shuffles, and of rows that do not fit in memory. The file is in this package because Spark's classes are
 * private to it.
 */
object SparkDisk {
  /** Return the folders on the driver's disks. */
  def folders: Seq[File] = Option(SparkEnv.get).fold(Seq.empty[File])(_.blockManager.diskBlockManager.localDirs.toSeq)

  /** Return the shuffle that a stage writes. */
  def shuffle(stage: StageInfo): Option[Int] = stage.shuffleDepId

  /** Whether Spark still keeps a shuffle. */
  def isKept(shuffle: Int): Boolean = Option(SparkEnv.get).map(_.mapOutputTracker).exists {
    case master: MapOutputTrackerMaster => master.containsShuffle(shuffle)
    case _ => false
  }

  /** Remove the files of a shuffle on this machine. Spark writes them again if something still reads them. */
  def remove(shuffle: Int): Unit = Option(SparkEnv.get).foreach(_.shuffleManager.unregisterShuffle(shuffle))
}
