package io.headgate.guard.client

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import io.headgate.guard.policy.AccessDenied

/** The key that this driver shares with the process that started it, and what can be done with it. */
object DriverKey {
  private val Algorithm = "HmacSHA256"
  @volatile private var key: Option[SecretKeySpec] = None
  @volatile private var caller: Option[String] = None

  /** The key, and the token that whoever calls this driver presents. */
  def install(bytes: Array[Byte], token: String): Unit = {
    key = Some(new SecretKeySpec(bytes, Algorithm))
    caller = Some(s"Bearer $token")
  }

  /** Whether the `authorization` of a call is that of the process that started this driver. */
  def isCalledBy(presented: String): Boolean = presented != null && caller.exists(sameText(_, presented))

  /** The handle inside a session's token, if this driver's key has signed it. */
  def handleIn(token: String): Option[String] = token.split('.') match {
    case Array(handle, signature) if sameText(signature, sign(s"session:$handle")) => Some(handle)
    case _ => None
  }

  /** The headers that make a request to the parent process one of this driver's, for that handle. */
  def headers(handle: String, method: String, target: String, body: Array[Byte]): Seq[(String, String)] = {
    val now = (System.currentTimeMillis() / 1000).toString
    val digest = Hex.encode(MessageDigest.getInstance("SHA-256").digest(body))
    Seq(
      "Authorization" -> s"Bearer $handle",
      "X-Headgate-Time" -> now,
      "X-Headgate-Signature" -> sign(Seq(method, target, now, handle, digest).mkString("\n")))
  }

  /** A word for a connection of a session that nobody else can guess. */
  def reference(handle: String, connection: String): String = sign(s"connection:$handle:$connection")

  private def sign(text: String): String = {
    val mac = Mac.getInstance(Algorithm)
    mac.init(key.getOrElse(throw new AccessDenied("the driver has no key")))
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
