package io.headgate.guard.files

import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFs, DelegateToFileSystem, FileStatus, FsConstants, LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * Hadoop's local file system without the programs that it starts for permissions: `chmod` for each new file and folder, `ls`
 * for each status. A sandboxed driver starts no programs, and the parent folders are closed to other users.
 */
final class LocalFiles extends LocalFileSystem(new LocalFiles.Raw)

object LocalFiles {
  final class Raw extends RawLocalFileSystem {
    override def setPermission(path: Path, permission: FsPermission): Unit = ()

    override def setOwner(path: Path, user: String, group: String): Unit =
      throw new UnsupportedOperationException("the owner of a file cannot be changed through Spark; change it outside of Headgate")

    override def getFileStatus(path: Path): FileStatus = plain(super.getFileStatus(path))

    override def getFileLinkStatus(path: Path): FileStatus = plain(super.getFileLinkStatus(path))

    override def listStatus(path: Path): Array[FileStatus] = super.listStatus(path).map(plain)

    /** Return the status without owner and permissions, which a program would have to find. */
    private def plain(status: FileStatus): FileStatus =
      if (status.isSymlink) status
      else new FileStatus(status.getLen, status.isDirectory, 1, status.getBlockSize, status.getModificationTime, status.getPath)
  }
}

/** The same for Hadoop's other interface to files (`FileContext`), through which streams write their progress. */
final class LocalFilesContext(uri: URI, conf: Configuration) extends ChecksumFs(new LocalFilesContext.Raw(uri, conf))

object LocalFilesContext {
  private val NoPort = -1

  final class Raw(uri: URI, conf: Configuration)
      extends DelegateToFileSystem(uri, new LocalFiles.Raw, conf, FsConstants.LOCAL_FS_URI.getScheme, false) {
    override def getUriDefaultPort: Int = NoPort

    override def isValidName(name: String): Boolean = true
  }
}
