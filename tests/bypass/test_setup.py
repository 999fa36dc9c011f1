"""The deployment that runs the cases: under the atomic model, opened as an ordinary server opens it."""

from dataclasses import replace
from pathlib import Path

from headgate.app.deployment import open_deployment
from headgate.app.settings.settings import default_settings
from headgate.facts.ids import PrincipalId
from tools.bypass_corpus.organization_setup import found_atomic, join
from tools.bypass_corpus.privileges import everything, hold


def test_a_model_that_is_not_shipped_is_in_force_through_its_stored_source(tmp_path: Path) -> None:
    settings = replace(default_settings({}), folder=tmp_path)
    found_atomic(settings)

    deployment = open_deployment(settings)

    assert deployment.home.control.model.name == "atomic"
    assert deployment.home.control.snapshot.find(["lake"])
    deployment.close()


def test_a_user_holds_exactly_the_rights_of_the_last_grant(tmp_path: Path) -> None:
    settings = replace(default_settings({}), folder=tmp_path)
    found_atomic(settings)
    deployment = open_deployment(settings)
    control = deployment.home.control
    join(control, "ann")

    hold(control, "ann", everything(control))
    many = control.snapshot.revision
    hold(control, "ann", everything(control))

    assert control.snapshot.revision == many
    hold(control, "ann", ())
    assert not control.snapshot.assignments.get(PrincipalId("ann"))
    deployment.close()
