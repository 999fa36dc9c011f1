package io.headgate.guard.instrumentation

import java.util.{Map => Variables}
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.internal.SQLConf
import org.apache.xbean.asm9.{MethodVisitor, Opcodes}
import org.codehaus.commons.compiler.InternalCompilerException
import org.codehaus.janino.ClassBodyEvaluator

/**
 * Limits of the code that Spark generates and compiles for a statement. For each variable of a method, the compiler keeps a
 * copy of the table of the variables before it, so that a filter of some hundred calls would fill the heap. Spark also keeps
 * the text of the last classes for other statements. Spark can do without a class that is not compiled: it works in smaller
 * methods, or interprets. The compiler also gets interruption checks.
 */
final class GeneratedMethods extends ClassChange(Set(GeneratedMethods.Generator, GeneratedMethods.Compiler, GeneratedMethods.StackMaps)) {
  import GeneratedMethods._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = method match {
    case "doCompile" => ClassChange.atCalls(inner) { (called, itself) =>
      if (called == Cook) ClassChange.call(inner, "instrumentation/GeneratedMethods", "compile", s"(L${Cook.owner};${Cook.kind.tail}") else itself()
    }
    case "buildLocalVariableMap" if kind.startsWith(OfDeclaration) =>
      ClassChange.callAtBegin(inner, "instrumentation/GeneratedMethods", "count", "(Ljava/util/Map;)V", Opcodes.ALOAD -> 2)
    case "compile" if kind == OfStatement => asking(inner)
    case "locals" => asking(inner)
    case _ => inner
  }

  /**
   * Add an interruption check. The compiler may take minutes for a large method: it copies the table of variables at each jump.
   */
  private def asking(inner: MethodVisitor): MethodVisitor = ClassChange.callAtBegin(inner, "limits/Interruption", "check", "()V")
}

object GeneratedMethods {
  private val Generator = "org/apache/spark/sql/catalyst/expressions/codegen/CodeGenerator$"
  private val Compiler = "org/codehaus/janino/UnitCompiler"
  private val StackMaps = "org/codehaus/janino/StackMap"
  private val Cook = ClassChange.Call("org/codehaus/janino/ClassBodyEvaluator", "cook", s"(${ClassChange.Text}${ClassChange.Text})V")
  private val OfDeclaration = "(Lorg/codehaus/janino/Java$LocalVariableDeclarationStatement;"
  private val OfStatement = "(Lorg/codehaus/janino/Java$BlockStatement;)Z"

  /** Most copies of variables that all compilers may keep. One takes 48 bytes, so these may fill a sixteenth of the heap. */
  private val Most = Runtime.getRuntime.maxMemory / 16 / 48

  /** Most characters of the classes that Spark keeps. */
  private val Texts = Runtime.getRuntime.maxMemory / 8

  /** Copies that every class may have, whatever others have: some parts of Spark cannot do without a compiled class. */
  private val Few = 4096
  private val copies = new AtomicLong
  private val own = ThreadLocal.withInitial[Array[Long]](() => Array(0L))

  /** Compile a class that Spark generated. Throw if its text is too long to be kept. */
  def compile(compiler: ClassBodyEvaluator, name: String, code: String): Unit = {
    if (code.length > Texts / SQLConf.get.codegenCacheMaxEntries) throw new InternalCompilerException("the code that Spark generated for the statement is too long to compile; Spark continues without it")
    try compiler.cook(name, code)
    finally {
      copies.addAndGet(-own.get()(0))
      own.remove()
    }
  }

  /** Count the copies of the variables before one more. Throw if the compilers keep too many. */
  def count(before: Variables[_, _]): Unit = {
    val ofClass = own.get()
    ofClass(0) += before.size
    if (copies.addAndGet(before.size) > Most && ofClass(0) > Few)
      throw new InternalCompilerException("the code that Spark generated for statements has too many variables to compile; Spark continues without it")
  }
}
