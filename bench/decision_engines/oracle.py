"""The correct answers, in ten lines that a reader can check."""

from dataclasses import dataclass

from .organization import LEVELS, Organization


@dataclass(frozen=True, slots=True)
class Question:
    """Whether the user has this level on the table or pipeline."""

    user: str
    level: str
    resource: str


class Oracle:
    """The answers that every engine must give: the weakest table of a resource decides, by the best of all grants on it."""

    def __init__(self, organization: Organization) -> None:
        self._organization = organization
        self._groups_of = organization.groups_of()
        self._granted = {(each.subject, each.place): LEVELS.index(each.level) for each in organization.grants}

    def allows(self, question: Question) -> bool:
        """Return the correct answer."""
        subjects = (question.user, *self._groups_of[question.user])
        needed = LEVELS.index(question.level)
        return all(
            any(
                self._granted.get((subject, place), -1) >= needed
                for subject in subjects
                for place in (table, self._organization.layer_of[table])
            )
            for table in self._organization.touched(question.resource)
        )
