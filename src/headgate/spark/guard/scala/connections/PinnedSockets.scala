package io.headgate.guard.connections

import java.io.IOException
import java.net.{InetAddress, InetSocketAddress, Socket}
import java.nio.charset.StandardCharsets.US_ASCII
import javax.net.SocketFactory

/**
 * A socket factory with pinned addresses (against DNS rebinding). For the argument `port address address ...` it connects to
 * these addresses, one after the other, whatever the host's name resolves to by then. For `relay port ticket` it connects to
 * the relay, which knows the addresses of the ticket. PostgreSQL's driver creates it by the name of the class. The driver uses
 * a connected socket as it is, and checks the certificate against the host in the URL.
 */
final class PinnedSockets(argument: String) extends SocketFactory {
  private val connect: () => Socket = argument.split(' ').toList match {
    case PinnedSockets.Relay :: port :: ticket :: Nil => () => relayed(port.toInt, ticket)
    case port :: addresses if addresses.nonEmpty => () => connected(addresses, port.toInt)
    case _ => throw new IllegalArgumentException("internal error: the argument of the socket factory is neither `port address ...` nor `relay port ticket`; report it")
  }

  override def createSocket(): Socket = connect()

  // PostgreSQL's driver calls none of these.
  override def createSocket(host: String, port: Int): Socket = connect()
  override def createSocket(host: String, port: Int, local: InetAddress, from: Int): Socket = connect()
  override def createSocket(host: InetAddress, port: Int): Socket = connect()
  override def createSocket(host: InetAddress, port: Int, local: InetAddress, from: Int): Socket = connect()

  private def relayed(port: Int, ticket: String): Socket = {
    val socket = connected(List(PinnedSockets.Loopback), port)
    try {
      socket.setSoTimeout(PinnedSockets.RelayPatienceMillis)
      socket.getOutputStream.write(ticket.getBytes(US_ASCII))
      if (socket.getInputStream.read() != PinnedSockets.Open) throw new IOException("the relay cannot reach the external database; check the connection, and whether the database is running")
      socket.setSoTimeout(0)
      socket
    } catch {
      case error: IOException =>
        socket.close()
        throw error
    }
  }

  private def connected(left: List[String], port: Int): Socket = {
    val socket = new Socket
    try {
      // A numeric address: no name is resolved.
      socket.connect(new InetSocketAddress(InetAddress.getByName(left.head), port), PinnedSockets.PatienceMillis)
      socket
    } catch {
      case error: IOException =>
        socket.close()
        if (left.tail.isEmpty) throw error else connected(left.tail, port)
    }
  }
}

object PinnedSockets {
  private val Relay = "relay"
  private val Loopback = "127.0.0.1"
  private val Open = 0
  private val PatienceMillis = 10000
  /** The relay tries an address for as long as `PatienceMillis`; this allows for several addresses. */
  private val RelayPatienceMillis = 60000
}
