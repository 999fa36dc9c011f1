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
 * Session variables, which hold values that a statement has read. The privileges that reading them required are recorded under
 * the variable's name, and required at every use.
 *
 * A statement that fails leaves the value of an earlier one, so privileges are only added to a name.
 */
object SessionVariables {
  /**
   * The privileges of each variable, by the session's manager of variables: a clone of the session has none of its variables.
   */
  private val given: JavaMap[TempVariableManager, Map[String, Set[RequiredPrivilege]]] =
    new MapMaker().weakKeys().makeMap[TempVariableManager, Map[String, Set[RequiredPrivilege]]]()

  /**
   * Record the privileges of the values that a statement is about to assign to variables. Throw `LimitExceeded` if there is no
   * memory for the values.
   */
  def assigned(session: SparkSession, plan: LogicalPlan): Unit = {
    if (plan.isInstanceOf[SetVariable] || plan.isInstanceOf[CreateVariable]) SessionMemory.require(session)
    remember(session, plan)
  }

  /** Return the variables of a session. */
  def of(session: SparkSession): Seq[VariableDefinition] =
    known(session).keys.toSeq.flatMap(name => manager(session).get(Seq(name)))

  private def remember(session: SparkSession, plan: LogicalPlan): Unit = plan match {
    case set: SetVariable => set.targetVariables.collect { case variable: VariableReference => variable.identifier }.foreach(give(session, _))
    case create: CreateVariable => create.names.collect { case name: ResolvedIdentifier => name.identifier }.foreach(give(session, _))
    case _ =>
  }

  /**
   * Return the privileges that reading the value of a variable required. Throw `AccessDenied` if there is no record of them.
   */
  def needs(session: SparkSession, variable: VariableReference): Set[RequiredPrivilege] = needs(session, variable.varDef)

  /**
   * Return the privileges that a name requires if it is a variable. Spark reads a variable during analysis (for the text of
   * EXECUTE IMMEDIATE, a computed name, a schema) before a rule sees the resolved name.
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
      Refusal.because(s"the variable `${value.identifier.name}` is refused: Headgate has no record of the tables that its value comes from; set the variable again"))

  private def give(session: SparkSession, name: Identifier): Unit = StatementContext.sinceBegin(session) match {
    case Some(operation) => given.merge(manager(session), Map(key(name) -> operation.needs), (before, now) => add(before, now))
    case None => Refusal.because("`explain` and `schema` cannot be used on a statement that sets a variable, because they do not run the statement; run it with `spark.sql(...)`")
  }

  private def add(before: Map[String, Set[RequiredPrivilege]], now: Map[String, Set[RequiredPrivilege]]): Map[String, Set[RequiredPrivilege]] =
    before ++ now.map { case (name, needs) => name -> (before.getOrElse(name, Set.empty[RequiredPrivilege]) ++ needs) }

  private def known(session: SparkSession): Map[String, Set[RequiredPrivilege]] = given.getOrDefault(manager(session), Map.empty)

  private def manager(session: SparkSession): TempVariableManager = session.sessionState.catalogManager.tempVariableManager

  private def key(name: Identifier): String = name.name.toLowerCase(Locale.ROOT)
}
