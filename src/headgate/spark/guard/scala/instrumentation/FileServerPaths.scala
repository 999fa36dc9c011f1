package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * Prevents path traversal in the driver's file server for executors. Spark joins the requested name to the folder, so that `..`
 * in it would lead to every file that the driver can read.
 */
final class FileServerPaths extends ClassChange(Set("org.apache.spark.rpc.netty.NettyStreamManager")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "openStream") inner
    else ClassChange.callAtBegin(inner, "instrumentation/FileServerPaths", "requireWithin", s"(${ClassChange.Text})V", Opcodes.ALOAD -> 1)
}

object FileServerPaths {
  /** Refuse the name of a file that leads out of its folder. Changed bytecode calls this. */
  def requireWithin(name: String): Unit =
    if (name.split('/').contains("..")) throw new SecurityException("a Spark executor requested a file whose name contains `..`; ask the operator of this deployment to check which processes connect to the Spark driver")
}
