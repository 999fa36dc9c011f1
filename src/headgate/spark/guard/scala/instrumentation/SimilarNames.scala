package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor

/**
 * Limits Spark's search for names that are similar to one that does not exist: it compares each letter with each, and nothing
 * interrupts it.
 */
final class SimilarNames extends ClassChange(Set("org/apache/spark/sql/catalyst/util/StringUtils$")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "orderSuggestedIdentifiersBySimilarity") inner
    else ClassChange.replaceArgument(inner, 2, "limits/SuggestionLimit", "few", s"(${ClassChange.Text}${ClassChange.Several})${ClassChange.Several}", 1, 2)
}
