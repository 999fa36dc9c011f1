package io.headgate.guard

import java.io.IOException
import java.net.{InetAddress, InetSocketAddress, Socket}
import javax.net.SocketFactory

/**
 * Connects to the addresses of its argument, `port address address ...`, one after the other, wherever a host's name leads
 * meanwhile. PostgreSQL's driver makes it by name; it takes a connected socket as it is, and holds a certificate against the
 * name in the URL.
 */
final class PinnedSockets(argument: String) extends SocketFactory {
  private val (port, addresses) = argument.split(' ').toList match {
    case port :: addresses if addresses.nonEmpty => (port.toInt, addresses)
    case _ => throw new IllegalArgumentException("a port and an address are needed")
  }

  override def createSocket(): Socket = connected(addresses)

  // Its driver asks for none of these.
  override def createSocket(host: String, port: Int): Socket = connected(addresses)
  override def createSocket(host: String, port: Int, local: InetAddress, from: Int): Socket = connected(addresses)
  override def createSocket(host: InetAddress, port: Int): Socket = connected(addresses)
  override def createSocket(host: InetAddress, port: Int, local: InetAddress, from: Int): Socket = connected(addresses)

  private def connected(left: List[String]): Socket = {
    val socket = new Socket
    try {
      // An address in numbers: no name is resolved.
      socket.connect(new InetSocketAddress(InetAddress.getByName(left.head), port), PinnedSockets.PatienceMillis)
      socket
    } catch {
      case error: IOException =>
        socket.close()
        if (left.tail.isEmpty) throw error else connected(left.tail)
    }
  }
}

object PinnedSockets {
  private val PatienceMillis = 10000
}
