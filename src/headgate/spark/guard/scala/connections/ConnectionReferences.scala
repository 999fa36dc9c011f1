package io.headgate.guard.connections

import java.util.{LinkedHashMap => JavaLinkedHashMap, Map => JavaMap}

import io.headgate.guard.client.DriverKey
import io.headgate.guard.policy.Refusal

/** Connection references: a plan names a connection by a reference that only this driver can resolve. */
object ConnectionReferences {
  /** The option that holds a reference. */
  val Option = "headgatereference"

  final case class Meant(handle: String, connection: String)

  private val Most = 10000
  private val InOrderOfUse = true

  /** The references used last: a session that has ended does not remove its own. */
  private val known = new JavaLinkedHashMap[String, Meant](16, 0.75f, InOrderOfUse) {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Meant]): Boolean = size > Most
  }

  /** Return the reference of a session to a connection. */
  def of(handle: String, connection: String): String = synchronized {
    val reference = DriverKey.reference(handle, connection)
    known.put(reference, Meant(handle, connection))
    reference
  }

  def meant(reference: String): Meant = synchronized {
    scala.Option(known.get(reference)).getOrElse(Refusal.because("the DataFrame uses an external database whose connection the Spark driver no longer knows; read the database again with the option `connection`"))
  }
}
