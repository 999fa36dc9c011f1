"""The measurement of nested roles runs, with a small tree, and prints its figures."""

import pytest

from bench import nested_role_tree


def test_the_measurement_of_nested_roles_prints_both_users(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(nested_role_tree, "ROLES", 200)
    monkeypatch.setattr(nested_role_tree, "CHECKS", 10)
    monkeypatch.setattr(nested_role_tree, "REVOKES", 3)
    monkeypatch.setattr(nested_role_tree, "MICROSECONDS_AT_MOST", 1e6)
    monkeypatch.setattr(nested_role_tree, "MILLISECONDS_AT_MOST", 1e6)

    assert nested_role_tree.main() == 0
    assert capsys.readouterr().out.count("revoke and fresh check median") == 2
