package io.headgate.guard.connections

import java.util.{LinkedHashMap => JavaLinkedHashMap, Map => JavaMap}

import io.headgate.guard.client.DriverKey
import io.headgate.guard.policy.Refusal

/** What a plan says in the place of a connection: a word that means something to this driver only. */
object ConnectionReferences {
  /** The option that it stands in. */
  val Option = "headgatereference"

  final case class Meant(handle: String, connection: String)

  private val Most = 10000
  private val InOrderOfUse = true

  /** Those used last: a session that has ended leaves its own behind. */
  private val known = new JavaLinkedHashMap[String, Meant](16, 0.75f, InOrderOfUse) {
    override def removeEldestEntry(eldest: JavaMap.Entry[String, Meant]): Boolean = size > Most
  }

  /** The reference by which a session knows a connection. */
  def of(handle: String, connection: String): String = synchronized {
    val reference = DriverKey.reference(handle, connection)
    known.put(reference, Meant(handle, connection))
    reference
  }

  def meant(reference: String): Meant = synchronized {
    scala.Option(known.get(reference)).getOrElse(Refusal.because("it is not known which connection is meant"))
  }
}
