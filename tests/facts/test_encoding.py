"""Changes as JSON, one by one and as a facts file: decoding returns them unchanged, and refuses faults with their line."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.kernel.ports import LogEntry
from headgate.facts import changes as c
from headgate.facts.consistency import find_inconsistency
from headgate.facts.encoding import (
    _TYPES,  # pyright: ignore[reportPrivateUsage] (a test has a sample of each)
    FORMAT,
    TAG,
    VERSION,
    FactsError,
    decode,
    encode,
    read_history,
    write_history,
)
from headgate.facts.fold import fold
from headgate.facts.snapshot import Snapshot
from tests.facts.histories import BEGINNING, BEGUN, few, histories
from tests.facts.samples import SAMPLES

_HEADER = '{"format": "headgate facts", "version": 1, "revision": 3}'
_MARKED = ['{"entry": 1, "at": 1}', '{"entry": 3, "at": 2.5}']
_BEGUN = [
    '{"change": "OrganizationCreated", "organization": "o", "model": "nekt", "model_hash": ""}',
    '{"change": "PrincipalAdded", "principal": "vicky", "kind": "user"}',
]
_FINITE = st.floats(allow_nan=False, allow_infinity=False)


def write_facts(changes: Iterable[c.Change], revision: int) -> list[str]:
    """Return the lines of a facts file that does not separate entries."""
    header = {"format": FORMAT, "version": VERSION, "revision": revision}
    return [json.dumps(each, ensure_ascii=False) for each in (header, *map(encode, changes))]


def read_facts(lines: Iterable[str]) -> Snapshot:
    """Return the snapshot at the end of a facts file."""
    *_, last = read_history(lines)
    return last.facts


def _consistent(changes: list[c.Change]) -> list[c.Change]:
    """Return those of the changes that a command could have written, one after the other."""
    facts, kept = BEGUN, list[c.Change]()
    for change in changes:
        if find_inconsistency(facts, change) is None:
            facts = fold(facts, (change,), 0)
            kept.append(change)
    return kept


def _any_change(kind: type) -> st.SearchStrategy[c.Change]:
    st.register_type_strategy(float, _FINITE)
    return st.from_type(kind)


def test_a_sample_of_every_change_type_exists() -> None:
    assert {type(sample) for sample in SAMPLES} == set(get_args(c.Change))


def test_every_sample_is_encoded_as_in_existing_logs() -> None:
    recorded = (Path(__file__).parent / "encoded_samples.jsonl").read_text(encoding="utf-8")

    assert "".join(f"{json.dumps(encode(sample))}\n" for sample in SAMPLES) == recorded


def test_every_change_type_has_one_spelling() -> None:
    assert {str(encode(sample)[TAG]) for sample in SAMPLES} == set(_TYPES)
    assert set(_TYPES.values()) == set(get_args(c.Change))


def test_no_field_has_the_name_of_the_tag() -> None:
    assert all(TAG not in kind.__dataclass_fields__ for kind in get_args(c.Change))


def test_every_sample_comes_back_equal() -> None:
    assert tuple(decode(json.loads(json.dumps(encode(sample)))) for sample in SAMPLES) == SAMPLES


@given(st.sampled_from(get_args(c.Change)).flatmap(_any_change))
def test_any_change_comes_back_equal(change: c.Change) -> None:
    assert decode(json.loads(json.dumps(encode(change)))) == change


def test_a_field_with_a_default_may_be_missing_in_an_older_entry() -> None:
    assert decode({"change": "GroupCreated", "group": "g"}) == c.GroupCreated(c.GroupId("g"))


def test_a_whole_number_is_a_time_too() -> None:
    back = decode({"change": "PrincipalExpires", "principal": "u", "ends": 3})

    assert isinstance(back, c.PrincipalExpires)
    assert isinstance(back.ends, float)


_NO_CHANGES: dict[str, Any] = {
    "nothing": None,
    "a list": [],
    "no change type": {},
    "an unknown type": {"change": "Unheard"},
    "a type that is no text": {"change": ["PrincipalRemoved"]},
    "a missing field": {"change": "PrincipalRemoved"},
    "a field too many": {"change": "PrincipalRemoved", "principal": "u", "more": 1},
    "a number for a text": {"change": "PrincipalRemoved", "principal": 7},
    "null for a text": {"change": "PrincipalRemoved", "principal": None},
    "a number for a boolean": {"change": "GroupCreated", "group": "g", "built_in": 1},
    "a boolean for a number": {"change": "PrincipalExpires", "principal": "u", "ends": True},
    "text for a number": {"change": "TokenIssued", "token": "t", "principal": "u", "ends": "soon"},
    "an infinite time": {"change": "PrincipalExpires", "principal": "u", "ends": float("inf")},
    "a time that is not a number": {"change": "PrincipalExpires", "principal": "u", "ends": float("nan")},
    "a time that is too large": {"change": "PrincipalExpires", "principal": "u", "ends": 10**400},
    "text for a list": {"change": "CustomRoleDefined", "name": "n", "roles": "viewer"},
    "an edge without a target": {
        "change": "RelationsSet",
        "resource": "r",
        "relations": {"outputs": [{"enabled": True}]},
    },
    "an edge that is text": {"change": "RelationsSet", "resource": "r", "relations": {"outputs": ["r"]}},
    "a list for a mapping": {"change": "RelationsSet", "resource": "r", "relations": []},
    "a mapping for a list": {"change": "RelationsSet", "resource": "r", "relations": {"outputs": {}}},
}


@pytest.mark.parametrize("value", _NO_CHANGES.values(), ids=_NO_CHANGES)
def test_a_value_that_is_no_change_is_refused(value: Any) -> None:
    with pytest.raises(FactsError):
        decode(value)


def test_the_refusal_names_the_field() -> None:
    with pytest.raises(FactsError, match=r"`ResourceCreated\.parent` is not a string"):
        decode({"change": "ResourceCreated", "resource": "r", "type": "table", "parent": 1, "name": "n"})


def test_the_refusal_of_a_wrong_item_of_a_list_names_the_item() -> None:
    with pytest.raises(FactsError, match=r"`TokenIssued\.only\[1\]` is not a string"):
        decode({"change": "TokenIssued", "token": "t", "principal": "u", "only": ["a", 1]})


def test_the_refusal_of_a_change_with_a_missing_field_names_the_field() -> None:
    with pytest.raises(FactsError, match="`MemberAdded` lacks the required field `principal`"):
        decode({"change": "MemberAdded", "group": "g"})


def test_the_refusal_of_a_change_with_an_unknown_field_does_not_repeat_the_field() -> None:
    with pytest.raises(FactsError, match=r"`TokenRevoked` has a field that is none of `token`; [^`]*$"):
        decode({"change": "TokenRevoked", "token": "t", "more": 1})


class TestFactsFile:
    @few
    @given(histories().map(_consistent), st.integers(min_value=0, max_value=9))
    def test_a_facts_file_gives_the_snapshot_of_its_changes(self, changes: list[c.Change], revision: int) -> None:
        lines = list(write_facts([*BEGINNING, *changes], revision))

        assert read_facts(lines) == fold(BEGUN, changes, revision)
        assert read_facts(f"{line}\n" for line in lines) == read_facts(lines)

    def test_a_facts_file_has_one_line_for_each_change(self) -> None:
        lines = list(write_facts(SAMPLES, 3))

        assert len(lines) == len(SAMPLES) + 1
        assert not any("\n" in line for line in lines)
        assert lines[0] == _HEADER

    def test_the_example_facts_file_of_the_document_can_be_read(self) -> None:
        document = Path(__file__).parents[2] / "docs" / "facts-file.md"
        example = document.read_text(encoding="utf-8").split("```json\n")[1].split("```")[0]

        facts = read_facts(example.splitlines())
        assert facts.revision == 12
        assert facts.full_name(c.ResourceId("flights")) == ("lake", "raw", "flights")

    def test_a_facts_file_may_have_empty_lines(self) -> None:
        assert read_facts(["", _HEADER, "", " \n"]) == Snapshot(revision=3)

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ([], "the facts file is empty; name a file that `headgate facts export` wrote"),
            (["facts"], "line 1: the line is not valid JSON"),
            (
                ["[]"],
                'line 1: the file is not a facts file, which begins with a line that contains `"format": "headgate facts"`',
            ),
            (['{"format": "other", "version": 1, "revision": 1}'], "line 1: the file is not a facts file"),
            (
                [_HEADER.replace("1,", "2,")],
                "line 1: the facts file has version 2, and this version of Headgate reads version 1",
            ),
            ([_HEADER.replace("3", "-1")], "line 1: `revision` is not a whole number of 0 or more"),
            ([_HEADER.replace("3", "true")], "line 1: `revision` is not a whole number of 0 or more"),
            ([_HEADER, "", "{"], "line 3: the line is not valid JSON"),
            ([_HEADER, "[" * 100_000], "line 2: the line is not valid JSON"),
            (
                [_HEADER, '{"change": "PrincipalAdded", "principal": "vic", "kind": "human"}'],
                "line 2: no principal can have the kind `human`; write `user` or `service_principal`",
            ),
            ([_HEADER, "{}"], "line 2: the line is not an object with the type of a change under `change`"),
            ([_HEADER, "[5]"], "line 2: the line is not an object with the type of a change under `change`"),
            ([_HEADER, _HEADER], "line 2: this is the first line of a facts file; write only changes"),
            (
                [_HEADER, json.dumps(encode(SAMPLES[1]))],
                "line 2: no earlier change creates the organization (`OrganizationCreated`)",
            ),
            (
                [_HEADER, json.dumps(encode(SAMPLES[0])), '{"change": "MemberAdded", "group": "g", "principal": "u"}'],
                "line 3: no group has the id `g`; correct the line, or create what it names in an earlier line",
            ),
            (
                [_HEADER, *_BEGUN, '{"change": "PrincipalRemoved", "principal": "vcky"}'],
                "line 4: no principal has the id `vcky`; did you mean `vicky`?",
            ),
            (
                [_HEADER, *_BEGUN, '{"change": "RoleRevoked", "subject": "vicky", "role": "r", "resource": "o"}'],
                "line 4: `vicky` was not assigned the role `r` on `o`; correct the line",
            ),
            (
                [_HEADER, *_BEGUN, '{"change": "PrincipalExpires", "principal": "vicky", "ends": 1800000000000}'],
                "line 4: `ends` is not between 1970 and the year 9999; write the time in seconds since the epoch",
            ),
            ([_HEADER, *_BEGUN, _BEGUN[1]], "line 4: the id `vicky` is in use already, and an id names one thing only"),
            (
                [_HEADER, '{"change": "RoleAssignd"}'],
                "line 2: `RoleAssignd` is not a type of change that this version of Headgate knows; use the version that wrote the file, or correct it to `RoleAssigned` if it is misspelt",
            ),
            (["", " "], "the facts file is empty"),
        ],
    )
    def test_a_broken_facts_file_is_refused_with_the_number_of_the_line(self, lines: list[str], message: str) -> None:
        with pytest.raises(FactsError) as caught:
            read_facts(lines)

        assert str(caught.value).startswith(message)


def _entries(*changes: c.Change) -> list[LogEntry]:
    """Return one entry for each change, one second apart."""
    numbered = enumerate(changes, start=1)
    return [LogEntry(number, float(number), None, "something", (change,)) for number, change in numbered]


def test_no_similar_id_is_searched_for_a_very_long_one() -> None:
    added = ['{"change": "PrincipalAdded", "principal": "%s", "kind": "user"}' % ("u" * 300)]
    removed = '{"change": "PrincipalRemoved", "principal": "%s"}' % ("u" * 299)

    with pytest.raises(FactsError, match="correct the line, or create what it names in an earlier line"):
        read_facts([_HEADER, *_BEGUN, *added, removed])


class TestLogsOfEarlierVersions:
    def test_an_assignment_to_a_deleted_team_can_be_read(self) -> None:
        given = '{"change": "RoleAssigned", "subject": "gone", "role": "r", "resource": "o", "model": "m"}'

        assert "gone" in read_facts([_HEADER, *_BEGUN, given]).assignments

    def test_a_second_resource_with_the_name_of_another_can_be_read(self) -> None:
        created = [
            f'{{"change": "ResourceCreated", "resource": "{id}", "type": "lake", "parent": "o", "name": "lake"}}'
            for id in ("a", "b")
        ]

        assert read_facts([_HEADER, *_BEGUN, *created]).children[c.ResourceId("o")]["lake"] == "b"


class TestFactsFileWithEntries:
    @few
    @given(histories().map(_consistent))
    def test_a_facts_file_with_entries_gives_the_state_after_each_entry(self, changes: list[c.Change]) -> None:
        entries = _entries(*BEGINNING, *changes)

        states = list(read_history(write_history(entries, len(entries))))

        assert [(state.facts.revision, state.at) for state in states] == [(each.revision, each.at) for each in entries]
        for state in states:
            assert state.facts == fold(Snapshot(), [*BEGINNING, *changes][: state.facts.revision], state.facts.revision)

    def test_a_facts_file_with_entries_names_the_models_in_force(self) -> None:
        made = c.OrganizationCreated(c.ResourceId("o"), "nekt", "1")
        entries = _entries(made, c.GovernedBy(made.organization, "nekt", "2"))

        assert [dict(state.facts.model_hashes) for state in read_history(write_history(entries, 2))] == [
            {"nekt": "1"},
            {"nekt": "2"},
        ]

    def test_a_facts_file_may_have_entries_without_changes(self) -> None:
        assert [state.facts.revision for state in read_history([_HEADER, *_MARKED])] == [1, 3]

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            (
                _MARKED[:1],
                "the last entry has revision 1, but the first line states revision 3; run `headgate facts export` again",
            ),
            (
                [_MARKED[1], _MARKED[1]],
                "line 3: the revision in `entry` is not a whole number above the previous revision, 3",
            ),
            (
                ['{"entry": true, "at": 1}'],
                "line 2: the revision in `entry` is not a whole number above the previous revision",
            ),
            (['{"entry": 3}'], "line 2: an entry lacks one of the keys `entry` (its revision) and `at`"),
            (
                ['{"entry": 3, "at": "now"}'],
                "line 2: `at` is not a finite number",
            ),
            (
                [json.dumps(encode(SAMPLES[0])), *_MARKED],
                "line 3: the revision in `entry` is not a whole number above the previous revision",
            ),
        ],
    )
    def test_a_facts_file_with_broken_entries_is_refused_with_the_number_of_the_line(
        self, lines: list[str], message: str
    ) -> None:
        with pytest.raises(FactsError) as caught:
            list(read_history([_HEADER, *lines]))

        assert str(caught.value).startswith(message)
