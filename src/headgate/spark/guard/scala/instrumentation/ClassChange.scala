package io.headgate.guard.instrumentation

import java.lang.instrument.ClassFileTransformer
import java.security.ProtectionDomain

import scala.util.control.NonFatal

import org.apache.xbean.asm9.{ClassReader, ClassVisitor, ClassWriter, MethodVisitor, Opcodes}

/**
 * Changes the bytecode of methods of some classes of Spark as they are loaded. The changes leave the stack frames as they are.
 * A driver whose Spark has a class without such a method halts: a newer Spark may have renamed the method.
 */
abstract class ClassChange(names: Set[String]) extends ClassFileTransformer {
  private val classes = names.map(_.replace('.', '/'))

  /**
   * Return a visitor that changes a method and writes it to `inner`; `kind` is the method's descriptor. Return `inner` for a
   * method that stays.
   */
  protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor

  final override def transform(loader: ClassLoader, name: String, loaded: Class[_], domain: ProtectionDomain, bytes: Array[Byte]): Array[Byte] =
    if (name == null || !classes(name)) null
    else try rewritten(bytes)
    catch { case NonFatal(error) => ClassChange.halt(name, error) }

  private def rewritten(bytes: Array[Byte]): Array[Byte] = {
    val reader = new ClassReader(bytes)
    val writer = new ClassWriter(reader, 0)
    var isChanged = false
    reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
      override def visitMethod(access: Int, name: String, kind: String, signature: String, errors: Array[String]): MethodVisitor = {
        val method = super.visitMethod(access, name, kind, signature, errors)
        val change = changed(name, kind, method)
        isChanged |= change ne method
        change
      }
    }, 0)
    if (!isChanged) throw new IllegalStateException("the class has no method that Headgate changes, so it is from another version of PySpark")
    writer.toByteArray
  }
}

private[guard] object ClassChange {
  private val Halted = 5

  /** Halt the driver: otherwise the JVM would load the class unchanged. */
  def halt(name: String, error: Throwable): Array[Byte] = {
    System.err.println(s"headgate: the class $name of Spark cannot be changed ($error), so the Spark driver is shutting down; install Headgate again with its own version of PySpark")
    Runtime.getRuntime.halt(Halted)
    null
  }

  /** Descriptors of types. */
  val Text = "Ljava/lang/String;"
  val Several = "Lscala/collection/immutable/Seq;"

  /** Add a call of a function of the guard. */
  def call(visitor: MethodVisitor, owner: String, method: String, kind: String): Unit =
    visitor.visitMethodInsn(Opcodes.INVOKESTATIC, s"io/headgate/guard/$owner", method, kind, false)

  /** Return a visitor that adds instructions to the end of a method without a result. */
  def atEnd(inner: MethodVisitor)(more: MethodVisitor => Unit): MethodVisitor = new MethodVisitor(Opcodes.ASM9, inner) {
    override def visitInsn(code: Int): Unit = {
      if (code == Opcodes.RETURN) more(inner)
      super.visitInsn(code)
    }
  }

  /** Return a visitor that adds instructions to the beginning of a method. */
  def atBegin(inner: MethodVisitor)(more: MethodVisitor => Unit): MethodVisitor = new MethodVisitor(Opcodes.ASM9, inner) {
    override def visitCode(): Unit = {
      super.visitCode()
      more(inner)
    }
  }

  /**
   * Return a visitor that lets a method begin with a call of a function of the guard. Each argument is a load instruction and
   * the number of the local variable that it loads; 0 is the object.
   */
  def callAtBegin(inner: MethodVisitor, owner: String, method: String, kind: String, arguments: (Int, Int)*): MethodVisitor =
    atBegin(inner)(callFor(_, owner, method, kind, arguments))

  /**
   * Return a visitor that replaces the argument `at` of a method by the result of a function of the guard for the local
   * variables `given`.
   */
  def replaceArgument(inner: MethodVisitor, at: Int, owner: String, method: String, kind: String, given: Int*): MethodVisitor =
    atBegin(inner) { visitor =>
      callFor(visitor, owner, method, kind, given.map(Opcodes.ALOAD -> _))
      visitor.visitVarInsn(Opcodes.ASTORE, at)
    }

  private def callFor(visitor: MethodVisitor, owner: String, method: String, kind: String, arguments: Seq[(Int, Int)]): Unit = {
    arguments.foreach { case (load, at) => visitor.visitVarInsn(load, at) }
    call(visitor, owner, method, kind)
  }

  /** A call that a method makes. */
  final case class Call(owner: String, method: String, kind: String)

  /**
   * Return a visitor that changes the calls in a method. `change` writes the instructions in the place of a call; its second
   * argument writes the call itself.
   */
  def atCalls(inner: MethodVisitor)(change: (Call, () => Unit) => Unit): MethodVisitor = new MethodVisitor(Opcodes.ASM9, inner) {
    override def visitMethodInsn(code: Int, owner: String, name: String, kind: String, isInterface: Boolean): Unit =
      change(Call(owner, name, kind), () => super.visitMethodInsn(code, owner, name, kind, isInterface))
  }
}
