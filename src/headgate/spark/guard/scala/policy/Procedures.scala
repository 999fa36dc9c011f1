package io.headgate.guard.policy

import java.util.Locale

import org.apache.spark.sql.catalyst.analysis.UnresolvedProcedure
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, NamedArgumentExpression}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.Call
import org.apache.spark.sql.types.StringType

/** The procedures that may be called, and what each needs of the table that it is called for. */
object Procedures {
  private final case class Known(verbs: Set[String], arguments: Seq[String])

  private val Namespace = "system"
  private val Never = "never"
  private val TableArgument = "table"

  private val known: Map[String, Known] = AllowLists.procedures.map(_.split(" +").toSeq).collect {
    case name +: verbs +: arguments if verbs != Never => name -> Known(verbs.split(',').toSet, arguments)
  }.toMap

  /** What a CALL needs, told from the names in it; throws `AccessDenied` where it must not be called at all. */
  def needs(call: Call, names: ObjectNames): Seq[RequiredPrivilege] = call match {
    case Call(UnresolvedProcedure(parts), arguments, _) =>
      val name = inSystem(names.full(parts))
      val given = named(name, arguments)
      needs(name, names.full(table(name, given)), given.map(_._1))
    case _ => Nil // resolved: `GuardedProcedure` asks when it is run
  }

  /** What a procedure needs when it is called with these arguments for the table of that full name. */
  def needs(procedure: String, table: Seq[String], arguments: Seq[String]): Seq[RequiredPrivilege] = found(procedure).verbs.toSeq.flatMap {
    case "alter" => RequiredPrivilege.of("alter", Target.Relation(table))
    case "write" => RequiredPrivilege.of("overwrite", Target.Relation(table))
    case "read" => RequiredPrivilege.of("read", Target.Relation(table))
  }.collect { case RequiredName(action, name) => RequiredCall(action, name, procedure, arguments.sorted) }

  private def inSystem(name: Seq[String]): String = name match {
    case Seq(ObjectNames.Lake, namespace, procedure) if namespace.equalsIgnoreCase(Namespace) => procedure.toLowerCase(Locale.ROOT)
    case _ => refuse(name.mkString("."))
  }

  private def found(procedure: String): Known = known.getOrElse(procedure, refuse(procedure))

  private def refuse(procedure: String): Nothing =
    Refusal.because(s"procedure `$procedure` is not among those Headgate allows")

  /** The arguments by their names. */
  private def named(procedure: String, arguments: Seq[Expression]): Seq[(String, Expression)] = {
    val expected = found(procedure).arguments
    val given = arguments.zipWithIndex.map {
      case (NamedArgumentExpression(name, value), _) => name.toLowerCase(Locale.ROOT) -> value
      case (value, position) => expected.lift(position).getOrElse(refuse(procedure)) -> value
    }
    given.find { case (name, _) => !expected.contains(name) }.foreach { case (name, _) =>
      Refusal.because(s"argument `$name` of procedure `$procedure` is not among those Headgate allows")
    }
    given
  }

  /** The table argument, which must be written out: nothing is evaluated to learn it. */
  private def table(procedure: String, given: Seq[(String, Expression)]): Seq[String] =
    given.collect { case (TableArgument, value) => value } match {
      case Seq(Literal(text, StringType)) if text != null => CatalystSqlParser.parseMultipartIdentifier(text.toString)
      case _ => Refusal.because(s"procedure `$procedure` must be told its table as one literal text")
    }
}
