package io.headgate.guard.connections

import java.io.IOException
import java.net.{InetAddress, InetSocketAddress, Socket}
import java.nio.charset.StandardCharsets.US_ASCII
import javax.net.SocketFactory

/**
 * Connects to the addresses of its argument, `port address address ...`, one after the other, wherever a host's name leads
 * meanwhile; or, where that is `relay port ticket`, to the relay, which knows the addresses that the ticket stands for.
 * PostgreSQL's driver makes it by name; it takes a connected socket as it is, and holds a certificate against the name in the
 * URL.
 */
final class PinnedSockets(argument: String) extends SocketFactory {
  private val connect: () => Socket = argument.split(' ').toList match {
    case PinnedSockets.Relay :: port :: ticket :: Nil => () => relayed(port.toInt, ticket)
    case port :: addresses if addresses.nonEmpty => () => connected(addresses, port.toInt)
    case _ => throw new IllegalArgumentException("a port and an address are needed")
  }

  override def createSocket(): Socket = connect()

  // Its driver asks for none of these.
  override def createSocket(host: String, port: Int): Socket = connect()
  override def createSocket(host: String, port: Int, local: InetAddress, from: Int): Socket = connect()
  override def createSocket(host: InetAddress, port: Int): Socket = connect()
  override def createSocket(host: InetAddress, port: Int, local: InetAddress, from: Int): Socket = connect()

  private def relayed(port: Int, ticket: String): Socket = {
    val socket = connected(List(PinnedSockets.Loopback), port)
    try {
      socket.setSoTimeout(PinnedSockets.RelayPatienceMillis)
      socket.getOutputStream.write(ticket.getBytes(US_ASCII))
      if (socket.getInputStream.read() != PinnedSockets.Open) throw new IOException("the database cannot be reached")
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
      // An address in numbers: no name is resolved.
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
  /** As long as the relay tries an address, for each of several. */
  private val RelayPatienceMillis = 60000
}
