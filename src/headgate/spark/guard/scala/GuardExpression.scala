package io.headgate.guard

/** Marks expressions of the guard, which no list of reviewed Spark classes names. */
trait GuardExpression
