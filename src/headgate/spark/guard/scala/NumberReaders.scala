package io.headgate.guard

import java.lang.instrument.ClassFileTransformer
import java.security.ProtectionDomain

import scala.util.control.NonFatal

import org.apache.xbean.asm9.{ClassReader, ClassVisitor, ClassWriter, MethodVisitor, Opcodes}

/**
 * The classes of Spark that make a number of a text, which they do in casts, parsers of rows and files, and paths. Java
 * multiplies a long number out, for hours, and nothing interrupts it. So as these classes are loaded, `ReadNumbers` is
 * put before each such place in them.
 */
final class NumberReaders extends ClassFileTransformer {
  private val classes = Lists.of("number-readers").map(_.replace('.', '/'))

  override def transform(loader: ClassLoader, name: String, loaded: Class[_], domain: ProtectionDomain, bytes: Array[Byte]): Array[Byte] =
    if (name == null || !classes(name)) null
    else try rewritten(bytes)
    catch { case NonFatal(error) => halt(name, error) }

  /** The JVM would load the class as it is. */
  private def halt(name: String, error: Throwable): Array[Byte] = {
    System.err.println(s"headgate: the numbers that $name reads cannot be bounded: $error; this driver ends")
    Runtime.getRuntime.halt(NumberReaders.Halted)
    null
  }

  private def rewritten(bytes: Array[Byte]): Array[Byte] = {
    val reader = new ClassReader(bytes)
    val writer = new ClassWriter(reader, 0)
    reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
      override def visitMethod(access: Int, name: String, kind: String, signature: String, errors: Array[String]): MethodVisitor =
        new NumberReaders.Bounding(super.visitMethod(access, name, kind, signature, errors))
    }, 0)
    writer.toByteArray
  }
}

private object NumberReaders {
  private val Halted = 5
  private val Text = "Ljava/lang/String;"
  private val Decimal = "Ljava/math/BigDecimal;"
  private val Constructors = Set("java/math/BigDecimal", "java/math/BigInteger").map((_, "<init>", s"($Text)V"))
  private val OfText = Constructors + (("scala/math/BigDecimal$", "apply", s"($Text)Lscala/math/BigDecimal;"))
  private val OfJson = ("com/fasterxml/jackson/core/JsonParser", "getDecimalValue", s"()$Decimal")

  private final class Bounding(inner: MethodVisitor) extends MethodVisitor(Opcodes.ASM9, inner) {
    override def visitMethodInsn(code: Int, owner: String, name: String, kind: String, isInterface: Boolean): Unit = {
      if (OfText((owner, name, kind))) bound(Text)
      super.visitMethodInsn(code, owner, name, kind, isInterface)
      if (OfJson == (owner, name, kind)) bound(Decimal)
    }

    private def bound(kind: String): Unit =
      super.visitMethodInsn(Opcodes.INVOKESTATIC, "io/headgate/guard/ReadNumbers", "bounded", s"($kind)$kind", false)
  }
}
