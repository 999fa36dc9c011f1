"""The hash of the assignments on a resource is the same whether it is computed or updated."""

from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from headgate.facts.assigned_subjects import AssignedSubjects, Keys
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId

PLACE = ResourceId("raw")
EMPTY = AssignedSubjects(Map())
SUBJECTS = st.sampled_from([PrincipalId(each) for each in ("ann", "ben", "eve")])
KEYS = st.sets(st.sampled_from(["viewer", "editor"])).map(
    lambda roles: tuple((role, PLACE, "") for role in sorted(roles))
)


@given(st.lists(st.tuples(SUBJECTS, KEYS)), st.integers(0, 5))
def test_a_hash_that_changes_update_equals_one_that_is_computed(
    changes: list[tuple[SubjectId, Keys]], known_from: int
) -> None:
    found, held = EMPTY, dict[SubjectId, Keys]()
    for number, (subject, keys) in enumerate(changes):
        if number >= known_from:
            assert found.hash_sum == AssignedSubjects(Map(held)).hash_sum
        if keys or subject in found:
            found, held[subject] = found.with_keys(subject, keys), keys
            held = {each: of for each, of in held.items() if of}

    assert found == held
    assert found.hash_sum == AssignedSubjects(Map(held)).hash_sum


def test_the_hash_depends_on_the_subject_the_role_and_the_reason() -> None:
    ann, ben = PrincipalId("ann"), PrincipalId("ben")
    held = (
        {},
        {ann: (("viewer", PLACE, ""),)},
        {ben: (("viewer", PLACE, ""),)},
        {ann: (("editor", PLACE, ""),)},
        {ann: (("viewer", PLACE, "why"),)},
        {ann: (("viewer", PLACE, ""),), ben: (("viewer", PLACE, ""),)},
    )

    assert len({AssignedSubjects(Map(each)).hash_sum for each in held}) == len(held)


def test_a_subject_without_assignments_has_no_keys() -> None:
    ann = PrincipalId("ann")
    found = EMPTY.with_keys(ann, (("viewer", PLACE, ""),))

    assert found.keys_of(ann) == (("viewer", PLACE, ""),)
    assert found.with_keys(ann, ()).keys_of(ann) == ()
    assert ann not in found.with_keys(ann, ())
    assert found.keys_of(PrincipalId("ben")) == ()
