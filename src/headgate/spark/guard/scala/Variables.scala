package io.headgate.guard

import java.util.{LinkedHashMap => JavaLinkedHashMap, Locale, Map => JavaMap}

import com.google.common.collect.MapMaker
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier
import org.apache.spark.sql.catalyst.catalog.VariableDefinition
import org.apache.spark.sql.catalyst.expressions.VariableReference
import org.apache.spark.sql.catalyst.plans.logical.{CreateVariable, LogicalPlan, SetVariable}
import org.apache.spark.sql.connector.catalog.Identifier

/**
 * Session variables hold values that a statement has read. What it took to read them is remembered by the name that they
 * were given to, and asked for at every use.
 *
 * A statement that fails leaves the value of an earlier one, so needs of a name only add up.
 */
object Variables {
  private val Most = 10000
  private val InOrderOfUse = true

  /** By a session's handle: what each variable needs. Those used last: a session that has ended leaves its own behind. */
  private val given = new JavaLinkedHashMap[String, Map[String, Set[Need]]](16, 0.75f, InOrderOfUse) {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Map[String, Set[Need]]]): Boolean = size > Most
  }

  /** By the value itself, as the same object: a cloned session has it under a handle of its own. */
  private val known: JavaMap[VariableDefinition, Set[Need]] = new MapMaker().weakKeys().makeMap[VariableDefinition, Set[Need]]()

  /** Remembers what the values need that a statement is about to give to variables. */
  def assigned(session: SparkSession, plan: LogicalPlan): Unit = plan match {
    case set: SetVariable => set.targetVariables.collect { case variable: VariableReference => variable.identifier }.foreach(give(session, _))
    case create: CreateVariable => create.names.collect { case name: ResolvedIdentifier => name.identifier }.foreach(give(session, _))
    case _ =>
  }

  /** What it took to read the value of a variable; throws `AccessDenied` where that is not known. */
  def needs(session: SparkSession, variable: VariableReference): Set[Need] = needs(session, variable.varDef)

  /**
   * What a name needs in case it turns out to be a variable. Spark reads one while it analyzes - the text of EXECUTE
   * IMMEDIATE, a computed name, a schema - before a rule sees what it has become.
   */
  def needs(session: SparkSession, name: Seq[String]): Set[Need] = {
    val manager = session.sessionState.catalogManager.tempVariableManager
    val words = name.map(_.toLowerCase(Locale.ROOT))
    val ofSession = if (manager.isEmpty) Nil else words.flatMap(word => manager.get(Seq(word))).flatMap(needs(session, _))
    (ofSession ++ words.flatMap(word => ofHandle(session).getOrElse(word, Set.empty[Need]))).toSet
  }

  private def needs(session: SparkSession, value: VariableDefinition): Set[Need] =
    Option(known.get(value)).orElse(ofHandle(session).get(key(value.identifier)).map(keep(value, _))).getOrElse {
      Refuse.because(s"it is not known where the value of `${value.identifier.name}` comes from; set it again")
    }

  private def give(session: SparkSession, name: Identifier): Unit = Statement.sinceBegin(session) match {
    case Some(operation) => synchronized {
      val before = ofHandle(session)
      given.put(operation.asker, before.updated(key(name), before.getOrElse(key(name), Set.empty[Need]) ++ operation.needs))
    }
    case None => Refuse.because("a variable is set by a statement that runs")
  }

  private def ofHandle(session: SparkSession): Map[String, Set[Need]] = synchronized {
    Option(given.get(Statement.handle(session))).getOrElse(Map.empty)
  }

  private def key(name: Identifier): String = name.name.toLowerCase(Locale.ROOT)

  private def keep(value: VariableDefinition, needs: Set[Need]): Set[Need] = {
    known.put(value, needs)
    needs
  }
}
