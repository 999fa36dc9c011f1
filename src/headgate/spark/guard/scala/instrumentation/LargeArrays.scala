package io.headgate.guard.instrumentation

import java.lang.instrument.ClassFileTransformer
import java.security.ProtectionDomain

import scala.reflect.ClassTag
import scala.util.control.NonFatal

import io.headgate.guard.expressions.Sizes
import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.memory.HeapHeadroom
import org.apache.xbean.asm9.{ClassReader, ClassVisitor, ClassWriter, MethodVisitor, Opcodes}

/**
 * Limit of the elements of one array that `spark.ml` allocates, in the driver or in a task of it. A number in a row or a
 * parameter determines the size of vectors and matrices; an array larger than the heap would end the driver. The guard sees
 * memory that is allocated in smaller parts, and ends the statement that fills the heap.
 */
final class LargeArrays extends ClassFileTransformer {
  import LargeArrays._

  override def transform(loader: ClassLoader, name: String, loaded: Class[_], domain: ProtectionDomain, bytes: Array[Byte]): Array[Byte] =
    if (name == null || !Packages.exists(name.startsWith)) null
    else try rewritten(bytes)
    catch { case NonFatal(error) => ClassChange.halt(name, error) }

  private def rewritten(bytes: Array[Byte]): Array[Byte] = {
    val reader = new ClassReader(bytes)
    val writer = new ClassWriter(reader, 0)
    reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
      override def visitMethod(access: Int, name: String, kind: String, signature: String, errors: Array[String]): MethodVisitor =
        new SizeChecks(super.visitMethod(access, name, kind, signature, errors))
    }, 0)
    writer.toByteArray
  }

  /** Checks the size before each allocation of an array. */
  private final class SizeChecks(inner: MethodVisitor) extends MethodVisitor(Opcodes.ASM9, inner) {
    override def visitIntInsn(code: Int, operand: Int): Unit = {
      if (code == Opcodes.NEWARRAY) check()
      super.visitIntInsn(code, operand)
    }

    override def visitTypeInsn(code: Int, of: String): Unit = {
      if (code == Opcodes.ANEWARRAY) check()
      super.visitTypeInsn(code, of)
    }

    override def visitMethodInsn(code: Int, owner: String, name: String, kind: String, isInterface: Boolean): Unit =
      Replaced.get((owner, name, kind)) match {
        case Some(instead) => ClassChange.call(inner, Own, name, instead)
        case None => super.visitMethodInsn(code, owner, name, kind, isInterface)
      }

    private def check(): Unit = ClassChange.call(inner, Own, "allowed", "(I)I")
  }
}

object LargeArrays {
  /** Numbers in 16 MiB, as in every other value. */
  private val Most = (Sizes.MaxBytes / 8).toInt
  private val Word = 8L
  private val Own = "instrumentation/LargeArrays"
  private val Packages = Seq("org/apache/spark/ml/", "org/apache/spark/mllib/", "org/apache/spark/sql/ml/", "breeze/linalg/")
  private val Of = "Lscala/reflect/ClassTag;)Ljava/lang/Object;"
  private val Arrays = "Lscala/Array$;"
  private val Replaced = Map(
    ("scala/Array$", "fill", s"(ILscala/Function0;$Of") -> s"(${Arrays}ILscala/Function0;$Of",
    ("scala/Array$", "ofDim", s"(I$Of") -> s"(${Arrays}I$Of",
    ("scala/reflect/ClassTag", "newArray", "(I)Ljava/lang/Object;") -> "(Lscala/reflect/ClassTag;I)Ljava/lang/Object;")

  /** Return the size of an array that `spark.ml` is about to allocate. Throw `LimitExceeded` if it is too large. */
  def allowed(size: Int): Int =
    if (size <= Most) {
      HeapHeadroom.require("spark.ml", size * Word)
      size
    } else throw new LimitExceeded(s"a vector, matrix or array of the machine-learning operation would have $size elements, more than $Most; use fewer features, classes or clusters")

  /** `Array.fill`, with the limit; `arrays` is the object on which Spark calls it. */
  def fill(arrays: Array.type, size: Int, value: Function0[Any], of: ClassTag[Any]): AnyRef = arrays.fill(allowed(size))(value())(of)

  def ofDim(arrays: Array.type, size: Int, of: ClassTag[Any]): AnyRef = arrays.ofDim(allowed(size))(of)

  def newArray(of: ClassTag[Any], size: Int): AnyRef = of.newArray(allowed(size))
}
