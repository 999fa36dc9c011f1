"""Commands and streams: targets of writes, requests that the gateway rewrites, and requests that it analyses first."""

from typing import Any

import pytest

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.rpcs import EXECUTE_PLAN
from tests.spark.gateway.admission_cases import (
    ANN,
    RUN,
    SESSION,
    a_range,
    a_table,
    admit_as,
    base,
    commands,
    relations,
    try_command,
    try_relation,
)


class TestWrites:
    def test_a_write_to_a_table_passes(self) -> None:
        try_command(write_operation={"input": a_range(), "table": {"table_name": "lake.trusted.t"}, "mode": 1})
        try_command(write_operation_v2={"input": a_range(), "table_name": "lake.trusted.t", "provider": "iceberg"})

    @pytest.mark.parametrize(
        "fields",
        [
            {"path": "/x"},
            {},
            {"table": {"table_name": "lake.`/x`"}},
            {"table": {"table_name": "t"}, "source": "jdbc"},
            {"table": {"table_name": "t"}, "options": {"path": "/x"}},
            {"table": {"table_name": "t"}, "options": {"write.data.path": "audit"}},
        ],
        ids=str,
    )
    def test_a_write_to_a_path_or_another_source_is_refused(self, fields: dict[str, Any]) -> None:
        with pytest.raises(RequestRefusedError):
            try_command(write_operation={"input": a_range(), **fields})

    @pytest.mark.parametrize("source", ["csv", "json", "parquet", "text"])
    def test_a_run_writes_files_below_its_declared_path(self, source: str) -> None:
        written = {
            "input": a_range(),
            "source": source,
            "path": "file:/tray/out",
            "mode": 2,
            "partitioning_columns": ["a"],
        }
        try_command(RUN, write_operation={**written, "options": {"compression": "gzip", "header": "true"}})

        with pytest.raises(RequestRefusedError, match=r"writing to a path \(`WriteOperation\.path`\) is not allowed"):
            try_command(ANN, write_operation=written)

    @pytest.mark.parametrize(
        "fields",
        [
            {"path": "file:/drop/out"},
            {"path": "file:/tray/../out"},
            {"path": "file:/tray/*"},
            {"source": ""},
            {"source": "orc"},
            {"source": "iceberg"},
            {"source": "jdbc"},
            {"source": "org.apache.spark.sql.execution.datasources.csv.CSVFileFormat"},
            {"options": {"path": "/x"}},
            {"options": {"compression": "org.example.Codec"}},
            {"options": {"partitionOverwriteMode": "dynamic"}},
            {"sort_column_names": ["a"]},
            {"bucket_by": {"bucket_column_names": ["a"], "num_buckets": 2}},
        ],
        ids=str,
    )
    def test_a_run_writes_no_file_elsewhere_or_with_unlisted_options(self, fields: dict[str, Any]) -> None:
        with pytest.raises(RequestRefusedError):
            try_command(
                RUN,
                write_operation={"input": a_range(), "source": "csv", "path": "file:/tray/out", "mode": 2, **fields},
            )

    @pytest.mark.parametrize(
        "key", ["location", "path", "write.data.path", "write.metadata.path", "current-snapshot-id"]
    )
    def test_a_table_property_that_names_a_location_is_refused(self, key: str) -> None:
        table = {"input": a_range(), "table_name": "lake.trusted.t", "table_properties": {key: "/x"}}

        with pytest.raises(RequestRefusedError):
            try_command(write_operation_v2=table)

    @pytest.mark.parametrize(
        "command",
        [
            {"register_function": {"java_udf": {"class_name": "x"}}},
            {"create_dataframe_view": {"input": a_range(), "name": "v", "is_global": True}},
            {"execute_external_command": {"runner": "x"}},
            {"ml_command": {"create_summary": {}}},
            {"pipeline_command": {"create_dataflow_graph": {"sql_conf": {"spark.sql.catalog.evil": "x.Y"}}}},
            {"pipeline_command": {"define_output": {"output_name": "t"}}},
            {"pipeline_command": {"define_flow": {"flow_name": "t"}}},
            {"pipeline_command": {"define_sql_graph_elements": {"sql_text": "SELECT 1"}}},
            {"pipeline_command": {"start_run": {"storage": "file:/x"}}},
            {"pipeline_command": {"extension": {"type_url": "type.googleapis.com/x.Y"}}},
            {"streaming_query_manager_command": {"add_listener": {"id": "x"}}},
            {"streaming_query_manager_command": {"list_listeners": True}},
            {"streaming_query_listener_bus_command": {"add_listener_bus_listener": True}},
            {"extension": {"type_url": "type.googleapis.com/x.Y"}},
            {"get_resources_command": {}},
        ],
        ids=str,
    )
    def test_commands_that_are_not_listed_are_refused(self, command: dict[str, Any]) -> None:
        with pytest.raises(RequestRefusedError):
            try_command(**command)


class TestStreams:
    @pytest.mark.parametrize(
        "fields",
        [
            {"table_name": "lake.raw.t", "options": {"fanout-enabled": "true"}, "available_now": True},
            {"table_name": "lake.raw.t", "format": "iceberg"},
            {"format": "memory", "query_name": "q", "output_mode": "complete"},
            {"format": "noop", "processing_time_interval": "1 second"},
        ],
        ids=str,
    )
    def test_a_stream_into_a_table_or_the_memory_of_the_session_passes(self, fields: dict[str, Any]) -> None:
        try_command(write_stream_operation_start={"input": a_range(), **fields})

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"format": "console", "options": {"path": "/x"}},
            {"format": "console", "path": "/x"},
            {"format": "parquet", "path": "/x"},
            {"format": "kafka", "options": {"topic": "x"}},
            {"format": "memory", "query_name": "../x"},
            {"format": "jdbc", "table_name": "lake.raw.t"},
            {"table_name": "lake.`/x`"},
            {"table_name": "lake.raw.t", "path": "/x"},
            {"table_name": "lake.raw.t", "options": {"checkpointLocation": "/x"}},
            {"table_name": "lake.raw.t", "options": {"path": "/x"}},
            {"format": "noop", "continuous_checkpoint_interval": "1 second"},
            {"foreach_batch": {"python_function": {"command": b"x"}}},
            {"foreach_writer": {"python_function": {"command": b"x"}}},
        ],
        ids=str,
    )
    def test_a_stream_into_any_other_sink_is_refused(self, fields: dict[str, Any]) -> None:
        with pytest.raises(RequestRefusedError):
            try_command(write_stream_operation_start={"input": a_range(), **fields})

    def test_commands_that_manage_a_running_stream_pass(self) -> None:
        query = {"id": SESSION, "run_id": SESSION}

        for command in ({"status": True}, {"stop": True}, {"explain": {"extended": True}}, {"await_termination": {}}):
            try_command(streaming_query_command={"query_id": query, **command})
        for command in ({"active": True}, {"get_query": SESSION}, {"await_any_termination": {}}):
            try_command(streaming_query_manager_command=command)


class TestRewrites:
    def test_clearing_the_cache_becomes_sql(self) -> None:
        assert try_relation(catalog={"clear_cache": {}}).plan.root.sql.query == "CLEAR CACHE"

    def test_a_stream_to_the_console_is_discarded(self) -> None:
        start = {"input": a_range(), "format": "Console", "options": {"truncate": "false", "numRows": "5"}}

        started = try_command(write_stream_operation_start=start).plan.command.write_stream_operation_start

        assert (started.format, dict(started.options)) == ("noop", {})

    def test_setting_the_current_catalog_or_database_becomes_sql(self) -> None:
        database = try_relation(catalog={"set_current_database": {"db_name": "lake.`se``cret`"}})
        catalog = try_relation(catalog={"set_current_catalog": {"catalog_name": "lake"}})

        assert database.plan.root.sql.query == "USE lake.`se``cret`"
        assert catalog.plan.root.sql.query == "SET CATALOG lake"

    def test_a_separately_named_database_is_resolved_in_the_current_catalog(self) -> None:
        for call in ("get_table", "list_columns", "table_exists"):
            looked = try_relation(catalog={call: {"db_name": "raw", "table_name": "a`.b"}}).plan.root.catalog

            assert getattr(looked, call).table_name == "raw.`a``.b`"
            assert not getattr(looked, call).HasField("db_name")

    def test_an_iceberg_table_that_is_loaded_by_name_is_read_by_name(self) -> None:
        loaded = try_relation(
            read={"data_source": {"format": "iceberg", "paths": ["lake.raw.t"], "options": {"snapshot-id": "1"}}}
        )

        assert loaded.plan.root.read == a_table("lake.raw.t", **{"snapshot-id": "1"})

    def test_rows_that_are_saved_to_an_iceberg_table_by_name_are_written_to_it(self) -> None:
        written = {"input": a_range(), "source": "iceberg", "path": "lake.raw.t"}
        append = try_command(write_operation={**written, "mode": 1}).plan.command.write_operation_v2
        overwrite = try_command(write_operation={**written, "mode": 2}).plan.command.write_operation_v2

        assert (append.table_name, append.mode) == ("lake.raw.t", commands.WriteOperationV2.MODE_APPEND)
        assert overwrite.mode == commands.WriteOperationV2.MODE_OVERWRITE
        assert overwrite.overwrite_condition.literal.boolean
        for other in (
            {"path": "/x", "mode": 1},
            {"mode": 3},
            {"source": "parquet", "mode": 1},
            {"mode": 1, "sort_column_names": ["a"]},
        ):
            with pytest.raises(RequestRefusedError):
                try_command(write_operation={**written, **other})


class TestUnseen:
    """The gateway first analyses a request that Spark would skip or answer without the guard."""

    @staticmethod
    def unseen(**fields: Any) -> list[Any]:
        plan = base.Plan(**fields)
        request = base.ExecutePlanRequest(session_id=SESSION, plan=plan)
        return admit_as(ANN, EXECUTE_PLAN, request.SerializeToString()).references.unseen

    @staticmethod
    def probes(**fields: Any) -> list[Any]:
        request = base.ExecutePlanRequest(session_id=SESSION, plan=base.Plan(**fields))
        return admit_as(ANN, EXECUTE_PLAN, request.SerializeToString()).references.probes

    @classmethod
    def unseen_in(cls, root: Any, *references: Any) -> list[Any]:
        return cls.unseen(root={"with_relations": {"root": root, "references": references}})

    def test_an_unused_reference_is_analysed_first(self) -> None:
        table = relations.Relation(common={"plan_id": 7}, read=a_table())
        subquery = {"subquery_expression": {"plan_id": 7, "subquery_type": 1}}
        used = relations.Relation(filter={"input": a_range(), "condition": subquery})

        assert self.unseen_in(a_range(), table) == [table]
        assert self.unseen_in(used, table) == []

    def test_a_reference_without_an_id_or_a_used_name_is_analysed_first(self) -> None:
        nameless = relations.Relation(read=a_table())
        named = relations.Relation(subquery_alias={"input": nameless, "alias": "t"})
        sql = relations.Relation(sql={"query": "SELECT * FROM t"})

        assert self.unseen_in(a_range(), nameless) == [nameless]
        assert self.unseen_in(sql, named) == []
        assert self.unseen_in(sql, named, nameless) == [named, nameless]

    def test_an_append_to_a_table_is_analysed_first(self) -> None:
        def saved(name: str, mode: int) -> list[Any]:
            written = {"input": a_range(), "mode": mode, "table": {"table_name": name, "save_method": 1}}
            return self.probes(command={"write_operation": written})

        append, overwrite = commands.WriteOperation.SAVE_MODE_APPEND, commands.WriteOperation.SAVE_MODE_OVERWRITE

        assert [each.sql.query for each in saved("lake.`a b`", append)] == ["EXPLAIN INSERT INTO lake.`a b` VALUES (1)"]
        assert saved("lake.t", overwrite) == []
        with pytest.raises(RequestRefusedError, match="is not a name of a table, database or catalog"):
            saved("t VALUES (2) --", append)

    def test_a_request_with_too_many_unused_references_is_refused(self) -> None:
        with pytest.raises(RequestRefusedError, match="DataFrames that it does not use"):
            self.unseen_in(a_range(), *[a_range()] * 21)

    def test_a_dataflow_graph_needs_the_right_to_create_a_table_in_its_database(self) -> None:
        graph = {"create_dataflow_graph": {"default_catalog": "lake", "default_database": "se`cret"}}

        queries = [query.sql.query for query in self.probes(command={"pipeline_command": graph})]

        assert queries == ["EXPLAIN CREATE TABLE `lake`.`se``cret`.`t` (x INT)"]
