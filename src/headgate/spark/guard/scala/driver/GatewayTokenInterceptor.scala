package io.headgate.guard.driver

import io.headgate.guard.client.DriverKey
import org.sparkproject.connect.grpc.{Metadata, ServerCall, ServerCallHandler, ServerInterceptor, Status}

/**
 * Refuses every call without the token of this driver. Spark has the same check, but reads its token from the configuration,
 * all of which it sends to every executor.
 */
final class GatewayTokenInterceptor extends ServerInterceptor {
  private val authorization = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER)

  override def interceptCall[Q, A](call: ServerCall[Q, A], headers: Metadata, next: ServerCallHandler[Q, A]): ServerCall.Listener[Q] =
    if (DriverKey.isCalledBy(headers.get(authorization))) next.startCall(call, headers)
    else {
      call.close(Status.UNAUTHENTICATED.withDescription("the call is not authenticated; connect through the Headgate gateway"), new Metadata)
      new ServerCall.Listener[Q] {}
    }
}
