package io.headgate.guard.policy

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The entry of one class in the table of reviewed classes. */
final case class PlanClass(isParsedOnly: Boolean, needs: Seq[PlanClass.Entry])

object PlanClass {
  /**
   * A verb on the target in a field, or on the node itself. A verb that begins with `=` names an extractor in
   * `RequiredPrivileges`.
   */
  final case class Entry(verb: String, field: Option[String])
}

/** The table of reviewed plan classes, `plan-classes.txt`: a class that is not in it is refused. */
object PlanClasses {
  import PlanClass.Entry

  private val Nothing = "-"
  private val Inner = "inner"

  private val all: Map[String, PlanClass] = AllowLists.lines("plan-classes").map(_.split("\\s+").toSeq).map {
    case name +: when +: needs => name -> PlanClass(isParsedOnly(when), needs.filter(_ != Nothing).map(entry))
    case line => throw new IllegalStateException(s"Headgate's own file plan-classes.txt is damaged: the line `${line.mkString(" ")}` does not have the columns class, when and needs; install Headgate again")
  }.toMap

  def of(plan: LogicalPlan): Option[PlanClass] = all.get(plan.getClass.getName.stripSuffix("$"))

  /** Return the needs of the class itself, without those of the nodes below it. */
  def entries(plan: LogicalPlan): Seq[Entry] = of(plan).fold(Seq.empty[Entry])(_.needs)

  /** Return the value of a field of a node; refuse a node without the field. */
  def held(plan: LogicalPlan, field: String): Any = {
    val index = plan.productElementNames.indexOf(field)
    if (index < 0) Refusal.node(plan) else plan.productElement(index)
  }

  /** Return the plans in a node that it acts on and does not read. */
  def targets(plan: LogicalPlan): Seq[LogicalPlan] = plans(plan, _ != Inner)

  /** Return the plans in a node that Spark analyzes again, as statements of their own, when the node runs. */
  def inner(plan: LogicalPlan): Seq[LogicalPlan] = plans(plan, _ == Inner)

  private def plans(plan: LogicalPlan, wanted: String => Boolean): Seq[LogicalPlan] = entries(plan).collect {
    case Entry(verb, Some(field)) if wanted(verb) => held(plan, field)
  }.collect { case part: LogicalPlan => part; case Some(part: LogicalPlan) => part }

  private def isParsedOnly(when: String): Boolean = when match {
    case "parsed" => true
    case "always" => false
  }

  private def entry(text: String): Entry = text.split(":", 2) match {
    case Array(verb, field) => Entry(verb, Some(field))
    case Array(verb) => Entry(verb, None)
  }
}
