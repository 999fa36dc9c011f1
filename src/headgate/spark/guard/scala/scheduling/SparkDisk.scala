package org.apache.spark

import java.io.File

import org.apache.spark.scheduler.StageInfo

/** The files in which Spark puts shuffles, and what does not fit in memory. Spark keeps them to its package. */
object SparkDisk {
  /** Folders on the driver's disks. */
  def folders: Seq[File] = Option(SparkEnv.get).fold(Seq.empty[File])(_.blockManager.diskBlockManager.localDirs.toSeq)

  /** The shuffle that a stage writes. */
  def shuffle(stage: StageInfo): Option[Int] = stage.shuffleDepId

  /** Whether Spark has not removed a shuffle. */
  def isKept(shuffle: Int): Boolean = Option(SparkEnv.get).map(_.mapOutputTracker).exists {
    case master: MapOutputTrackerMaster => master.containsShuffle(shuffle)
    case _ => false
  }

  /** Removes the files of a shuffle on this machine. Spark writes them again where something still reads them. */
  def remove(shuffle: Int): Unit = Option(SparkEnv.get).foreach(_.shuffleManager.unregisterShuffle(shuffle))
}
