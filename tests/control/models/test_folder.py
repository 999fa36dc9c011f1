from pathlib import Path

import pytest

from headgate.control.deployment.bootstrap import open_organizations
from headgate.control.kernel.ports import StoreError
from headgate.control.models.commands import InstallModel, RemoveModel
from headgate.control.models.folder import install_folder
from headgate.control.models.installations import list_installed, require_installed
from headgate.control.models.library import load_source
from headgate.control.organizations.organization import Organizations
from tests.control.models.model_files import harbour
from tests.fakes.store import FakeStores


@pytest.fixture
def organizations() -> Organizations:
    return open_organizations(FakeStores(), lambda: 1.0, "nekt")


def install(organizations: Organizations, folder: Path) -> None:
    install_folder(organizations.deployment.control, folder)


def test_every_model_file_of_a_folder_is_installed_once(organizations: Organizations, tmp_path: Path) -> None:
    (tmp_path / "harbour.yaml").write_text(harbour(1))
    (tmp_path / "notes.txt").write_text("no model")

    install(organizations, tmp_path)
    revision = organizations.deployment.control.snapshot.revision
    install(organizations, tmp_path)

    assert not list_installed(organizations.deployment.control.snapshot)["harbour"].is_shipped
    assert organizations.deployment.control.snapshot.revision == revision


def test_a_changed_file_with_the_next_version_is_installed(organizations: Organizations, tmp_path: Path) -> None:
    for source in (harbour(1), harbour(2, "insert")):
        (tmp_path / "harbour.yaml").write_text(source)
        install(organizations, tmp_path)

    facts = organizations.deployment.control.snapshot
    assert require_installed(facts, organizations.models, "harbour").model.version == 2


def test_a_start_does_not_bring_back_a_version_that_an_operator_replaced_or_a_removed_model(
    organizations: Organizations, tmp_path: Path
) -> None:
    (tmp_path / "harbour.yaml").write_text(harbour(1))
    install(organizations, tmp_path)
    control = organizations.deployment.control
    control.execute(InstallModel(load_source(harbour(2, "insert"), "harbour.yaml")), None)

    install(organizations, tmp_path)
    assert require_installed(control.snapshot, organizations.models, "harbour").model.version == 2
    control.execute(RemoveModel("harbour"), None)
    install(organizations, tmp_path)
    assert "harbour" not in list_installed(control.snapshot)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (harbour(1).replace("holder: master", "holder: mister"), r"harbour.yaml:\d+:\d+"),
        (harbour(1).replace("model: harbour", "model: deployment"), "the name `deployment`"),
    ],
)
def test_a_folder_with_a_wrong_model_is_refused(
    organizations: Organizations, tmp_path: Path, source: str, message: str
) -> None:
    (tmp_path / "harbour.yaml").write_text(source)

    with pytest.raises(StoreError, match=f"has a model that cannot be installed: .*{message}"):
        install(organizations, tmp_path)


def test_a_file_that_is_not_text_is_refused(organizations: Organizations, tmp_path: Path) -> None:
    (tmp_path / "harbour.yaml").write_bytes(b"\xff\xfe")

    with pytest.raises(StoreError, match="the folder of access models"):
        install(organizations, tmp_path)


def test_a_missing_folder_is_refused(organizations: Organizations, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        install(organizations, tmp_path / "nosuch")
