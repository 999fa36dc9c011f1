"""The section `operations`: the numbers of needs and verbs are bounded."""

import pytest

from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.conditions import CONDITIONS
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.load import diagnose

MODEL = """model: m
version: 1
types:
  organization: {under: [deployment]}
roles:
  reader: {on: [organization], actions: {organization: [edit, delete]}}
assign:
  - {holder: reader, roles: [reader], on: [organization]}
operations:
  resource.rename: """


@pytest.mark.parametrize("count", [20, 21, 10_000])
@pytest.mark.parametrize("is_list_of_verbs", [False, True])
def test_an_operation_has_at_most_20_needs_and_a_need_at_most_20_verbs(count: int, *, is_list_of_verbs: bool) -> None:
    verbs = ["edit", "delete", "describe", "alter", "drop"]
    many = sorted({action.partition(".")[2] for action in shipped_vocabulary()} - set(verbs))
    listed = [*verbs, *(many * (count // len(many) + 1))][:count]
    needs = (
        f"[{{on: resource, verb: [{', '.join(listed)}]}}]"
        if is_list_of_verbs
        else f"[{', '.join(['{on: resource, verb: edit}'] * count)}]"
    )

    found = {each.mistake for each in diagnose(MODEL + needs, shipped_vocabulary(), "m.yaml", CONDITIONS)}

    assert (DiagnosticCode.TOO_MANY_ENTRIES in found) is (count > 20)
