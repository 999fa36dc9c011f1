package io.headgate.guard.client

import java.io.{BufferedInputStream, EOFException, IOException}
import java.net.{InetSocketAddress, Socket, SocketException, URI}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.Locale.ROOT
import java.util.concurrent.LinkedBlockingDeque

import scala.annotation.tailrec

/** An HTTP response: its status, and its body. */
private[client] final case class HttpAnswer(status: Int, body: Array[Byte])

/**
 * A client of one HTTP server on this machine, with connections that stay open. A request blocks its own thread: with Java's
 * client, it would pass through three more threads, which took longer than the server's work.
 */
private[client] final class HttpConnections(server: URI, millis: Int) {
  import HttpConnections._

  private val free = new LinkedBlockingDeque[HttpConnection](Kept)

  /** Send a POST, and return the answer. Throw `IOException` without one. */
  @tailrec
  def post(path: String, headers: Seq[(String, String)], body: Array[Byte]): HttpAnswer = Option(free.pollFirst()) match {
    case None => on(new HttpConnection(server, millis), path, headers, body)
    case Some(kept) => tried(kept, path, headers, body) match {
      case Some(answer) => answer
      case None => post(path, headers, body)
    }
  }

  /** Return the answer on a connection that was kept; None if the connection is unusable. The server has not read the request then. */
  private def tried(kept: HttpConnection, path: String, headers: Seq[(String, String)], body: Array[Byte]): Option[HttpAnswer] =
    try Some(on(kept, path, headers, body))
    catch { case _: UnusableConnectionException => None }

  private def on(connection: HttpConnection, path: String, headers: Seq[(String, String)], body: Array[Byte]): HttpAnswer =
    try {
      val answer = connection.post(path, headers, body)
      if (!connection.keeps || !free.offerFirst(connection)) connection.close()
      answer
    } catch {
      case error: Throwable =>
        connection.close()
        throw error
    }
}

private object HttpConnections {
  /** Most connections that stay open without a request. */
  private val Kept = 64
}

/** No request was answered on the connection: the server has closed it, or has sent bytes without a request. */
private final class UnusableConnectionException extends IOException("the Headgate server did not answer on the connection")

private final class HttpConnection(server: URI, millis: Int) {
  import HttpConnection._

  private val socket = new Socket()
  socket.setTcpNoDelay(true)
  socket.setSoTimeout(millis)
  socket.connect(new InetSocketAddress(server.getHost, server.getPort), millis)
  private val input = new BufferedInputStream(socket.getInputStream)

  /** Whether the server keeps the connection open after its last answer. */
  var keeps = true

  def close(): Unit = socket.close()

  def post(path: String, headers: Seq[(String, String)], body: Array[Byte]): HttpAnswer = {
    // Bytes that the server sends without a request would count as the answer to this one.
    if (input.available() > 0) throw new UnusableConnectionException
    try socket.getOutputStream.write(request(path, headers, body))
    catch { case _: IOException => throw new UnusableConnectionException }
    answer()
  }

  private def request(path: String, headers: Seq[(String, String)], body: Array[Byte]): Array[Byte] = {
    val all = Seq("Host" -> server.getAuthority, "Content-Type" -> "application/json", "Content-Length" -> body.length.toString) ++ headers
    val head = all.map { case (name, value) => s"$name: ${oneLine(value)}\r\n" }.mkString(s"POST $path HTTP/1.1\r\n", "", "\r\n")
    head.getBytes(ISO_8859_1) ++ body
  }

  private def answer(): HttpAnswer = {
    requireAnswer()
    val status = line().split(' ') match {
      case Array(version, status, _*) if version.startsWith("HTTP/1.") =>
        keeps = version != Old
        status.toInt
      case _ => throw new IOException("the Headgate server sent no HTTP response")
    }
    val headers = Iterator.continually(line()).takeWhile(_.nonEmpty).map(_.split(":", 2)).collect { case Array(name, value) => name.toLowerCase(ROOT) -> value.trim }.toMap
    if (headers.get("connection").exists(_.equalsIgnoreCase("close"))) keeps = false
    val length = headers.getOrElse("content-length", throw new IOException("the response of the Headgate server has no length")).toInt
    if (length > Largest) throw new IOException("the response of the Headgate server is too large")
    HttpAnswer(status, complete(length))
  }

  private def requireAnswer(): Unit = {
    input.mark(1)
    // A server that closes an idle connection while a request arrives resets it.
    val first = try input.read() catch { case _: SocketException => -1 }
    if (first < 0) throw new UnusableConnectionException
    input.reset()
  }

  private def complete(length: Int): Array[Byte] = {
    val bytes = input.readNBytes(length)
    if (bytes.length < length) throw new EOFException("the response of the Headgate server is incomplete")
    bytes
  }

  private def line(): String = {
    val text = new StringBuilder
    while (text.isEmpty || text.last != '\n') {
      if (text.length > Longest) throw new IOException("a line of the response of the Headgate server is too long")
      text.append(complete(1).head.toChar)
    }
    text.toString.stripLineEnd
  }
}

private object HttpConnection {
  /** The version of HTTP without connections that stay open. */
  private val Old = "HTTP/1.0"

  /** Most characters of a line. */
  private val Longest = 16384

  /** Most bytes of a body. */
  private val Largest = 16 << 20

  private def oneLine(value: String): String =
    if (value.exists(_ < ' ')) throw new IOException("a header of a request to the Headgate server has a line break") else value
}
