package io.headgate.guard.client

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import io.headgate.guard.policy.AccessDenied

/**
 * The secret key that this driver shares with the process that started it: it signs requests, and verifies the tokens of
 * sessions.
 */
object DriverKey {
  private val Algorithm = "HmacSHA256"
  @volatile private var key: Option[SecretKeySpec] = None
  @volatile private var caller: Option[String] = None

  /** Set the key, and the token that callers of this driver present. */
  def install(bytes: Array[Byte], token: String): Unit = {
    key = Some(new SecretKeySpec(bytes, Algorithm))
    caller = Some(s"Bearer $token")
  }

  /** Whether the `authorization` of a call has the token from the process that started this driver. */
  def isCalledBy(presented: String): Boolean = presented != null && caller.exists(sameText(_, presented))

  /** Return the handle in a session's token, if this driver's key has signed it. */
  def handleIn(token: String): Option[String] = token.split('.') match {
    case Array(handle, signature) if sameText(signature, sign(s"session:$handle")) => Some(handle)
    case _ => None
  }

  /** Return the headers of a request to the parent process, signed by this driver for a handle. */
  def headers(handle: String, method: String, target: String, body: Array[Byte]): Seq[(String, String)] = {
    val now = (System.currentTimeMillis() / 1000).toString
    val digest = Hex.encode(MessageDigest.getInstance("SHA-256").digest(body))
    Seq(
      "Authorization" -> s"Bearer $handle",
      "X-Headgate-Time" -> now,
      "X-Headgate-Signature" -> sign(Seq(method, target, now, handle, digest).mkString("\n")))
  }

  /** Return a reference to a connection of a session that no other caller can guess. */
  def reference(handle: String, connection: String): String = sign(s"connection:$handle:$connection")

  private def sign(text: String): String = {
    val mac = Mac.getInstance(Algorithm)
    mac.init(key.getOrElse(throw new AccessDenied("the Spark driver has no key, so access is refused; ask the operator to restart the Spark driver")))
    Hex.encode(mac.doFinal(text.getBytes(UTF_8)))
  }

  private def sameText(left: String, right: String): Boolean =
    MessageDigest.isEqual(left.getBytes(UTF_8), right.getBytes(UTF_8))
}

/** Bytes as hexadecimal text and back. */
private[guard] object Hex {
  private val format = java.util.HexFormat.of()

  def encode(bytes: Array[Byte]): String = format.formatHex(bytes)

  def decode(text: String): Array[Byte] = format.parseHex(text.trim)
}
