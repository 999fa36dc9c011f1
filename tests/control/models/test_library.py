import pytest

from headgate.control.kernel.ports import DocumentPut, StoreError
from headgate.control.models.library import ModelLibrary, is_model, load_source
from headgate.control.models.shipped_models import shipped_model
from headgate.facts.changes import GovernedBy, ModelUpgraded, OrganizationCreated, ResourceCreated
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.diagnostics import ModelError
from headgate.model.language_versions import OLDEST
from tests.control.models.model_files import harbour
from tests.fakes.store import FakeStores

ROOT, PROJECT = ResourceId("o"), ResourceId("p")
ONE, TWO = load_source(harbour(1), "harbour.yaml"), load_source(harbour(2, "insert"), "harbour.yaml")


@pytest.fixture
def stores() -> FakeStores:
    """Stores with both versions of the model `harbour` in the deployment's log."""
    stores = FakeStores()
    for each in (ONE, TWO):
        stores.log(ResourceId("deployment")).put_document(each.document)
    return stores


def test_the_library_finds_a_stored_source_by_its_hash(stores: FakeStores) -> None:
    assert ModelLibrary(stores).find(ONE.model.hash) == ONE
    assert ModelLibrary(stores).find("0" * 64) is None


def test_the_library_finds_an_added_model_before_its_source_is_stored() -> None:
    library = ModelLibrary(FakeStores())

    library.add(ONE)
    assert library.find(ONE.model.hash) == ONE


def test_the_library_does_not_find_a_source_under_the_hash_of_another_one(stores: FakeStores) -> None:
    stores.log(ROOT).put_document(DocumentPut("model", "1" * 64, {"name": "harbour", "source": harbour(1)}))

    assert ModelLibrary(stores).find("1" * 64) is None


def test_every_model_decides_in_the_version_that_the_log_states(stores: FakeStores) -> None:
    stores.log(ROOT).put_document(shipped_model("nekt").document)
    facts = fold(Snapshot(), [OrganizationCreated(ROOT, "harbour", ONE.model.hash)], 1)
    project = ResourceCreated(PROJECT, "project", ROOT, "shop")
    governed = fold(facts, [project, GovernedBy(PROJECT, "nekt", shipped_model("nekt").model.hash)], 2)
    upgraded = fold(governed, [ModelUpgraded("harbour", TWO.model.hash)], 3)

    library = ModelLibrary(stores)
    assert [each.version for each in library.in_force(facts).values()] == [1]
    assert set(library.in_force(governed)) == {"harbour", "nekt"}
    assert library.in_force(upgraded)["harbour"] == TWO.model


def test_an_organization_with_a_model_that_is_not_stored_is_refused() -> None:
    facts = fold(Snapshot(), [OrganizationCreated(ROOT, "harbour", ONE.model.hash)], 1)

    with pytest.raises(StoreError, match="the access model `harbour` that this deployment does not have"):
        ModelLibrary(FakeStores()).in_force(facts)


def test_a_source_with_mistakes_is_no_model() -> None:
    wrong = harbour(1).replace("holder: master", "holder: mister")

    assert is_model(harbour(1))
    assert not is_model(wrong)
    with pytest.raises(ModelError, match=r"harbour\.yaml:"):
        load_source(wrong, "harbour.yaml")


def test_a_stored_model_with_a_mistake_of_a_later_language_version_is_found(stores: FakeStores) -> None:
    source = harbour(1) + "\nneeds:\n  table.select:\n    - when: self.knid is grain\n"
    stored = load_source(source, "harbour.yaml", OLDEST)
    stores.log(ROOT).put_document(stored.document)

    found = ModelLibrary(stores).find(stored.model.hash)
    assert found is not None
    assert found.model.needs["table.select"][0].when[0].name == "knid"
    with pytest.raises(ModelError, match="HG-M210"):
        load_source(source, "harbour.yaml")
