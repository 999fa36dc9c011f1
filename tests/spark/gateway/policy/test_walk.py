"""The gateway lets only listed content pass: messages, fields, names, paths, options, keys, schemas."""

from contextlib import nullcontext
from typing import Any

import pytest
import zstandard
from google.protobuf import message_factory
from google.protobuf.message import Message

from headgate.spark.gateway.admission import build_inspector
from headgate.spark.gateway.errors import InvalidRequestError, RequestRefusedError
from headgate.spark.gateway.policy.walk import MAX_DEPTH
from headgate.spark.gateway.rpcs import ADD_ARTIFACTS, ANALYZE_PLAN, CONFIG_RPC, EXECUTE_PLAN
from tests.spark.gateway.admission_cases import (
    ANN,
    IN_THE_DROP,
    RUN,
    SESSION,
    UDT,
    a_range,
    a_table,
    admit_as,
    base,
    commands,
    files,
    relations,
    try_command,
    try_config,
    try_relation,
)


class TestUnknown:
    def test_an_unknown_field_is_refused_at_any_depth(self) -> None:
        plain = base.ExecutePlanRequest(session_id=SESSION, plan=base.Plan(root=a_range()))
        unknown = b"\xfa\xff\x03\x01x"  # field 8191, one byte of content
        relation = relations.Relation.FromString(a_range().SerializeToString() + unknown)

        with pytest.raises(RequestRefusedError, match="`ExecutePlanRequest` has a field that Headgate does not know"):
            admit_as(ANN, EXECUTE_PLAN, plain.SerializeToString() + unknown)
        with pytest.raises(RequestRefusedError, match="`Relation` has a field that Headgate does not know"):
            try_relation(limit=relations.Limit(input=relation))

    def test_an_unknown_value_of_an_enumeration_is_refused(self) -> None:
        join = relations.Join(left=a_range(), right=a_range(), join_type=99)

        with pytest.raises(RequestRefusedError, match=r"`Join\.join_type`"):
            try_relation(join=join)

    def test_bytes_that_are_no_message_are_an_invalid_request(self) -> None:
        with pytest.raises(InvalidRequestError):
            admit_as(ANN, EXECUTE_PLAN, b"\xff\xff")


def filtered_by(number: str) -> dict[str, Any]:
    """Return a relation whose filter is a decimal number."""
    return {"filter": relations.Filter(input=a_range(), condition={"literal": {"decimal": {"value": number}}})}


class TestDecimals:
    """Spark writes out all digits of a decimal number when it reads the message."""

    @pytest.mark.parametrize("number", ["1e100000000", "-1E+100000000", "1e-100000000", "1e1001", "1" * 1001])
    def test_a_number_of_many_digits_is_refused(self, number: str) -> None:
        with pytest.raises(RequestRefusedError, match="more than 1,000 digits"):
            try_relation(**filtered_by(number))

    @pytest.mark.parametrize("number", ["1e38", "0E-18", "-1.50", "9" * 38, "1E+0000000038"])
    def test_a_number_of_few_digits_passes(self, number: str) -> None:
        try_relation(**filtered_by(number))


LONG_TEXTS = {
    "a client type": (EXECUTE_PLAN, {"client_type": "x" * 2049}),
    "a client type of an upload": (ADD_ARTIFACTS, {"client_type": "x" * 2049}),
    "a session that the client saw": (ANALYZE_PLAN, {"client_observed_server_side_session_id": "x" * 2049}),
    "a name of the client's": (EXECUTE_PLAN, {"user_context": {"user_name": "x" * 2049}}),
    "many tags": (EXECUTE_PLAN, {"tags": ["t"] * 65}),
    "a value of a setting": (
        CONFIG_RPC,
        {"operation": {"set": {"pairs": [{"key": "spark.sql.session.timeZone", "value": "x" * 2049}]}}},
    ),
    "many keys": (CONFIG_RPC, {"operation": {"get": {"keys": ["spark.sql.session.timeZone"] * 257}}}),
}


class TestTextsOutsideOfAPlan:
    """A request with large texts outside of a plan would be slow, and calls that are sent later would overtake it."""

    @pytest.mark.parametrize("what", LONG_TEXTS)
    def test_overlong_texts_outside_of_a_plan_are_refused(self, what: str) -> None:
        rpc, fields = LONG_TEXTS[what]

        with pytest.raises(RequestRefusedError, match=r"is longer than|has more than"):
            admit_as(ANN, rpc, rpc.request(session_id=SESSION, **fields).SerializeToString())

    def test_texts_of_the_usual_length_pass(self) -> None:
        request = base.ExecutePlanRequest(session_id=SESSION, client_type="x" * 2048, tags=["t"] * 64)

        assert admit_as(ANN, EXECUTE_PLAN, request.SerializeToString()).request.client_type == "x" * 2048

    def test_the_bounds_on_texts_do_not_apply_within_a_plan(self) -> None:
        pairs = [{"integer": each} for each in range(300)]
        statement = "SELECT 1 -- " + "x" * 100_000

        try_relation(sql=relations.SQL(query=statement, pos_args=[{"map": {"keys": pairs, "values": pairs}}]))


STACK = {"stack_trace": [{"declaring_class": "x.Y", "method_name": "m", "file_name": "/etc/passwd", "line_number": 1}]}
"""What a Scala or Java client says about the place of a column in its code."""


def projected(function: dict[str, Any], origin: Any = None) -> Any:
    """Return the query that the gateway would forward, of a function in one column with this origin."""
    column = {"unresolved_function": {"function_name": "upper", **function}, "common": {"origin": origin or {}}}
    found = try_relation(project=relations.Project(input=a_range(), expressions=[column]))
    return found.plan.root.project.expressions[0]


class TestScalaAndJavaClients:
    """The JDBC driver sends more than PySpark: the place of each column in its code, and what a function is not."""

    @pytest.mark.parametrize(
        "origin", [{"jvm_origin": STACK}, {"jvm_origin": {"line": -1, "object_type": "x" * 10_000}}]
    )
    def test_the_place_in_the_code_of_a_java_client_does_not_reach_the_driver(self, origin: dict[str, Any]) -> None:
        sent = projected({}, origin)

        assert not sent.common.origin.HasField("jvm_origin")
        assert b"x.Y" not in sent.SerializeToString()

    def test_the_place_in_the_code_of_a_relation_does_not_reach_the_driver(self) -> None:
        common = {"plan_id": 7, "origin": {"jvm_origin": STACK}}
        sent = try_relation(common=common, range=relations.Range(end=1, step=1)).plan.root

        assert (sent.common.plan_id, sent.common.origin.HasField("jvm_origin")) == (7, False)

    def test_the_place_in_the_code_of_a_python_client_is_kept(self) -> None:
        assert projected({}, {"python_origin": {"fragment": "col"}}).common.origin.python_origin.fragment == "col"

    def test_a_field_beside_the_place_in_the_code_is_refused_if_headgate_does_not_know_it(self) -> None:
        origin = base.DESCRIPTOR.pool.FindMessageTypeByName("spark.connect.Origin")
        unknown = message_factory.GetMessageClass(origin).FromString(b"\xfa\xff\x03\x01x")

        with pytest.raises(RequestRefusedError, match="`Origin` has a field that Headgate does not know"):
            projected({}, unknown)

    def test_a_function_may_be_marked_as_public_but_not_as_internal(self) -> None:
        assert not projected({"is_internal": False}).unresolved_function.HasField("is_internal")

        with pytest.raises(RequestRefusedError, match="only Spark itself may call its internal functions"):
            projected({"is_internal": True})

    def test_the_code_of_a_java_client_is_refused(self) -> None:
        udf = {"common_inline_user_defined_function": {"function_name": "f", "scalar_scala_udf": {"payload": b"x"}}}

        with pytest.raises(RequestRefusedError, match="Headgate runs no code of users on Spark"):
            try_relation(project=relations.Project(input=a_range(), expressions=[udf]))


REFUSED_RELATIONS = {
    "user code": relations.Relation(map_partitions=relations.MapPartitions(input=a_range())),
    "user code per group": relations.Relation(group_map=relations.GroupMap(input=a_range())),
    "a refresh by path": relations.Relation(catalog={"refresh_by_path": {"path": "/x"}}),
    "a table at a path": relations.Relation(catalog={"create_table": {"table_name": "t", "path": "/x"}}),
    "the columns of a path": relations.Relation(catalog={"list_columns": {"table_name": "lake.`/warehouse/secret`"}}),
    "an extension": relations.Relation(extension={"type_url": "type.googleapis.com/x.Y"}),
    "nothing known": relations.Relation(unknown={}),
    "a path as a table": relations.Relation(read=a_table("lake.`file:/warehouse/x`")),
    "a path as an option": relations.Relation(read=a_table(path="/warehouse/secret")),
    "a table's path and its name": relations.Relation(
        read={"data_source": {"format": "iceberg", "paths": ["file:/warehouse/secret"]}}
    ),
    "a stream of files": relations.Relation(
        read={"is_streaming": True, "data_source": {"format": "text", "paths": [IN_THE_DROP]}}
    ),
    "a stream of a path": relations.Relation(
        read={"is_streaming": True, "data_source": {"format": "rate", "paths": [IN_THE_DROP]}}
    ),
    "a stream of a broker": relations.Relation(
        read={"is_streaming": True, "data_source": {"format": "kafka", "options": {"subscribe": "x"}}}
    ),
    "a catalog that is SQL": relations.Relation(catalog={"set_current_catalog": {"catalog_name": "lake; DROP"}}),
    "a database that is SQL": relations.Relation(catalog={"set_current_database": {"db_name": "a -- `"}}),
    "a table with options": relations.Relation(
        catalog={"create_table": {"table_name": "t", "options": {"location": "/x"}}}
    ),
    "a table of another format": relations.Relation(catalog={"create_table": {"table_name": "t", "source": "jdbc"}}),
    "a class in a schema": relations.Relation(local_relation={"schema": UDT}),
    "a class in a schema's text": relations.Relation(
        to_schema={"input": a_range(), "schema": {"unparsed": {"data_type_string": UDT}}}
    ),
    "a schema that cannot be read": relations.Relation(local_relation={"schema": '{"type": unreadable'}),
}


class TestRelations:
    def test_everyday_relations_pass(self) -> None:
        try_relation(read=a_table())
        try_relation(sql=relations.SQL(query="SELECT 1"))
        try_relation(catalog={"list_tables": {"db_name": "lake.raw"}})
        try_relation(local_relation={"schema": '{"type":"struct","fields":[]}'})
        try_relation(local_relation={"schema": "a STRING"})
        try_relation(read=a_table(versionAsOf="1"))
        try_relation(read={"is_streaming": True, "named_table": a_table().named_table})
        try_relation(read={"is_streaming": True, "data_source": {"format": "rate", "options": {"rowsPerSecond": "1"}}})
        try_relation(catalog={"create_table": {"table_name": "lake.raw.t", "source": "iceberg"}})

    @pytest.mark.parametrize("what", REFUSED_RELATIONS)
    def test_a_forbidden_relation_is_refused_at_any_depth(self, what: str) -> None:
        relation = REFUSED_RELATIONS[what]

        with pytest.raises(RequestRefusedError):
            try_relation(limit=relations.Limit(input=relation, limit=1))
        with pytest.raises(RequestRefusedError):
            try_relation(with_relations=relations.WithRelations(root=a_range(), references=[relation]))
        with pytest.raises(RequestRefusedError):
            try_command(sql_command=commands.SqlCommand(sql="SELECT 1", input=relation))

    def test_user_code_in_a_value_of_a_map_is_refused(self) -> None:
        udf = {"common_inline_user_defined_function": {"python_udf": {"command": b"x"}}}

        with pytest.raises(RequestRefusedError, match="Headgate runs no code of users on Spark"):
            try_relation(sql={"query": "SELECT :a", "named_arguments": {"a": udf}})


class TestFiles:
    def test_a_run_reads_the_files_that_it_declares(self) -> None:
        try_relation(RUN, read=files(options={"header": "true", "inferSchema": "true"}))

    def test_a_user_outside_a_run_reads_no_files(self) -> None:
        with pytest.raises(RequestRefusedError, match="only a run"):
            try_relation(ANN, read=files())

    @pytest.mark.parametrize(
        "fields",
        [
            {"paths": [IN_THE_DROP, "file:/warehouse/secret"]},
            {"paths": ["file:/drop/../warehouse"]},
            {"paths": ["file:/drop/{a,../../warehouse}"]},
            {"paths": []},
            {"format": "jdbc"},
            {"format": "org.apache.spark.sql.execution.datasources.csv.CSVFileFormat"},
            {"options": {"path": "file:/warehouse/secret"}},
            {"options": {"PATH": "file:/warehouse/secret"}},
            {"predicates": ["1 = 1"]},
            {"schema": UDT},
        ],
        ids=str,
    )
    def test_a_run_reads_no_undeclared_files_formats_or_options(self, fields: dict[str, Any]) -> None:
        with pytest.raises(RequestRefusedError):
            try_relation(RUN, read=files(**fields))


class TestConfig:
    def test_the_client_reads_listed_keys_and_changes_harmless_ones(self) -> None:
        try_config(get={"keys": ["spark.sql.session.timeZone", "spark.sql.timestampType"]})
        try_config(set={"pairs": [{"key": "spark.sql.session.timeZone", "value": "UTC"}]})
        try_config(unset={"keys": ["spark.sql.shuffle.partitions"]})

    @pytest.mark.parametrize(
        "key",
        [
            "headgate.principal.token",
            "spark.sql.catalog.evil",
            "spark.sql.catalog.lake.token-handle",
            "spark.sql.warehouse.dir",
            "spark.sql.streaming.checkpointLocation",
            "spark.sql.extensions",
            "fs.s3a.access.key",
            "SPARK.SQL.SESSION.TIMEZONE",
        ],
    )
    def test_an_unlisted_key_can_be_neither_read_nor_changed(self, key: str) -> None:
        harmless = "spark.sql.session.timeZone"
        for operation in (
            {"get": {"keys": [harmless, key]}},
            {"get_option": {"keys": [key]}},
            {"get_with_default": {"pairs": [{"key": harmless}, {"key": key, "value": "x"}]}},
            {"is_modifiable": {"keys": [key]}},
            {"set": {"pairs": [{"key": harmless, "value": "UTC"}, {"key": key, "value": "x"}]}},
            {"unset": {"keys": [key]}},
        ):
            with pytest.raises(RequestRefusedError, match=key):
                try_config(**operation)

    def test_reading_all_keys_at_once_is_refused(self) -> None:
        with pytest.raises(RequestRefusedError):
            try_config(get_all={})

    @pytest.mark.parametrize("key", ["my.a", "app.run.date", "run_date"])
    def test_a_key_of_ones_own_is_read_and_changed(self, key: str) -> None:
        try_config(set={"pairs": [{"key": key, "value": "x"}]})
        try_config(get_with_default={"pairs": [{"key": key, "value": "x"}]})
        try_config(unset={"keys": [key]})

    @pytest.mark.parametrize(
        ("key", "value", "is_allowed"),
        [
            ("spark.sql.files.maxPartitionBytes", "128MB", True),
            ("spark.sql.files.maxPartitionBytes", "134217728", True),
            ("spark.sql.files.maxPartitionBytes", "1k", False),
            ("spark.sql.broadcastTimeout", "600", True),
            ("spark.sql.broadcastTimeout", "600m", False),
            ("spark.sql.pivotMaxValues", "10001", False),
            ("spark.sql.session.timeZone", "x" * 1001, False),
            ("spark.sql.caseSensitive", "False", True),
            ("spark.sql.caseSensitive", "true", False),
            ("spark.sql.caseSensitive", " true", False),
            ("spark.sql.legacy.timeParserPolicy", "corrected", True),
            ("spark.sql.legacy.timeParserPolicy", "LEGACY", False),
            ("spark.sql.binaryOutputStyle", "HEX", True),
            ("spark.sql.binaryOutputStyle", "BASIC", False),
            ("spark.sql.shuffle.partitions", "10001", False),
        ],
    )
    def test_a_value_is_one_that_its_key_may_have(self, key: str, value: str, *, is_allowed: bool) -> None:
        with nullcontext() if is_allowed else pytest.raises(RequestRefusedError, match=key):
            try_config(set={"pairs": [{"key": key, "value": value}]})

    @pytest.mark.parametrize(
        "key",
        [
            "spark.sql.session.localRelationSizeLimit",
            "spark.sql.variable.substitute",
            "spark.sql.optimizer.excludedRules",
        ],
    )
    def test_a_read_only_key_is_read_and_cannot_be_changed(self, key: str) -> None:
        try_config(get={"keys": [key]})
        with pytest.raises(RequestRefusedError, match=key):
            try_config(unset={"keys": [key]})
        with pytest.raises(RequestRefusedError, match=key):
            try_config(set={"pairs": [{"key": key, "value": "x"}]})


class TestAnalyze:
    @pytest.mark.parametrize(
        "kind", ["schema", "explain", "tree_string", "is_local", "is_streaming", "input_files", "semantic_hash"]
    )
    def test_an_analysis_passes_and_its_plan_is_checked(self, kind: str) -> None:
        good, bad = base.Plan(root=a_range()), base.Plan(root=relations.Relation(unknown={}))

        self.try_kind(**{kind: {"plan": good}})
        with pytest.raises(RequestRefusedError):
            self.try_kind(**{kind: {"plan": bad}})

    @pytest.mark.parametrize("kind", ["persist", "unpersist", "get_storage_level"])
    def test_a_relation_in_a_cache_request_is_checked(self, kind: str) -> None:
        self.try_kind(**{kind: {"relation": a_range()}})
        with pytest.raises(RequestRefusedError):
            self.try_kind(**{kind: {"relation": relations.Relation(unknown={})}})

    def try_kind(self, **kind: Any) -> None:
        request = base.AnalyzePlanRequest(session_id=SESSION, **kind)
        admit_as(ANN, ANALYZE_PLAN, request.SerializeToString())


class TestArtifacts:
    NAME = "cache/" + "0" * 64

    def try_artifact(self, name: str, data: bytes, *, chunked: bool = False) -> None:
        chunk = {"data": data, "crc": 0}
        whole = {"batch": {"artifacts": [{"name": name, "data": chunk}]}}
        parts = {"begin_chunk": {"name": name, "initial_chunk": chunk}}
        request = base.AddArtifactsRequest(session_id=SESSION, **(parts if chunked else whole))
        admit_as(ANN, ADD_ARTIFACTS, request.SerializeToString())

    def test_artifacts_with_the_rows_and_schema_of_a_local_relation_pass(self) -> None:
        self.try_artifact(self.NAME, b"\xff\xff\xff\xffrows")
        self.try_artifact(self.NAME, b"\xff\xff\xff\xffrows", chunked=True)
        self.try_artifact(self.NAME, b'{"type":"struct","fields":[]}')

    @pytest.mark.parametrize(
        "name", ["jars/a.jar", "pyfiles/a.py", "files/a", "forward_to_fs/x", "cache/../x", "cache/x"]
    )
    def test_artifacts_with_code_or_files_are_refused(self, name: str) -> None:
        for chunked in (False, True):
            with pytest.raises(RequestRefusedError):
                self.try_artifact(name, b"\xff\xff\xff\xff", chunked=chunked)

    def test_a_chunked_artifact_with_an_empty_first_chunk_is_refused(self) -> None:
        with pytest.raises(RequestRefusedError):
            self.try_artifact(self.NAME, b"", chunked=True)


class TestCompressedPlans:
    @staticmethod
    def compressed(message: Message, kind: int = 1, data: bytes | None = None) -> bytes:
        packed = zstandard.compress(message.SerializeToString()) if data is None else data
        operation = {"data": packed, "op_type": kind, "compression_codec": 1}
        return base.ExecutePlanRequest(session_id=SESSION, plan={"compressed_operation": operation}).SerializeToString()

    def test_spark_receives_the_decompressed_plan_that_was_checked(self) -> None:
        relation = relations.Relation(read=a_table())

        plan = admit_as(ANN, EXECUTE_PLAN, self.compressed(relation)).request.plan

        assert plan.WhichOneof("op_type") == "root"
        assert plan.root == relation

    def test_forbidden_content_in_a_compressed_plan_is_refused(self) -> None:
        with pytest.raises(RequestRefusedError, match="`mapInPandas`"):
            admit_as(ANN, EXECUTE_PLAN, self.compressed(relations.Relation(map_partitions={"input": a_range()})))
        with pytest.raises(RequestRefusedError, match="the streaming query writes to a sink that is not allowed"):
            admit_as(ANN, EXECUTE_PLAN, self.compressed(commands.Command(write_stream_operation_start={}), kind=2))

    def test_a_decompression_bomb_is_refused_at_the_size_bound(self) -> None:
        bomb = zstandard.compress(bytes(65 * 1024 * 1024))

        with pytest.raises(RequestRefusedError, match="larger than 64 MiB"):
            admit_as(ANN, EXECUTE_PLAN, self.compressed(a_range(), data=bomb))

    def test_a_broken_compressed_plan_is_an_invalid_request(self) -> None:
        with pytest.raises(InvalidRequestError):
            admit_as(ANN, EXECUTE_PLAN, self.compressed(a_range(), data=b"no zstd"))


class TestDepth:
    @staticmethod
    def nested(levels: int) -> bytes:
        data = a_range().SerializeToString()
        for _ in range(levels):
            data = length_delimited(8, length_delimited(1, data))  # Relation.limit, Limit.input
        plan = length_delimited(1, data)
        return base.ExecutePlanRequest(session_id=SESSION).SerializeToString() + length_delimited(3, plan)

    @pytest.mark.parametrize(
        ("levels", "error"), [(200, None), (MAX_DEPTH, RequestRefusedError), (30000, RequestRefusedError)]
    )
    def test_deep_plans_pass_up_to_the_bound_and_are_refused_beyond(
        self, levels: int, error: type[Exception] | None
    ) -> None:
        with build_inspector() as thread:
            work = thread.submit(admit_as, ANN, EXECUTE_PLAN, self.nested(levels))
            assert isinstance(work.exception(), error) if error else work.result()


def length_delimited(field: int, content: bytes) -> bytes:
    size, prefix = len(content), bytearray([(field << 3) | 2])
    while size > 127:
        prefix.append(size & 127 | 128)
        size >>= 7
    return bytes(prefix) + bytes([size]) + content
