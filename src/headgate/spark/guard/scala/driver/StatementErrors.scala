package io.headgate.guard.driver

import java.util.UUID

import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.scheduling.{ComputeTurns, EndedStatements}
import org.apache.spark.connect.proto.{AnalyzePlanRequest, ExecutePlanRequest, ReattachExecuteRequest}
import org.sparkproject.connect.google_protos.rpc.{Code, ErrorInfo, Status => RpcStatus}
import org.sparkproject.connect.grpc._
import org.sparkproject.connect.grpc.ForwardingServerCall.SimpleForwardingServerCall
import org.sparkproject.connect.grpc.protobuf.StatusProto
import org.sparkproject.connect.protobuf.{Any => Packed}

/** Reports why a statement ended if Spark would not: for a limit of the operator, or for a stack overflow. */
final class StatementErrors extends ServerInterceptor {
  override def interceptCall[Q, A](call: ServerCall[Q, A], headers: Metadata, next: ServerCallHandler[Q, A]): ServerCall.Listener[Q] = {
    val answered = new AnsweredCall[Q, A](call)
    new Listener[Q](answered, next.startCall(answered, headers))
  }

  private final class Listener[Q](answered: AnsweredCall[Q, _], inner: ServerCall.Listener[Q]) extends ServerCall.Listener[Q] {
    override def onMessage(message: Q): Unit = {
      answered.ask(message)
      inner.onMessage(message)
    }

    override def onHalfClose(): Unit = answered.inTurn(inner.onHalfClose())
    override def onCancel(): Unit = inner.onCancel()
    override def onComplete(): Unit = inner.onComplete()
    override def onReady(): Unit = inner.onReady()
  }

  private final class AnsweredCall[Q, A](call: ServerCall[Q, A]) extends SimpleForwardingServerCall[Q, A](call) {
    @volatile private var operation: Option[String] = None
    @volatile private var analyst: Option[String] = None

    def ask(message: Q): Unit = message match {
      case execute: ExecutePlanRequest =>
        operation = Some(execute.getOperationId).filter(_.nonEmpty)
        receive(execute.getUserContext.getUserId, execute.getSessionId, execute.getSerializedSize)
      case attach: ReattachExecuteRequest => operation = Some(attach.getOperationId)
      case analyze: AnalyzePlanRequest =>
        operation = Some(s"analysis:${UUID.randomUUID}")
        analyst = Some(analyze.getUserContext.getUserId)
        receive(analyze.getUserContext.getUserId, analyze.getSessionId, analyze.getSerializedSize)
      case _ =>
    }

    private def receive(user: String, session: String, bytes: Long): Unit = operation.foreach(ReceivedRequests.receive(_, user, session, bytes))

    def inTurn(handle: => Unit): Unit =
      analyst.fold(handle)(user => ComputeTurns.take(user)(DriverThreads.analyze(operation.get)(handle)))

    override def close(status: Status, trailers: Metadata): Unit =
      if (status.isOk) call.close(status, trailers)
      else StatementErrors.reason(operation, status) match {
        case Some((state, message)) =>
          val said = StatementErrors.error(state, message)
          call.close(said.getStatus, said.getTrailers)
        case None => call.close(status, trailers)
      }
  }
}

private object StatementErrors {
  private val TooDeep = "the statement is nested too deeply for Spark; split it, or write a part of it to a table first"

  def reason(operation: Option[String], status: Status): Option[(String, String)] =
    operation.flatMap(EndedStatements.reason).map(LimitExceeded.Ended -> _)
      .orElse(ErrorChain.of(status.getCause).collectFirst { case _: StackOverflowError => LimitExceeded.TooComplex -> TooDeep })

  def error(state: String, message: String): StatusRuntimeException = {
    val kind = classOf[LimitExceeded].getName
    val info = ErrorInfo.newBuilder().setReason(kind).setDomain("org.apache.spark")
      .putMetadata("classes", s"""["$kind","org.apache.spark.SparkException","java.lang.Exception"]""")
      .putMetadata("sqlState", state).putMetadata("errorClass", LimitExceeded.Condition).putMetadata("messageParameters", "{}")
    StatusProto.toStatusRuntimeException(RpcStatus.newBuilder().setCode(Code.INTERNAL_VALUE).setMessage(message)
      .addDetails(Packed.pack(info.build())).build())
  }
}
