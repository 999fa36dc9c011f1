package io.headgate.guard.instrumentation

import java.lang.instrument.Instrumentation

/** What the JVM calls before `Main`, while no class of Spark is loaded. */
object Agent {
  def premain(arguments: String, instrumentation: Instrumentation): Unit =
    Seq(new NumberReaders, new PlanNodes, new NodeColumns, new PlanConstraints, new GeneratedNames, new SimilarNames, new TaskNumbers, new TaskResults, new RecursionLevels, new RetainedMemory, new ErrorCauses, new ServedFiles, new TaskClassLoaders, new WrittenPages, new InterruptedLoops, new GeneratedMethods, new CommutativeChains, new FairSlots)
      .foreach(instrumentation.addTransformer)
}
