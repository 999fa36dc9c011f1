"""The folders of tables: none lies in another one, so that whatever is done to one table's files leaves the others alone."""

from collections.abc import Iterable, Iterator


class TableLocations:
    """Places of tables (`Pointer.place`) that are taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._around = {each for place in self._taken for each in _above(place)}

    def may_add(self, place: str) -> bool:
        """Return whether a place is apart from all that are taken; it is taken from then on."""
        above = frozenset(_above(place))
        if place in self._taken or place in self._around or not above.isdisjoint(self._taken):
            return False
        self._taken.add(place)
        self._around |= above
        return True


def _above(place: str) -> Iterator[str]:
    """Yield every folder that a place lies in."""
    parts = place.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts)))
