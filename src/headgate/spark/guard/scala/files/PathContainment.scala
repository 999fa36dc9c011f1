package io.headgate.guard.files

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, LinkOption, Path}

import scala.annotation.tailrec

/**
 * Whether one place lies below another, by the rules of the lake (`headgate.lake.containment`): readers differ
 * in how they read a path, so one counts only where every reading leads to the same side.
 */
object PathContainment {
  private val Local = "file:"
  private val Stores = Seq("s3a://", "s3n://", "s3://")
  private val Unclear = "?#\\"

  /** Whether the path lies strictly below the location, as written, decoded, and wherever a symbolic link leads. */
  def isInside(location: String, path: String): Boolean = (place(location), place(path)) match {
    case (Some(outer), Some(inner)) =>
      below(outer, inner) && below(decoded(outer), decoded(inner)) && (!inner.startsWith("/") || below(real(outer), real(inner)))
    case _ => false
  }

  private def below(outer: String, inner: String): Boolean = inner.startsWith(outer.stripSuffix("/") + "/") && parts(inner).forall(_ != "..")

  /** One text for one place: an absolute path, or `s3://bucket/key`; `None` for whatever is neither, or unclear. */
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

  /** Until nothing changes: nobody knows how often a reader decodes. What cannot be decoded stays as it is. */
  @tailrec private def decoded(path: String): String = {
    val once =
      try URLDecoder.decode(path.replace("+", "%2B"), UTF_8)
      catch { case _: IllegalArgumentException => path }
    if (once == path) path else decoded(once)
  }

  /** Where a local path really leads; the part of it that does not exist yet leads nowhere else. */
  private def real(path: String): String = {
    @tailrec def resolved(existing: Path, missing: Seq[String]): String =
      if (existing.getParent == null || Files.exists(existing, LinkOption.NOFOLLOW_LINKS)) (existing.toRealPath().toString +: missing).mkString("/")
      else resolved(existing.getParent, existing.getFileName.toString +: missing)
    resolved(Path.of(path), Nil)
  }
}
