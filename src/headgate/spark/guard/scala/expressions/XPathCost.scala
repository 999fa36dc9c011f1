package io.headgate.guard.expressions

import io.headgate.guard.limits.LimitExceeded

/**
 * The cost of a call of `xpath`, for which Java reads a whole document and follows a path without interruption checks. Documents
 * with a type definition are refused: its entities would grow when they are read, or name other files.
 */
object XPathCost {
  private val LongestDocument = 1L << 20
  private val LongestPath = 1000
  private val Most = 1000000000L
  private val TypeDefinition = "<!DOCTYPE"

  /**
   * Parts of a path for which Java may visit each element of the document again: each multiplies the cost. They are `//`, `..`,
   * an axis, the place in a list, an absolute path inside of another one, and a comparison with more than a literal.
   */
  private val Repeating = raw"""//|\.\.|([a-z-]+)\s*::|last\s*\(|position\s*\(|[^\w\s*.\])/]\s*/|[=<>](?!=)\s*(?![\s'"\d-])""".r
  /** Functions that compare each character of one text with each of another, unless the other is a literal. */
  private val Searching = raw"""(?:contains|translate|substring-before|substring-after)\s*\((?![^(),'"]*,\s*['"])""".r
  private val Downwards = Set("attribute", "child", "self")

  /** Throw `LimitExceeded` if the path would be followed for too long. */
  def require(document: Any, path: Any): Unit = if (document != null && path != null) {
    val (text, steps) = (document.toString, path.toString)
    if (text.contains(TypeDefinition))
      throw new LimitExceeded(s"the functions `xpath...` do not read XML with a document type definition (`$TypeDefinition`); remove it from the text, for example with `regexp_replace`")
    if (steps.contains("concat")) Sizes.require("concat", Sizes.times(text.length, 1 + steps.count(_ == ',')))
    if (text.length > LongestDocument || steps.length > LongestPath || of(text, steps) > Most)
      throw new LimitExceeded("a function `xpath...` would follow the path through a document for too long; use a path with fewer steps such as `//` and `..`, or smaller documents")
  }

  private def of(text: String, path: String): Long = {
    val elements = math.max(2, text.count(_ == '<').toLong)
    val visits = Repeating.findAllMatchIn(path).filterNot(part => Downwards(part.group(1)))
    val reads = Searching.findAllIn(path).foldLeft(Sizes.times(text.length, path.length))((cost, _) => Sizes.times(cost, text.length))
    visits.foldLeft(reads)((cost, _) => Sizes.times(cost, elements))
  }
}
