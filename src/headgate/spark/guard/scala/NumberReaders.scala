package io.headgate.guard

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * The classes of Spark that make a number of a text, which they do in casts, parsers of rows and files, and paths. Java
 * multiplies a long number out, for hours, and nothing interrupts it. So `ReadNumbers` is put before each such place.
 */
final class NumberReaders extends ClassChange(Lists.of("number-readers")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = new NumberReaders.Bounding(inner)
}

private object NumberReaders {
  import ClassChange.Text

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
      ClassChange.call(inner, "ReadNumbers", "bounded", s"($kind)$kind")
  }
}
