package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * A driver serves files of its folders to executors. Spark joins the name that one asks for to the folder, so that `..` in it
 * leads to every file that the driver can read.
 */
final class FileServerPaths extends ClassChange(Set("org.apache.spark.rpc.netty.NettyStreamManager")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "openStream") inner
    else ClassChange.callAtBegin(inner, "instrumentation/FileServerPaths", "requireWithin", s"(${ClassChange.Text})V", Opcodes.ALOAD -> 1)
}

object FileServerPaths {
  /** Refuses the name of a file that leads out of its folder. Changed bytecode calls this. */
  def requireWithin(name: String): Unit =
    if (name.split('/').contains("..")) throw new SecurityException("the name of the file leads out of its folder")
}
