package io.headgate.guard.driver

import java.io.{BufferedReader, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import io.headgate.guard.client.{DriverKey, Hex}
import io.headgate.guard.policy.ReviewedFunctions
import org.apache.spark.sql.connect.service.SparkConnectServer

/**
 * Starts a guarded Spark Connect server.
 *
 * Standard input has everything that is secret or varies: the driver key (hex) on the first line, the token that its callers
 * present on the second, then `key=value` lines until an empty one. These lines become system properties, because Spark looks
 * there for its configuration; none of them is in the arguments or the environment. After the empty line the stream stays open
 * for as long as the parent process lives: its end halts this process.
 */
object DriverMain {
  private val Failed = 1

  def main(arguments: Array[String]): Unit = {
    TerminalStream.install()
    val input = new BufferedReader(new InputStreamReader(System.in, UTF_8))
    try {
      DriverKey.install(Hex.decode(line(input)), line(input))
      Iterator.continually(line(input)).takeWhile(_.nonEmpty).foreach(setProperty)
    } catch {
      case NonFatal(error) =>
        System.err.println(s"the Spark driver did not receive its settings from Headgate (${error.getMessage}); start it with `headgate serve`, not by hand")
        Runtime.getRuntime.halt(Failed)
    }
    haltAtEndOf(input)
    ReviewedFunctions.install()
    SparkConnectServer.main(Array.empty)
  }

  private def line(input: BufferedReader): String =
    Option(input.readLine()).getOrElse(throw new IllegalStateException("standard input ended before the empty line after the settings of the driver"))

  private def setProperty(line: String): Unit = line.split("=", 2) match {
    case Array(key, value) => System.setProperty(key, value)
    case _ => throw new IllegalStateException("a setting of the driver on standard input is not written as `key=value`")
  }

  /**
   * Halt this process when standard input ends. It is halted and not exited, because Spark's shutdown hooks may hang, and no
   * parent process is left to wait for them.
   */
  private def haltAtEndOf(input: BufferedReader): Unit = {
    val watchdog = new Thread(() => {
      try while (input.readLine() != null) {}
      finally Runtime.getRuntime.halt(Failed)
    }, "headgate-watchdog")
    watchdog.setDaemon(true)
    watchdog.start()
  }
}
