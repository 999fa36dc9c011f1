package org.apache.spark

/** The memory that Spark counts itself and can free: tables of joins and sorts, cached rows. Spark keeps it to its package. */
object SparkMemory {
  /** Bytes in use in the heap. */
  def used: Long = Option(SparkEnv.get).map(_.memoryManager).fold(0L) { memory =>
    memory.executionMemoryUsed + memory.storageMemoryUsed
  }
}
