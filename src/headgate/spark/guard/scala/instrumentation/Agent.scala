package io.headgate.guard.instrumentation

import java.lang.instrument.Instrumentation

/** The Java agent, which the JVM calls before `DriverMain`, while no class of Spark is loaded. */
object Agent {
  def premain(arguments: String, instrumentation: Instrumentation): Unit =
    Seq(new NumberParsing, new PlanPartCount, new PlanColumnCount, new PlanConstraints, new GeneratedNames, new SimilarNames, new TaskCountLimit, new TaskResults, new RecursionLevels, new RetainedMemory, new ErrorCauses, new FileServerPaths, new DatabaseNames, new TaskClassLoaders, new ParquetPageLimit, new InterruptedLoops, new GeneratedMethods, new CommutativeChains, new FairSlots, new GovernedCatalogs, new KeptModels, new PairedRows, new LargeArrays, new NumberedRows, new UserThreads, new JobSubmissions)
      .foreach(instrumentation.addTransformer)
}
