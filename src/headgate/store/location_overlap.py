"""Overlap of table folders: no folder is inside another one, so that work on one table's files leaves other tables alone."""

from collections.abc import Iterable, Iterator


class TableLocations:
    """The folders of tables (`Pointer.place`) that are in use."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._around = {each for place in self._taken for each in _above(place)}

    def may_add(self, place: str) -> bool:
        """Return whether a folder overlaps none of those in use; if so, add it to them."""
        above = frozenset(_above(place))
        if place in self._taken or place in self._around or not above.isdisjoint(self._taken):
            return False
        self._taken.add(place)
        self._around |= above
        return True


def _above(place: str) -> Iterator[str]:
    """Yield every folder above a folder."""
    parts = place.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts)))
