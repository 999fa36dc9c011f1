"""`headgate facts explain`: a tree of the grant paths of an allow, or of the reason and the fixes of a deny."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path as File
from typing import Any

from rich.text import Text
from rich.tree import Tree

from headgate.cli.facts.facts_file import opened
from headgate.cli.facts.names import caller_of, name_text, question_of, resource_of
from headgate.cli.facts.options import AskError, On, With
from headgate.cli.facts.output import decision_json, format_verdict, print_json
from headgate.cli.output import format_end, note, print_drawing, say
from headgate.control.questions.messages import NO_FIX, denial_text, hidden_text
from headgate.decision.diff.compare import EvaluatedSide
from headgate.decision.explain.explain import explain, find_end, smallest_fixes
from headgate.decision.reference import decide
from headgate.decision.types import (
    DenyReason,
    Explanation,
    Fix,
    GrantPath,
    Question,
    RequiredAssignment,
    RequiredMembership,
)
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

_MANY = 5
"""The most approvers that a line names; JSON names them all."""


def print_explanation(file: File, asked: tuple[str, str, str], more: With, on: On, *, reveal: bool) -> int:
    """Print an explanation; return the exit code."""
    action, resource, principal = asked
    moment = opened(file, on)
    facts, models = moment.answers.facts, moment.answers.models
    place = _place(facts, resource, reveal=reveal)
    question = question_of(models, facts, caller_of(facts, principal), (action, place), more)
    found = (_everything if reveal else _told)(moment, question)
    if not found.discoverable and not reveal:
        _print_hidden(resource, found, json=on.json)
    elif on.json:
        print_json(_json(facts, found))
    else:
        print_drawing(_tree(facts, found))
    return 0 if found.decision.allowed else 1


def _place(facts: Snapshot, name: str, *, reveal: bool) -> ResourceId:
    try:
        return resource_of(facts, name)
    except AskError:
        if reveal:
            raise
        return ResourceId(f"?{name}")


def _told(moment: EvaluatedSide, question: Question) -> Explanation:
    answers = moment.answers
    return explain(answers.models, answers.facts, question, moment.now, answers)


def _everything(moment: EvaluatedSide, question: Question) -> Explanation:
    answers = moment.answers
    decision = decide(answers.models, answers.facts, question, moment.now)
    fixes = () if decision.allowed else smallest_fixes(answers.models, answers.facts, question, moment.now, answers)
    return Explanation(decision, discoverable=True, fixes=fixes)


def _print_hidden(name: str, found: Explanation, *, json: bool) -> None:
    text = hidden_text(name.split("."))
    if json:
        print_json({"allowed": False, "name": name, "revision": found.decision.revision, "message": text})
    else:
        say(text)
        note(
            "this is the answer that the principal gets, for a hidden name and for a missing one; `--reveal` shows the reason"
        )


def _tree(facts: Snapshot, found: Explanation) -> Tree:
    tree = _branch(format_verdict(facts, found.decision))
    if found.decision.allowed:
        for line in _ways(facts, found.decision.paths):
            tree.children.append(_branch(line))
        return tree
    missing = found.decision.missing or DenyReason("no-role")
    tree.children.append(_branch(denial_text(facts, missing, found.decision.question.caller.principal)))
    for fix in found.fixes:
        needed = (*(_needed(facts, fix, each) for each in fix.assignments), *map(_membership, fix.memberships))
        tree.children.append(_branch("it would be allowed with", *needed))
    if not found.fixes:
        tree.children.append(_branch(NO_FIX))
    return tree


def _branch(line: str, *below: str) -> Tree:
    # As `Text`, so that brackets in a name are not parsed as markup.
    tree = Tree(Text(line))
    tree.children.extend(map(_branch, below))
    return tree


def _ways(facts: Snapshot, paths: Sequence[GrantPath]) -> Iterator[str]:
    """Yield a line for each assignment that allows the action, with all roles that it gives."""
    if not paths:
        yield "the action needs no role, and its conditions hold"
    ways: dict[GrantPath, list[str]] = {}
    for path in _sorted(paths):
        way = GrantPath("", path.subject, path.assigned_role, path.assigned_on, path.weakest, path.reason)
        ways.setdefault(way, []).append(path.role)
    for way, roles in ways.items():
        yield "".join(_way(facts, way, roles))


def _sorted(paths: Sequence[GrantPath]) -> list[GrantPath]:
    return sorted(
        paths, key=lambda path: (path.weakest or "", path.assigned_on, path.subject, path.assigned_role, path.role)
    )


def _way(facts: Snapshot, way: GrantPath, roles: Iterable[str]) -> Iterator[str]:
    yield f"{way.subject} was assigned {way.assigned_role} on {name_text(facts, way.assigned_on)}"
    given = [role for role in dict.fromkeys(roles) if role != way.assigned_role]
    yield f", which gives {', '.join(given)}" if given else ""
    yield f" (limited by {name_text(facts, way.weakest)}, where the role is weakest)" if way.weakest else ""
    yield f", for {way.reason}" if way.reason else ""
    end = find_end(facts, way)
    yield f", {format_end(end)}" if end is not None else ""


def _needed(facts: Snapshot, fix: Fix, needed: RequiredAssignment) -> str:
    subject, able = needed.subject or fix.subject, _able(needed.approvers)
    return f"{needed.role} on {name_text(facts, needed.resource)} for {subject}, which {able} can assign"


def _membership(needed: RequiredMembership) -> str:
    return f"membership in the group {needed.group}, to which {_able(needed.approvers)} can add members"


def _able(approvers: Sequence[str]) -> str:
    more = f" or {len(approvers) - _MANY} more" if len(approvers) > _MANY else ""
    return f"{' or '.join(approvers[:_MANY])}{more}"


def _json(facts: Snapshot, found: Explanation) -> dict[str, Any]:
    missing = found.decision.missing
    return {
        **decision_json(facts, found.decision),
        "paths": [_path_json(facts, each) for each in _sorted(found.decision.paths)],
        "missing": _missing_json(facts, found, missing) if missing else None,
        "fixes": [_fix_json(facts, each) for each in found.fixes],
    }


def _path_json(facts: Snapshot, path: GrantPath) -> dict[str, Any]:
    return {
        "role": path.role,
        "subject": path.subject,
        "assigned_role": path.assigned_role,
        "assigned_on": name_text(facts, path.assigned_on),
        "weakest": name_text(facts, path.weakest) if path.weakest else None,
        "reason": path.reason,
        "ends": find_end(facts, path),
    }


def _missing_json(facts: Snapshot, found: Explanation, missing: DenyReason) -> dict[str, Any]:
    return {
        "code": missing.code,
        "resource": name_text(facts, missing.resource) if missing.resource else None,
        "roles": list(missing.roles),
        "what": missing.what,
        "message": denial_text(facts, missing, found.decision.question.caller.principal),
    }


def _fix_json(facts: Snapshot, fix: Fix) -> dict[str, Any]:
    assignments = [
        {
            "role": each.role,
            "resource": name_text(facts, each.resource),
            "approvers": list(each.approvers),
            **({"subject": each.subject} if each.subject else {}),
        }
        for each in fix.assignments
    ]
    memberships = [{"group": each.group, "approvers": list(each.approvers)} for each in fix.memberships]
    more = {"memberships": memberships} if memberships else {}
    return {"subject": fix.subject, "assignments": assignments, **more}
