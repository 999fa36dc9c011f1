package org.apache.spark

/**
 * The memory that Spark counts itself and can free: tables of joins and sorts, cached rows. The file is in this package because
 * Spark's classes are private to it.
 */
object SparkMemory {
  /** Return the bytes in use in the heap. */
  def used: Long = Option(SparkEnv.get).map(_.memoryManager).fold(0L) { memory =>
    memory.executionMemoryUsed + memory.storageMemoryUsed
  }
}
