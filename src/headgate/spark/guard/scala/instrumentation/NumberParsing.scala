package io.headgate.guard.instrumentation

import io.headgate.guard.policy.AllowLists
import org.apache.xbean.asm9.MethodVisitor

/**
 * Limits numbers in text that classes of Spark parse: in casts, parsers of rows and files, and paths. Java multiplies a long
 * number out, for hours, and nothing interrupts it. So a call of `BoundedNumbers` is added before each such place.
 */
final class NumberParsing extends ClassChange(AllowLists.of("number-readers")) {
  import NumberParsing._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = {
    def bound(number: String): Unit = ClassChange.call(inner, "expressions/BoundedNumbers", "bounded", s"($number)$number")
    ClassChange.atCalls(inner) { (called, itself) =>
      if (OfText(called)) bound(ClassChange.Text)
      itself()
      if (called == OfJson) bound(Decimal)
    }
  }
}

private object NumberParsing {
  import ClassChange.{Call, Text}

  private val Decimal = "Ljava/math/BigDecimal;"
  private val Constructors = Set("java/math/BigDecimal", "java/math/BigInteger").map(Call(_, "<init>", s"($Text)V"))
  private val OfText = Constructors + Call("scala/math/BigDecimal$", "apply", s"($Text)Lscala/math/BigDecimal;")
  private val OfJson = Call("com/fasterxml/jackson/core/JsonParser", "getDecimalValue", s"()$Decimal")
}
