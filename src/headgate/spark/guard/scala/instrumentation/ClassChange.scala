package io.headgate.guard.instrumentation

import java.lang.instrument.ClassFileTransformer
import java.security.ProtectionDomain

import scala.util.control.NonFatal

import org.apache.xbean.asm9.{ClassReader, ClassVisitor, ClassWriter, MethodVisitor, Opcodes}

/**
 * Changes methods of some classes of Spark as they are loaded. The changes leave the frames of the stack as they are. A driver
 * whose Spark has a class without such a method ends: a newer Spark may have renamed it.
 */
abstract class ClassChange(names: Set[String]) extends ClassFileTransformer {
  private val classes = names.map(_.replace('.', '/'))

  /** The changed method, `kind` being its descriptor: what is visited goes to `inner`. Returns `inner` for a method that stays. */
  protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor

  final override def transform(loader: ClassLoader, name: String, loaded: Class[_], domain: ProtectionDomain, bytes: Array[Byte]): Array[Byte] =
    if (name == null || !classes(name)) null
    else try rewritten(bytes)
    catch { case NonFatal(error) => halt(name, error) }

  /** The JVM would load the class as it is. */
  private def halt(name: String, error: Throwable): Array[Byte] = {
    System.err.println(s"headgate: the class $name cannot be changed: $error; this driver ends")
    Runtime.getRuntime.halt(ClassChange.Halted)
    null
  }

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
    if (!isChanged) throw new IllegalStateException("it has no method that Headgate changes")
    writer.toByteArray
  }
}

private[guard] object ClassChange {
  private val Halted = 5

  /** Descriptors of types. */
  val Text = "Ljava/lang/String;"
  val Several = "Lscala/collection/immutable/Seq;"

  /** Calls a function of the guard. */
  def call(visitor: MethodVisitor, owner: String, method: String, kind: String): Unit =
    visitor.visitMethodInsn(Opcodes.INVOKESTATIC, s"io/headgate/guard/$owner", method, kind, false)

  /** Adds to a method that returns nothing what it does last. */
  def atEnd(inner: MethodVisitor)(more: MethodVisitor => Unit): MethodVisitor = new MethodVisitor(Opcodes.ASM9, inner) {
    override def visitInsn(code: Int): Unit = {
      if (code == Opcodes.RETURN) more(inner)
      super.visitInsn(code)
    }
  }

  /** Adds to a method what it does first. */
  def atBegin(inner: MethodVisitor)(more: MethodVisitor => Unit): MethodVisitor = new MethodVisitor(Opcodes.ASM9, inner) {
    override def visitCode(): Unit = {
      super.visitCode()
      more(inner)
    }
  }

  /** Has a method begin with a call of a function of the guard, for arguments each of which an instruction loads from a place, 0 being the object. */
  def callAtBegin(inner: MethodVisitor, owner: String, method: String, kind: String, arguments: (Int, Int)*): MethodVisitor =
    atBegin(inner)(callFor(_, owner, method, kind, arguments))

  /** Has a method begin with another value of its argument `at`, which the function of the guard returns for the objects `given`. */
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

  /** Changes the calls that a method makes. `change` visits what comes in the place of a call; its second argument visits the call itself. */
  def atCalls(inner: MethodVisitor)(change: (Call, () => Unit) => Unit): MethodVisitor = new MethodVisitor(Opcodes.ASM9, inner) {
    override def visitMethodInsn(code: Int, owner: String, name: String, kind: String, isInterface: Boolean): Unit =
      change(Call(owner, name, kind), () => super.visitMethodInsn(code, owner, name, kind, isInterface))
  }
}
