package io.headgate.guard.client

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import io.headgate.guard.policy.Refusal
import org.apache.iceberg.rest.{HTTPHeaders, HTTPRequest, ImmutableHTTPRequest, RESTClient}
import org.apache.iceberg.rest.auth.{AuthManager, AuthSession}

/** Authenticates every Iceberg REST call of a Spark session as the session's principal, signed by this driver. */
class SignedAuthManager(name: String) extends AuthManager {
  override def catalogSession(client: RESTClient, properties: JavaMap[String, String]): AuthSession =
    Option(properties.get("token-handle")) match {
      case Some(handle) => new SignedAuthSession(handle)
      case None => Refusal.because("the Spark session was not opened through the Headgate gateway, so it cannot use the catalog; connect through the gateway")
    }

  override def close(): Unit = ()
}

private final class SignedAuthSession(handle: String) extends AuthSession {
  override def authenticate(request: HTTPRequest): HTTPRequest = {
    val uri = request.requestUri
    val target = uri.getRawPath + Option(uri.getRawQuery).fold("")("?" + _)
    val body = Option(request.encodedBody).getOrElse("").getBytes(UTF_8)
    val signed = HTTPHeaders.of(DriverKey.headers(handle, request.method.name, target, body).toMap.asJava)
    ImmutableHTTPRequest.builder.from(request).headers(signed.putIfAbsent(request.headers)).build
  }

  override def close(): Unit = ()
}
