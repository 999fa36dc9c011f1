package io.headgate.guard.policy

import java.util.{Locale, Map => JavaMap}

import com.google.common.collect.MapMaker
import io.headgate.guard.client.StatementContext
import io.headgate.guard.memory.SessionMemory
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier
import org.apache.spark.sql.catalyst.catalog.{TempVariableManager, VariableDefinition}
import org.apache.spark.sql.catalyst.expressions.VariableReference
import org.apache.spark.sql.catalyst.plans.logical.{CreateVariable, LogicalPlan, SetVariable}
import org.apache.spark.sql.connector.catalog.Identifier

/**
 * Session variables hold values that a statement has read. What it took to read them is remembered by the name that they
 * were given to, and asked for at every use.
 *
 * A statement that fails leaves the value of an earlier one, so needs of a name only add up.
 */
object SessionVariables {
  /** What each variable of a session needs, by where the session keeps its variables: a clone of the session has none of them. */
  private val given: JavaMap[TempVariableManager, Map[String, Set[RequiredPrivilege]]] =
    new MapMaker().weakKeys().makeMap[TempVariableManager, Map[String, Set[RequiredPrivilege]]]()

  /** Remembers what the values need that a statement is about to give to variables. Throws `LimitExceeded` if there is no room for them. */
  def assigned(session: SparkSession, plan: LogicalPlan): Unit = {
    if (plan.isInstanceOf[SetVariable] || plan.isInstanceOf[CreateVariable]) SessionMemory.require(session)
    remember(session, plan)
  }

  /** The variables of a session. */
  def of(session: SparkSession): Seq[VariableDefinition] =
    known(session).keys.toSeq.flatMap(name => manager(session).get(Seq(name)))

  private def remember(session: SparkSession, plan: LogicalPlan): Unit = plan match {
    case set: SetVariable => set.targetVariables.collect { case variable: VariableReference => variable.identifier }.foreach(give(session, _))
    case create: CreateVariable => create.names.collect { case name: ResolvedIdentifier => name.identifier }.foreach(give(session, _))
    case _ =>
  }

  /** What it took to read the value of a variable; throws `AccessDenied` where that is not known. */
  def needs(session: SparkSession, variable: VariableReference): Set[RequiredPrivilege] = needs(session, variable.varDef)

  /**
   * What a name needs in case it turns out to be a variable. Spark reads one while it analyzes - the text of EXECUTE
   * IMMEDIATE, a computed name, a schema - before a rule sees what it has become.
   */
  def needs(session: SparkSession, name: Seq[String]): Set[RequiredPrivilege] = {
    val words = name.map(_.toLowerCase(Locale.ROOT))
    val variables = manager(session)
    val ofSession = if (variables.isEmpty) Nil else words.flatMap(word => variables.get(Seq(word))).flatMap(needs(session, _))
    (ofSession ++ words.flatMap(word => known(session).getOrElse(word, Set.empty[RequiredPrivilege]))).toSet
  }

  private def needs(session: SparkSession, value: VariableDefinition): Set[RequiredPrivilege] =
    known(session).getOrElse(
      key(value.identifier),
      Refusal.because(s"it is not known where the value of `${value.identifier.name}` comes from; set it again"))

  private def give(session: SparkSession, name: Identifier): Unit = StatementContext.sinceBegin(session) match {
    case Some(operation) => given.merge(manager(session), Map(key(name) -> operation.needs), (before, now) => add(before, now))
    case None => Refusal.because("a variable is set by a statement that runs")
  }

  private def add(before: Map[String, Set[RequiredPrivilege]], now: Map[String, Set[RequiredPrivilege]]): Map[String, Set[RequiredPrivilege]] =
    before ++ now.map { case (name, needs) => name -> (before.getOrElse(name, Set.empty[RequiredPrivilege]) ++ needs) }

  private def known(session: SparkSession): Map[String, Set[RequiredPrivilege]] = given.getOrDefault(manager(session), Map.empty)

  private def manager(session: SparkSession): TempVariableManager = session.sessionState.catalogManager.tempVariableManager

  private def key(name: Identifier): String = name.name.toLowerCase(Locale.ROOT)
}
