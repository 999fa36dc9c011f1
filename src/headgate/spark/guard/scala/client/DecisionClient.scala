package io.headgate.guard.client

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.headgate.guard.connections.JdbcAccess
import io.headgate.guard.policy.{AccessDenied, ColumnLineage, RequiredCall, RequiredConnection, RequiredName, RequiredOperation, RequiredPath, RequiredPrivilege}
import io.headgate.guard.scheduling.ComputeTurns

/** The client of the decision service in the parent process. Every answer except a clear "allowed" is a refusal. */
object DecisionClient {
  private val NoAnswer = "access cannot be decided right now, so the statement is refused; run it again in a few seconds"
  /** Milliseconds within which the service answers. */
  private val Within = 10000
  private val json = new ObjectMapper()
  private lazy val service = new URI(System.getProperty("headgate.decision.url"))
  private lazy val entrance = service.resolve("connect")
  private lazy val lineage = service.resolve("columns")
  private lazy val connections = new HttpConnections(service, Within)

  /**
   * Return if the handle's principal has all privileges now; otherwise throw `AccessDenied`. The decision service keeps the
   * privileges for as long as the operation runs, if it has an id. The result is whether lineage is recorded for the principal.
   */
  def require(handle: String, needs: Seq[RequiredPrivilege], statement: String, operation: Option[String]): Boolean =
    answer(handle, body(needs, statement, operation)).path("traced").booleanValue

  /**
   * Whether the handle's principal has all privileges now; false if the service does not answer. The service keeps allowed
   * privileges with the operation, because what the operation shows may outlive it. A false refuses no statement, so the audit
   * records no denial.
   */
  def allows(handle: String, needs: Seq[RequiredPrivilege], operation: Option[String]): Boolean =
    try {
      answer(handle, body(needs, "describe", operation, isFilter = true))
      true
    } catch { case _: AccessDenied => false }

  /** Report, for each column that a statement writes, its source columns. */
  def tell(handle: String, written: ColumnLineage.Written): Unit = {
    val said = json.createObjectNode()
    val table = said.putArray("table")
    written.table.foreach(table.add(_))
    val columns = said.putObject("columns")
    written.columns.foreach { case (name, sources) =>
      val list = columns.putArray(name)
      sources.foreach { case (table, column) =>
        val of = list.addObject().put("column", column).putArray("table")
        table.foreach(of.add(_))
      }
    }
    ask(handle, lineage, json.writeValueAsBytes(said))
  }

  /** Return the display name of the handle's principal. Throw `AccessDenied` if the handle has no principal any more. */
  def principal(handle: String): String =
    Option(answer(handle, body(Nil, "current_user", None)).path("principal").textValue).getOrElse(throw new AccessDenied(NoAnswer))

  /**
   * Return the URL and the properties of a connection. Throw `AccessDenied` unless the handle's principal may use the
   * connection now.
   */
  def access(handle: String, connection: String): JdbcAccess = {
    val told = answer(handle, entrance, json.writeValueAsBytes(json.createObjectNode().put("connection", connection)))
    val properties = told.path("properties").properties.asScala.map(each => each.getKey -> each.getValue.asText).toMap
    JdbcAccess(connection, told.path("url").asText, properties)
  }

  private def answer(handle: String, question: Array[Byte]): JsonNode = answer(handle, service, question)

  private def answer(handle: String, where: URI, body: Array[Byte]): JsonNode = {
    val answer =
      try ask(handle, where, body)
      catch { case NonFatal(_) => throw new AccessDenied(NoAnswer) }
    if (!answer.path("allowed").isBoolean) throw new AccessDenied(NoAnswer)
    if (!answer.path("allowed").booleanValue) throw new AccessDenied(answer.path("message").asText("access is refused, and the decision service gave no reason; ask the operator to read the log of Headgate"))
    answer
  }

  private def ask(handle: String, where: URI, body: Array[Byte]): JsonNode = {
    val headers = DriverKey.headers(handle, "POST", where.getRawPath, body)
    val answer = ComputeTurns.waitFor(connections.post(where.getRawPath, headers, body))
    if (answer.status != 200) throw new IllegalStateException(s"the Headgate server could not decide on the access and responded with the HTTP status ${answer.status}; retry, and if it fails again, ask the operator to check the log of Headgate")
    json.readTree(answer.body)
  }

  private def body(needs: Seq[RequiredPrivilege], statement: String, operation: Option[String], isFilter: Boolean = false): Array[Byte] = {
    val question = json.createObjectNode().put("statement", statement).put("operation", operation.orNull)
    question.put("is_filter", isFilter)
    val list = question.putArray("needs")
    needs.foreach {
      case RequiredName(action, name) =>
        val parts = list.addObject().put("action", action).putArray("object")
        name.foreach(parts.add)
      case RequiredCall(action, name, procedure, arguments) =>
        val call = list.addObject().put("action", action).put("procedure", procedure)
        val (parts, given) = (call.putArray("object"), call.putArray("arguments"))
        name.foreach(parts.add)
        arguments.foreach(given.add)
      case RequiredOperation(operation, on, kind) =>
        val places = list.addObject().put("operation", operation).put("type", kind).putObject("on")
        on.foreach { case (place, name) =>
          val parts = places.putArray(place)
          name.foreach(parts.add)
        }
      case RequiredConnection(connection) => list.addObject().put("action", "connection.use").put("connection", connection)
      case RequiredPath(action, path) => list.addObject().put("action", action).put("path", path)
    }
    json.writeValueAsString(question).getBytes(UTF_8)
  }
}
