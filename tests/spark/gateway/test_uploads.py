"""Rows of a client reach the driver re-encoded by Headgate, from a plan and from artifacts; forged rows do not."""

import asyncio
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import grpc
import numpy as np
import pyarrow as pa
import pytest
import zstandard
from typing_extensions import override

from headgate.spark.gateway import protos
from headgate.spark.gateway.arrow_rows import ArrowRows
from headgate.spark.gateway.artifact_names import (
    CACHE_PREFIX,
    driver_hash,
    name_asked_artifacts,
    restore_statuses,
    restore_summaries,
)
from headgate.spark.gateway.artifacts import MAX_ARTIFACT_BYTES
from headgate.spark.gateway.call_slots import STATUSES_PER_PRINCIPAL
from headgate.spark.gateway.errors import ExhaustedError, InvalidRequestError
from headgate.spark.gateway.rpcs import SERVICE
from headgate.spark.gateway.upload_budget import UploadBudget
from headgate.spark.gateway.uploads import Upload
from headgate.untrusted_input.pool import ParserPool
from tests.arrow_streams import artifact_name, chunk, column, read, rows, stream, with_offsets
from tests.spark.gateway.admission_cases import UDT, a_range, commands, relations, walk
from tests.spark.gateway.fake_backend import FakeBackend
from tests.spark.gateway.gateway_harness import RunningGateway
from tests.spark.gateway.raw_client import Client
from tests.threads import wait_until

base: Any = protos.base
DENIED, INVALID = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.INVALID_ARGUMENT
FORGED = with_offsets(0, 65_536)
BEFORE = with_offsets(-(1 << 20), 8)
HONEST = stream(pa.table({"i": [1, 2]}).replace_schema_metadata({"pandas": "{}"}))
OLD_FORMAT = stream(pa.table({"i": [1, 2]}), use_legacy_format=True)
LARGE = column(pa.array(range(400_000)))
SCHEMA = b'{"type":"struct","fields":[{"name":"i","type":"long","nullable":true,"metadata":{}}]}'


@pytest.fixture(scope="module")
def port(gateway: RunningGateway) -> int:
    return gateway.port


@pytest.fixture
def ann(port: int, backend: FakeBackend) -> Iterator[Client]:
    client = Client(port, "ann")
    backend.calls.clear()
    yield client
    client.channel.close()


def local(data: bytes) -> Any:
    """Return a local relation with rows."""
    return relations.Relation(local_relation=relations.LocalRelation(data=data, schema="i LONG"))


def plan(**fields: Any) -> dict[str, Any]:
    return {"plan": base.Plan(root=relations.Relation(**fields))}


def packed(data: bytes) -> dict[str, Any]:
    content = zstandard.compress(local(data).SerializeToString())
    return {"plan": base.Plan(compressed_operation={"data": content, "op_type": 1, "compression_codec": 1})}


WAYS: dict[str, Any] = {
    "a query": ("ExecutePlan", lambda data: {"plan": base.Plan(root=local(data))}),
    "a part of a query": ("ExecutePlan", lambda data: plan(limit=relations.Limit(input=local(data), limit=1))),
    "a join with itself": ("ExecutePlan", lambda data: plan(join={"left": local(data), "right": local(data)})),
    "a reference": (
        "ExecutePlan",
        lambda data: plan(with_relations=relations.WithRelations(root=a_range(), references=[local(data)])),
    ),
    "a packed query": ("ExecutePlan", packed),
    "a command": (
        "ExecutePlan",
        lambda data: {"plan": base.Plan(command={"sql_command": commands.SqlCommand(sql="x", input=local(data))})},
    ),
    "a view": (
        "ExecutePlan",
        lambda data: {"plan": base.Plan(command={"create_dataframe_view": {"input": local(data), "name": "v"}})},
    ),
    "a write": (
        "ExecutePlan",
        lambda data: {
            "plan": base.Plan(
                command={"write_operation_v2": {"input": local(data), "table_name": "lake.raw.t", "mode": 1}}
            )
        },
    ),
    "an analysis": ("AnalyzePlan", lambda data: {"schema": {"plan": base.Plan(root=local(data))}}),
    "a comparison": (
        "AnalyzePlan",
        lambda data: {
            "same_semantics": {"target_plan": base.Plan(root=a_range()), "other_plan": base.Plan(root=local(data))}
        },
    ),
}


def sent_rows(backend: FakeBackend, name: str) -> list[bytes]:
    """Return the rows in the last plan that reached the driver."""
    found: list[Any] = [each for each in walk(backend.last(name)) if isinstance(each, relations.LocalRelation)]
    return [each.data for each in found]


class TestRowsInAPlan:
    @pytest.mark.parametrize("way", WAYS)
    def test_valid_rows_of_a_plan_are_rewritten(self, ann: Client, backend: FakeBackend, way: str) -> None:
        name, fields = WAYS[way]

        ann.call(name, **fields(HONEST))

        found = sent_rows(backend, name)
        assert found
        for data in found:
            assert data != HONEST
            assert read(data).equals(read(HONEST))
            assert read(data).schema.metadata is None

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("data", [FORGED, BEFORE, b"rows", HONEST + b"x"], ids=range(4))
    def test_forged_rows_of_a_plan_are_not_sent_to_the_driver(
        self, ann: Client, backend: FakeBackend, way: str, data: bytes
    ) -> None:
        name, fields = WAYS[way]

        error: Any = ann.fails(name, **fields(data))

        assert error.code() is INVALID
        assert "Arrow" in error.details()
        assert name not in backend.names()

    def test_a_schema_without_rows_passes(self, ann: Client, backend: FakeBackend) -> None:
        for relation in (relations.LocalRelation(schema="i LONG"), relations.LocalRelation(schema="i LONG", data=b"")):
            ann.call("ExecutePlan", **plan(local_relation=relation))

            assert not backend.last("ExecutePlan").plan.root.local_relation.HasField("data")


def upload(client: Client, *parts: dict[str, Any]) -> None:
    """Send the requests of one upload."""
    requests = [base.AddArtifactsRequest(session_id=client.session_id, **each).SerializeToString() for each in parts]
    client.channel.stream_unary(SERVICE + "AddArtifacts")(iter(requests), metadata=client.metadata)


def whole(data: bytes, name: str = "") -> dict[str, Any]:
    return {"batch": {"artifacts": [{"name": name or artifact_name(data), "data": chunk(data)}]}}


def in_chunks(data: bytes, size: int = 32 * 1024, name: str = "", **said: int) -> list[dict[str, Any]]:
    """Return the requests of one artifact, in chunks as PySpark sends a large artifact."""
    parts = [chunk(data[start : start + size]) for start in range(0, len(data), size)]
    about = {"total_bytes": len(data), "num_chunks": len(parts), **said}
    begin = {"name": name or artifact_name(data), "initial_chunk": parts[0], **about}
    return [{"begin_chunk": begin}, *({"chunk": each} for each in parts[1:])]


def arrived(backend: FakeBackend) -> dict[str, bytes]:
    """Return the artifacts that reached the driver, assembled as Spark does it."""
    found: dict[str, bytes] = {}
    name, expected, total = "", 0, 0
    for called, request in backend.calls:
        if called != "AddArtifacts":
            continue
        for each in request.batch.artifacts:
            found[each.name] = checked(each.data)
        if request.HasField("begin_chunk"):
            name, expected = request.begin_chunk.name, request.begin_chunk.num_chunks
            found[name] = checked(request.begin_chunk.initial_chunk)
            total = request.begin_chunk.total_bytes
        if request.HasField("chunk"):
            found[name] += checked(request.chunk)
        if name and not request.HasField("batch"):
            expected -= 1
            assert expected >= 0
            assert expected or len(found[name]) == total
    assert not expected
    return found


def checked(part: Any) -> bytes:
    assert zlib.crc32(part.data) == part.crc
    return part.data


def driver_name(data: bytes, kind: str = "rows") -> str:
    """Return the name under which the driver has an artifact."""
    return CACHE_PREFIX + driver_hash(kind, artifact_name(data).removeprefix(CACHE_PREFIX))


class TestArtifacts:
    def test_rows_of_an_artifact_are_rewritten_under_their_name(self, ann: Client, backend: FakeBackend) -> None:
        upload(ann, whole(HONEST), whole(SCHEMA), *in_chunks(LARGE), whole(rows()))

        found = arrived(backend)
        assert set(found) == {driver_name(SCHEMA, "schema"), *map(driver_name, (HONEST, LARGE, rows()))}
        assert found[driver_name(SCHEMA, "schema")] == SCHEMA
        assert found[driver_name(HONEST)] != HONEST
        for each in (HONEST, LARGE, rows()):
            assert read(found[driver_name(each)]).equals(read(each))

    def test_many_artifacts_arrive(self, ann: Client, backend: FakeBackend) -> None:
        sent = [column(pa.array([each])) for each in range(600)]

        upload(ann, *map(whole, sent))

        assert set(arrived(backend)) == set(map(driver_name, sent))

    def test_a_schema_of_many_columns_comes_in_chunks(self, ann: Client, backend: FakeBackend) -> None:
        schema = SCHEMA + b" " * 100_000

        upload(ann, *in_chunks(schema))

        assert arrived(backend) == {driver_name(schema, "schema"): schema}

    @pytest.mark.parametrize("data", [FORGED, BEFORE, rows() + b"x"], ids=range(3))
    def test_forged_rows_of_an_artifact_are_not_sent_to_the_driver(
        self, ann: Client, backend: FakeBackend, data: bytes
    ) -> None:
        for parts in ([whole(data)], in_chunks(data, 64), [whole(HONEST), whole(data)]):
            with pytest.raises(grpc.RpcError) as refused:
                upload(ann, *parts)

            assert code(refused.value) is INVALID
        assert not arrived(backend)

    def test_an_artifact_that_does_not_have_the_hash_in_its_name_is_refused(
        self, ann: Client, backend: FakeBackend
    ) -> None:
        for parts in ([whole(HONEST, artifact_name(rows()))], in_chunks(LARGE, name=artifact_name(rows()))):
            with pytest.raises(grpc.RpcError, match="SHA-256 hash in its name") as refused:
                upload(ann, *parts)

            assert code(refused.value) is INVALID
        assert not arrived(backend)

    @pytest.mark.parametrize(
        ("data", "why"),
        [
            (UDT.encode(), "user-defined types"),
            (OLD_FORMAT, "neither rows in Arrow format nor a schema"),
            (b"\xfe\xfe not text", "neither rows in Arrow format nor a schema"),
            (b"i LONG" + b" " * (4 << 20), "larger than 4 MiB"),
        ],
    )
    def test_an_artifact_that_is_neither_rows_nor_a_schema_is_refused(self, ann: Client, data: bytes, why: str) -> None:
        for parts in (in_chunks(data, 1 << 20), [whole(data)]):
            with pytest.raises(grpc.RpcError, match=why) as refused:
                upload(ann, *parts)

            assert code(refused.value) is DENIED

    def test_a_chunk_with_a_wrong_checksum_is_refused(self, ann: Client) -> None:
        for parts in ([whole(HONEST)], in_chunks(LARGE)):
            first = parts[0]
            part = first["batch"]["artifacts"][0]["data"] if "batch" in first else first["begin_chunk"]["initial_chunk"]
            part["crc"] ^= 1
            with pytest.raises(grpc.RpcError, match="does not match its CRC-32 checksum"):
                upload(ann, *parts)

    @pytest.mark.parametrize(
        "parts",
        [
            in_chunks(rows(), 64)[:-1],
            [*in_chunks(rows(), 64)[:-1], whole(HONEST)],
            [*in_chunks(rows(), 64)[:-1], *in_chunks(rows(), 64)],
            [*in_chunks(rows(), 64), {"chunk": chunk(b"more")}],
            [{"chunk": chunk(b"more")}],
            in_chunks(rows(), 64, num_chunks=1),
            in_chunks(rows(), 64, num_chunks=10_000),
            in_chunks(rows(), 64, num_chunks=-1),
            in_chunks(rows(), 64, total_bytes=10),
            in_chunks(rows(), 64, total_bytes=-1),
            in_chunks(rows(), 64, total_bytes=MAX_ARTIFACT_BYTES),
            in_chunks(rows(), 64, total_bytes=MAX_ARTIFACT_BYTES + 1),
            [*in_chunks(rows(), 64)[:1], {"chunk": chunk(b"")}],
        ],
        ids=range(13),
    )
    def test_inconsistent_chunks_of_an_artifact_are_refused(
        self, ann: Client, backend: FakeBackend, parts: list[dict[str, Any]]
    ) -> None:
        with pytest.raises(grpc.RpcError) as refused:
            upload(ann, *parts)

        assert code(refused.value) is INVALID
        assert not arrived(backend)


def code(error: Any) -> grpc.StatusCode:
    return error.code()


class TestNames:
    """Spark also reads Arrow's old format; there it uses the first bytes of a text as the size of an allocation."""

    def test_a_schema_cannot_be_used_as_rows(self, ann: Client, backend: FakeBackend) -> None:
        upload(ann, whole(HONEST), whole(SCHEMA))
        schema, rows_hash = (artifact_name(each).removeprefix(CACHE_PREFIX) for each in (SCHEMA, HONEST))
        known = {name.removeprefix(CACHE_PREFIX) for name in arrived(backend)}
        as_named_in_the_driver = driver_name(SCHEMA, "schema").removeprefix(CACHE_PREFIX)

        for hashes in ([rows_hash], [schema], [as_named_in_the_driver], ["x"]):
            ann.call("ExecutePlan", **plan(chunked_cached_local_relation={"dataHashes": hashes, "schemaHash": schema}))

            sent = backend.last("ExecutePlan").plan.root.chunked_cached_local_relation
            assert (sent.dataHashes[0] in known) == (hashes == [rows_hash])
            assert sent.schemaHash == as_named_in_the_driver

    def test_the_answer_names_artifacts_as_the_client_named_them(self) -> None:
        clients = {driver_name(HONEST): artifact_name(HONEST)}
        summary = base.AddArtifactsResponse(artifacts=[{"name": driver_name(HONEST), "is_crc_successful": True}])

        restored = base.AddArtifactsResponse.FromString(restore_summaries(summary.SerializeToString(), clients))

        assert [each.name for each in restored.artifacts] == [artifact_name(HONEST)]
        assert restored.artifacts[0].is_crc_successful

    @pytest.mark.parametrize("kind", ["rows", "schema", "none"])
    def test_an_artifact_exists_if_the_driver_has_it_as_rows_or_as_a_schema(self, kind: str) -> None:
        request = base.ArtifactStatusesRequest(names=[artifact_name(HONEST)])
        clients = name_asked_artifacts(request)
        answer = base.ArtifactStatusesResponse()
        for name in request.names:
            answer.statuses[name].exists = name == driver_name(HONEST, kind)

        restored = base.ArtifactStatusesResponse.FromString(restore_statuses(answer.SerializeToString(), clients))

        assert {name: status.exists for name, status in restored.statuses.items()} == {
            artifact_name(HONEST): kind != "none"
        }


class TestQuestionsForArtifacts:
    def test_artifact_status_calls_of_one_user_do_not_delay_another_user(
        self, gateway: RunningGateway, backend: FakeBackend
    ) -> None:
        backend.held_statuses = True
        many = [_ask_for_artifacts(gateway, "ann") for _ in range(8)]
        wait_until(lambda: backend.names().count("ArtifactStatus") == STATUSES_PER_PRINCIPAL)

        other = _ask_for_artifacts(gateway, "bob")
        wait_until(lambda: backend.names().count("ArtifactStatus") == STATUSES_PER_PRINCIPAL + 1)

        assert not any(each.done() for each in many)
        backend.go_on.set()
        assert all(each.result() for each in (*many, other))


def _ask_for_artifacts(gateway: RunningGateway, name: str) -> Any:
    client = Client(gateway.port, name)
    rpc, request = (
        "/spark.connect.SparkConnectService/ArtifactStatus",
        client.request("ArtifactStatus", names=[artifact_name(HONEST)]),
    )
    return client.channel.unary_unary(rpc).future(request, metadata=client.metadata)


class TestBudget:
    def test_an_upload_holds_its_share_until_it_ends(self) -> None:
        budget = UploadBudget(total=100, per_principal=60)
        with budget.share("ann") as anns, budget.share("bob") as bobs:
            anns.take(60)
            with pytest.raises(ExhaustedError, match="too large together"):
                anns.take(1)
            bobs.take(40)
            with pytest.raises(ExhaustedError):
                bobs.take(1)
            anns.give()
            bobs.take(20)

        with budget.share("ann") as again:
            again.take(60)

    def test_an_upload_error_says_if_the_caller_or_all_callers_fill_the_limit(self) -> None:
        budget = UploadBudget(total=100, per_principal=60)
        with budget.share("ann") as anns, budget.share("bob") as bobs:
            anns.take(60)
            with pytest.raises(ExhaustedError, match=r"^your rows"):
                anns.take(1)
            with pytest.raises(ExhaustedError, match=r"^the rows that all callers"):
                bobs.take(41)

    def test_each_chunk_is_counted_when_it_arrives(self) -> None:
        async def attempt() -> None:
            with UploadBudget(total=100, per_principal=100).share("ann") as share:
                first, second, *_ = (
                    base.AddArtifactsRequest(**each) for each in in_chunks(bytes(1000), 64, name=artifact_name(b"x"))
                )
                upload = Upload(first, ArrowRows(Doubling()), "ann", share)
                assert not list(await upload.take(first, 64))
                with pytest.raises(ExhaustedError):
                    await upload.take(second, 64)
                with pytest.raises(InvalidRequestError):
                    await upload.finish()

        asyncio.run(attempt())

    def test_rewritten_rows_count_until_they_are_sent(self) -> None:
        async def attempt() -> list[int]:
            budget = UploadBudget(total=1 << 30, per_principal=1 << 30)
            with budget.share("ann") as share:
                request = base.AddArtifactsRequest(**whole(LARGE))
                upload = Upload(request, ArrowRows(Doubling()), "ann", share)
                await upload.take(request, len(LARGE))
                held = [budget.get_held("ann") for _ in await upload.finish()]
                return [*held, budget.get_held("ann")]

        *while_sent, after = asyncio.run(attempt())

        assert len(while_sent) > 1
        assert set(while_sent) == {3 * len(LARGE)}
        assert after == 0

    def test_rewritten_rows_of_a_plan_count_against_the_budget(self) -> None:
        async def attempt() -> int:
            budget = UploadBudget(total=1 << 30, per_principal=1 << 30)
            with budget.share("ann") as share:
                relation = local(LARGE).local_relation
                await ArrowRows(Doubling()).rewrite_relations("ann", [relation, relation], share)
                return budget.get_held("ann")

        assert asyncio.run(attempt()) == 2 * len(LARGE)


Charge = Callable[[int], None]


class Doubling(ParserPool):
    """Parsers whose result is an Arrow stream of twice the size."""

    @override
    async def rewrite(
        self, owner: str, kind: bytes, documents: Sequence[bytes], charge: Charge, file: int | None = None
    ) -> list[bytes]:
        assert (owner, kind) == ("ann", b"arrow")
        for document in documents:
            charge(2 * len(document))
        return [document[:8] + bytes(2 * len(document) - 16) + document[-8:] for document in documents]


class TestRowsThatAreCompressed:
    """64 MiB of zeros are 2,384 bytes."""

    def test_compressed_artifacts_that_expand_too_much_together_are_refused(
        self, ann: Client, backend: FakeBackend
    ) -> None:
        sent = [zeros(each) for each in range(256)]
        assert sum(map(len, sent)) < 2 << 20

        with pytest.raises(grpc.RpcError, match="more than 192 MiB") as refused:
            upload(ann, {"batch": {"artifacts": [{"name": artifact_name(each), "data": chunk(each)} for each in sent]}})

        assert code(refused.value) is INVALID
        assert not arrived(backend)

    def test_compressed_rows_of_a_plan_that_expand_too_much_together_are_refused(self) -> None:
        charged: list[int] = []

        class Counting(Doubling):
            @override
            async def rewrite(
                self, owner: str, kind: bytes, documents: Sequence[bytes], charge: Charge, file: int | None = None
            ) -> list[bytes]:
                def count(size: int) -> None:
                    charge(size)
                    charged.append(size)

                return await super().rewrite(owner, kind, documents, count)

        streams = [HONEST + bytes([each]) + bytes(4 << 20) for each in range(20)]
        with (
            UploadBudget().share("ann") as share,
            pytest.raises(InvalidRequestError, match="more than 64 MiB of local rows"),
        ):
            asyncio.run(
                ArrowRows(Counting()).rewrite_relations("ann", [local(each).local_relation for each in streams], share)
            )

        assert len(charged) == 7

    def test_compressed_rows_within_the_limit_pass(self, ann: Client, backend: FakeBackend) -> None:
        upload(ann, whole(zeros(1)))

        assert read(arrived(backend)[driver_name(zeros(1))]).num_rows == 1 << 17


def zeros(each: int) -> bytes:
    """Return a few thousand bytes that decompress to one MiB of rows, different for each number."""
    values = np.zeros(1 << 17, "int64")
    values[0] = each
    return stream(pa.table({"i": values}), compression="zstd")
