package io.headgate.guard.policy

import scala.collection.mutable
import scala.util.control.NonFatal

import com.fasterxml.jackson.core.{JsonFactory, JsonToken}
import io.headgate.guard.limits.SqlText
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.types._

/**
 * Checks of data types and their metadata. Spark loads the class of a user-defined type by its name. It evaluates the SQL text
 * of a column's default with an analyzer of its own, which the guard does not see.
 */
object DataTypes {
  /** The keys of metadata that hold the SQL text of a column's default. */
  private val Defaults = Set("CURRENT_DEFAULT", "EXISTS_DEFAULT")
  /** The types of Spark's own for vectors and matrices. */
  private val Own = Set("ml", "mllib").flatMap(part => Set("VectorUDT", "MatrixUDT").map(s"org.apache.spark.$part.linalg." + _))
  private val OfUserDefined = Set("class", "pyClass", "serializedClass")
  private val Note = "[a-z][a-z0-9_-]*".r
  private val LongestLiteral = 65536

  /** A number of the type FLOAT, as Spark writes it. */
  private val FloatLiteral = "CAST\\('?-?[0-9]{1,40}\\.[0-9]{1,40}(E-?[0-9]{1,3})?'? AS FLOAT\\)".r
  private val UserDefined = "user-defined types are not allowed: they load classes by name; use a built-in type"
  private val NoDefault = "a column of the schema has a default, which Spark would evaluate as an expression; remove the default and use `coalesce` instead"

  /** Refuse a user-defined type at any depth, and a default that is more than a literal. */
  def check(dataType: DataType): Unit = walk(dataType, requireLiterals)

  /** Refuse a user-defined type and every default in a type that the caller wrote. */
  def checkWritten(dataType: DataType): Unit = walk(dataType, metadata => if (defaults(metadata).nonEmpty) Refusal.because(NoDefault))

  /** Refuse a default that is more than a literal. */
  def requireLiterals(metadata: Metadata): Unit = defaults(metadata).find(text => !isLiteral(text)).foreach { _ =>
    Refusal.because("the default of a column is not a literal; write the default as a literal")
  }

  /**
   * Refuse the text of a schema whose JSON names a user-defined type or a default. DDL can express neither. Spark parses DDL
   * without the session's parser, so the limits of SQL text are applied here.
   */
  def checkText(text: String): Unit = {
    SqlText.check(text)
    if (isJson(text)) try checkJson(text) catch {
      case denied: AccessDenied => throw denied
      case NonFatal(_) => Refusal.because("the schema is neither DDL nor JSON; write it as `a INT, b STRING`")
    }
  }

  private def walk(dataType: DataType, check: Metadata => Unit): Unit = dataType match {
    case own: UserDefinedType[_] if Own(own.getClass.getName) =>
    case _: UserDefinedType[_] => Refusal.because(UserDefined)
    case struct: StructType =>
      struct.fields.foreach { field =>
        check(field.metadata)
        walk(field.dataType, check)
      }
    case array: ArrayType => walk(array.elementType, check)
    case map: MapType => Seq(map.keyType, map.valueType).foreach(walk(_, check))
    case _ =>
  }

  private def defaults(metadata: Metadata): Iterable[String] =
    if (metadata == Metadata.empty) Nil
    else Defaults.filter(metadata.contains).map { key =>
      try metadata.getString(key)
      catch { case _: ClassCastException => Refusal.because(NoDefault) }
    }

  /** Whether a text is a literal as Spark itself writes it: parsed and written again, it gives the same text. */
  private def isLiteral(text: String): Boolean =
    FloatLiteral.matches(text) || text.length <= LongestLiteral && (try {
      SqlText.check(text)
      CatalystSqlParser.parseExpression(text) match {
        case literal: Literal => literal.sql == text
        case _ => false
      }
    } catch { case NonFatal(_) => false })

  /** Whether Spark could read a text as JSON, which it tries for a text that is not DDL. */
  private def isJson(text: String): Boolean = text.dropWhile(char => char <= ' ').headOption.exists("{[\"".indexOf(_) >= 0)

  /** Check every pair of key and value, so that a repeated key hides nothing. */
  private def checkJson(text: String): Unit = {
    val parser = new JsonFactory().createParser(text)
    val inMetadata = mutable.Stack.empty[Boolean]
    try Iterator.continually(parser.nextToken()).takeWhile(_ != null).foreach {
      case JsonToken.START_OBJECT => inMetadata.push(parser.currentName == "metadata")
      case JsonToken.END_OBJECT => inMetadata.pop()
      case JsonToken.FIELD_NAME => checkKey(parser.currentName, inMetadata.top)
      case JsonToken.VALUE_STRING if parser.currentName == "type" && parser.getText == "udt" => Refusal.because(UserDefined)
      case _ =>
    } finally parser.close()
  }

  private def checkKey(key: String, isOfMetadata: Boolean): Unit =
    if (Defaults(key)) Refusal.because(NoDefault)
    else if (OfUserDefined(key)) Refusal.because(UserDefined)
    else if (isOfMetadata && !AllowLists.metadataKeys(key) && !Note.matches(key))
      Refusal.because(s"the column metadata key `$key` is not allowed; use lower-case letters, digits, `_` and `-`, and begin with a letter")
}
