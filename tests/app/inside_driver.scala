package inside

import java.net.{DatagramPacket, DatagramSocket, InetAddress, InetSocketAddress, Socket}
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

/**
 * A driver that also makes the attempts that a test writes into a file, one on each line, and writes a line with the outcome of
 * each.
 */
object Driver {
  def main(arguments: Array[String]): Unit = {
    val Array(attempts, results) = arguments.map(Path.of(_))
    val trying = new Thread(() => {
      while (!Files.exists(attempts)) Thread.sleep(100)
      val ended = Files.readAllLines(attempts).asScala.map(endOf)
      val written = Files.writeString(results.resolveSibling("unfinished"), ended.mkString("\n"))
      Files.move(written, results)
    })
    trying.setDaemon(true)
    trying.start()
    io.headgate.guard.driver.DriverMain.main(Array.empty)
  }

  private def endOf(attempt: String): String =
    try { make(attempt.split('\t').toList); "done" }
    catch { case error: Throwable => s"${error.getClass.getSimpleName}: ${error.getMessage}" }

  private def make(attempt: List[String]): Unit = attempt match {
    case "read" :: path :: Nil => Files.newInputStream(Path.of(path)).read()
    case "list" :: path :: Nil => Files.list(Path.of(path)).close()
    case "write" :: path :: Nil => Files.writeString(Path.of(path), "x")
    case "delete" :: path :: Nil => Files.delete(Path.of(path))
    case "link" :: path :: Nil => Files.createSymbolicLink(Path.of(path), Path.of("/etc/passwd"))
    case "connect" :: host :: port :: Nil =>
      val socket = new Socket
      try socket.connect(new InetSocketAddress(host, port.toInt), 3000) finally socket.close()
    case "send" :: host :: port :: Nil =>
      new DatagramSocket().send(new DatagramPacket(Array[Byte](1), 1, InetAddress.getByName(host), port.toInt))
    case "execute" :: path :: Nil => new ProcessBuilder(path).start()
    case _ => throw new IllegalArgumentException("the attempt is not known")
  }
}
