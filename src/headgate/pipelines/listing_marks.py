"""When a stream last listed its folder and took in all that was there, kept beside the stream's progress."""

from pathlib import Path


class ListingMarks:
    """Times of listings as files: their time is that of the file system, and what comes while a look goes on is later."""

    def __init__(self, folder: Path, cleaned: int) -> None:
        self._begun, self._done = folder / f"{cleaned}.listing", folder / f"{cleaned}.listed"

    @property
    def last(self) -> float | None:
        """When the last listing began whose files were all taken in; None before the first."""
        try:
            return self._done.stat().st_mtime
        except FileNotFoundError:
            return None

    def begin(self) -> None:
        """Note that a listing begins."""
        self._begun.unlink(missing_ok=True)
        self._begun.touch()

    def end(self) -> None:
        """Note that all files of the listing that began last were taken in."""
        self._begun.replace(self._done)
