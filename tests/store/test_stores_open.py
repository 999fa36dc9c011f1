"""Opening a store: each refusal is one sentence with the next step."""

from pathlib import Path

import pytest

from headgate.control.kernel.ports import StoreError
from headgate.store import FILE, open_stores
from tests.store.tampered_store import run


def test_another_schema_version_is_refused(lasting: str | Path) -> None:
    open_stores(lasting).close()
    run(lasting, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StoreError, match="schema version 9999"):
        open_stores(lasting)


def test_another_schema_version_from_before_migrations_is_refused(tmp_path: Path) -> None:
    run(tmp_path, "CREATE TABLE meta (id INTEGER, schema_version INTEGER)", "INSERT INTO meta VALUES (1, 7)")

    with pytest.raises(StoreError, match="schema version 7"):
        open_stores(tmp_path)


def test_a_store_without_a_version_is_refused(lasting: str | Path) -> None:
    open_stores(lasting).close()
    run(lasting, "DELETE FROM alembic_version")

    with pytest.raises(StoreError, match="schema version None"):
        open_stores(lasting)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"something else entirely" * 100)

    with pytest.raises(StoreError, match="restore a backup"):
        open_stores(tmp_path)


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    run(tmp_path, "CREATE TABLE cookies (id INTEGER)")

    with pytest.raises(StoreError, match="not a store of Headgate"):
        open_stores(tmp_path)


HOOKS = {
    "trigger": "CREATE TRIGGER back AFTER DELETE ON documents BEGIN"
    " INSERT INTO documents VALUES (old.log_id, old.kind, old.id, old.body); END",
    "view": "CREATE VIEW back AS SELECT * FROM documents",
}


@pytest.mark.parametrize("hook", HOOKS)
def test_a_file_that_changes_rows_by_itself_is_refused(tmp_path: Path, hook: str) -> None:
    open_stores(tmp_path).close()
    run(tmp_path, HOOKS[hook])

    with pytest.raises(StoreError, match="has the trigger, rule or view `back`"):
        open_stores(tmp_path)


SERVER_HOOKS = {
    "trigger": "CREATE FUNCTION back() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    " CREATE TRIGGER back BEFORE DELETE ON documents FOR EACH ROW EXECUTE FUNCTION back()",
    "rule": "CREATE RULE back AS ON DELETE TO documents DO INSTEAD NOTHING",
    "view": "CREATE VIEW back AS SELECT * FROM documents",
}


@pytest.mark.parametrize("hook", SERVER_HOOKS)
def test_a_server_database_that_changes_rows_by_itself_is_refused(empty_postgres_url: str, hook: str) -> None:
    open_stores(empty_postgres_url).close()
    run(empty_postgres_url, SERVER_HOOKS[hook])

    with pytest.raises(StoreError, match="has the trigger, rule or view `back`"):
        open_stores(empty_postgres_url)


def test_a_server_database_of_something_else_is_refused(empty_postgres_url: str) -> None:
    run(empty_postgres_url, "CREATE TABLE cookies (id INTEGER)")

    with pytest.raises(StoreError, match="not a store of Headgate"):
        open_stores(empty_postgres_url)


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="choose another"):
        open_stores(tmp_path / "file" / "folder")


def test_a_database_path_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()

    with pytest.raises(StoreError):
        open_stores(tmp_path)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://root@localhost/x", "a store in a database of the kind `mysql` is not supported"),
        ("postgresql://host:port/x", "the URL of the store is malformed"),
        ("nonsense://", "a store in a database of the kind `nonsense` is not supported"),
    ],
)
def test_a_url_of_something_else_is_refused(url: str, sentence: str) -> None:
    with pytest.raises(StoreError, match=sentence):
        open_stores(url)


def test_a_server_that_is_not_there_is_named_without_its_password(free_port: int) -> None:
    with pytest.raises(StoreError, match=r"postgresql://anna:\*\*\*@127.0.0.1") as refused:
        open_stores(f"postgresql://anna:secret@127.0.0.1:{free_port}/x")

    assert "secret" not in str(refused.value)
