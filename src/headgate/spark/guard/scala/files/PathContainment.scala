package io.headgate.guard.files

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, LinkOption, Path}

import scala.annotation.tailrec

/**
 * Path containment: whether a path is below a location, by the rules of the lake (`headgate.lake.containment`). Readers
 * interpret a path in different ways, so it counts as below only if it is below in every interpretation.
 */
object PathContainment {
  private val Local = "file:"
  private val Stores = Seq("s3a://", "s3n://", "s3://")
  private val Unclear = "?#\\"

  /** Whether the path is strictly below the location: as written, decoded, and with symbolic links resolved. */
  def isInside(location: String, path: String): Boolean = (place(location), place(path)) match {
    case (Some(outer), Some(inner)) =>
      below(outer, inner) && below(decoded(outer), decoded(inner)) && (!inner.startsWith("/") || below(real(outer), real(inner)))
    case _ => false
  }

  private def below(outer: String, inner: String): Boolean = inner.startsWith(outer.stripSuffix("/") + "/") && parts(inner).forall(_ != "..")

  /**
   * Return the one text for a place: an absolute path, or `s3://bucket/key`; `None` for a text that is neither, or is unclear.
   */
  private def place(written: String): Option[String] = Stores.find(written.startsWith) match {
    case Some(store) if !written.drop(store.length).contains("//") => clear(written.drop(store.length)).map("s3://" + _.stripSuffix("/"))
    case Some(_) => None
    case None => clear(unslashed(written.stripPrefix(Local))).filter(_.startsWith("/")).map(path => parts(path).mkString("/", "/", ""))
  }

  /** `file:///a` and `file:/a` are `/a`; `file://a` names another machine. */
  private def unslashed(path: String): String =
    if (path.startsWith("///")) path.drop(2) else if (path.startsWith("//")) "" else path

  private def clear(path: String): Option[String] = {
    val isClear = path.nonEmpty && !path.exists(char => Unclear.indexOf(char.toInt) >= 0 || Character.isISOControl(char))
    if (isClear && parts(path).forall(part => part != "." && part != "..")) Some(path) else None
  }

  private def parts(path: String): Array[String] = path.split('/').filter(_.nonEmpty)

  /**
   * Decode until nothing changes, because it is unknown how often a reader decodes. A text that cannot be decoded stays as it
   * is.
   */
  @tailrec private def decoded(path: String): String = {
    val once =
      try URLDecoder.decode(path.replace("+", "%2B"), UTF_8)
      catch { case _: IllegalArgumentException => path }
    if (once == path) path else decoded(once)
  }

  /** Return where a local path leads with symbolic links resolved; the part of it that does not exist yet has no links. */
  private def real(path: String): String = {
    @tailrec def resolved(existing: Path, missing: Seq[String]): String =
      if (existing.getParent == null || Files.exists(existing, LinkOption.NOFOLLOW_LINKS)) (existing.toRealPath().toString +: missing).mkString("/")
      else resolved(existing.getParent, existing.getFileName.toString +: missing)
    resolved(Path.of(path), Nil)
  }
}
