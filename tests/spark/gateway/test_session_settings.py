"""Settings of a session: what a builder cannot set becomes a warning."""

import pytest

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.text_lengths import MAX_SETTINGS
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.session_bindings import HANDLE_KEY, PRINCIPAL_KEY
from headgate.spark.gateway.session_settings import (
    add_warnings,
    count_own_settings,
    drop_refused_settings,
)

ZONE = "spark.sql.session.timeZone"


def setting(*keys: str, silent: bool = True) -> base.ConfigRequest:
    pairs = [base.KeyValue(key=key, value="x") for key in keys]
    return base.ConfigRequest(
        operation=base.ConfigRequest.Operation(set=base.ConfigRequest.Set(pairs=pairs, silent=silent))
    )


class TestASilentRequest:
    def test_refused_keys_are_left_out_with_a_warning_each(self) -> None:
        request = setting("spark.executor.memory", ZONE, "spark.jars.packages", PRINCIPAL_KEY, HANDLE_KEY)

        warnings = drop_refused_settings(request)

        assert [pair.key for pair in request.operation.set.pairs] == [ZONE]
        assert warnings[0] == (
            "the configuration key `spark.executor.memory` cannot be changed by users; leave it unchanged, or ask the operator"
        )
        assert len(warnings) == 4

    def test_a_value_out_of_range_is_left_out_with_a_warning(self) -> None:
        request = setting("spark.sql.broadcastTimeout")

        assert "set a number from 1 to 1800" in drop_refused_settings(request)[0]
        assert not request.operation.set.pairs


def test_another_request_is_left_as_it_is() -> None:
    request = setting("spark.executor.memory", silent=False)

    assert drop_refused_settings(request) == ()
    assert [pair.key for pair in request.operation.set.pairs] == ["spark.executor.memory"]


def test_the_warnings_are_added_to_those_of_spark() -> None:
    sent = base.ConfigResponse(warnings=["of Spark"]).SerializeToString()

    answer = add_warnings(sent, ("of Headgate",))

    assert list(base.ConfigResponse.FromString(answer).warnings) == ["of Spark", "of Headgate"]


def test_a_session_has_at_most_100_keys_of_its_own() -> None:
    known = {f"my.{number}" for number in range(99)}

    count_own_settings(setting("my.5", "my.last", ZONE), known)
    with pytest.raises(RequestRefusedError, match="more than 100 configuration keys of its own"):
        count_own_settings(setting("my.further"), known)


def test_a_request_with_too_many_settings_is_left_to_the_check_of_its_size() -> None:
    request = setting(*(f"spark.x{number}" for number in range(MAX_SETTINGS + 1)))

    assert drop_refused_settings(request) == ()
    assert len(request.operation.set.pairs) == MAX_SETTINGS + 1


def test_a_warning_shows_the_beginning_of_a_long_key() -> None:
    [warning] = drop_refused_settings(setting("spark." + "x" * 5000))

    assert len(warning) < 400


def test_a_key_that_is_unset_is_not_counted_any_more() -> None:
    known = {"my.a"}
    unset = base.ConfigRequest.Unset(keys=["my.a"])

    count_own_settings(base.ConfigRequest(operation=base.ConfigRequest.Operation(unset=unset)), known)

    assert known == set()
