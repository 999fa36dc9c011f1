package io.headgate.guard.driver

import java.io.{FileDescriptor, FileOutputStream, OutputStream, PrintStream}
import java.nio.{ByteBuffer, CharBuffer}
import java.nio.charset.CodingErrorAction.REPLACE
import java.nio.charset.StandardCharsets.UTF_8

/**
 * Escapes control characters in UTF-8 output as `TerminalText` does: with Spark's errors, rows and names get into the driver's
 * log.
 */
final class TerminalStream(to: OutputStream) extends OutputStream {
  private val decoder = UTF_8.newDecoder().onMalformedInput(REPLACE).onUnmappableCharacter(REPLACE)
  /** The first bytes of a character whose last bytes have not been written yet. */
  private var begun = Array.empty[Byte]

  override def write(byte: Int): Unit = write(Array(byte.toByte), 0, 1)

  override def write(bytes: Array[Byte], from: Int, length: Int): Unit = synchronized {
    val given = ByteBuffer.wrap(begun ++ bytes.slice(from, from + length))
    val text = CharBuffer.allocate(given.remaining)
    decoder.decode(given, text, false)
    begun = given.array.drop(given.position())
    to.write(TerminalText.escape(text.flip().toString).getBytes(UTF_8))
  }

  override def flush(): Unit = to.flush()
}

object TerminalStream {
  /** Escape control characters in everything that this process writes from now on; the JVM's own output is not covered. */
  def install(): Unit = {
    System.setOut(printing(FileDescriptor.out))
    System.setErr(printing(FileDescriptor.err))
  }

  private def printing(to: FileDescriptor): PrintStream =
    new PrintStream(new TerminalStream(new FileOutputStream(to)), true, UTF_8)
}
