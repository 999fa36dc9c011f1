"""The location of the warehouse is a setting, and its credentials are available to the server alone."""

from pathlib import Path

import pytest

from headgate.app.http.lakes import warehouse_of
from headgate.app.settings.settings import SettingsError, default_settings
from headgate.facts.ids import ResourceId

BUCKET = {
    "HEADGATE_SPARK": "0",
    "HEADGATE_WAREHOUSE": "s3://bucket/lake/",
    "HEADGATE_S3_ENDPOINT": "http://127.0.0.1:1",
    "HEADGATE_S3_ACCESS_KEY": "of-the-key",
    "HEADGATE_S3_SECRET_KEY": "of-the-secret",
}
ACME, DATABASE, TABLE = ResourceId("acme"), ResourceId("d1"), ResourceId("t1")


def test_the_warehouse_is_in_the_data_folder_unless_a_bucket_is_set(tmp_path: Path) -> None:
    folder = warehouse_of(default_settings({}, folder=tmp_path), ACME)
    bucket = warehouse_of(default_settings(BUCKET, folder=tmp_path), ACME)

    assert folder.location(DATABASE, TABLE) == f"file://{tmp_path}/warehouse/acme/d1/t1"
    assert bucket.location(DATABASE, TABLE) == "s3://bucket/lake/acme/d1/t1"


def test_the_representation_of_the_settings_shows_no_key(tmp_path: Path) -> None:
    settings = default_settings(BUCKET, folder=tmp_path)

    assert settings.s3.properties["s3.secret-access-key"] == "of-the-secret"
    assert "of-the" not in repr(settings)


@pytest.mark.parametrize("place", ["/srv/lake", "s3:/bucket", "s3://", "s3://bucket/a b", "s3://bucket/?x"])
def test_an_invalid_warehouse_location_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(SettingsError, match="s3://bucket/prefix"):
        default_settings({**BUCKET, "HEADGATE_WAREHOUSE": place}, folder=tmp_path)


def test_a_warehouse_in_a_bucket_requires_spark_to_be_disabled(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="HEADGATE_SPARK=0"):
        default_settings({**BUCKET, "HEADGATE_SPARK": "1"}, folder=tmp_path)
