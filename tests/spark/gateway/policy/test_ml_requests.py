"""Machine learning: listed operators, parameters and methods pass the gateway; classes, paths and large numbers do not."""

from typing import Any

import pytest

from headgate.spark.gateway import protos
from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.ml_requests import HELPER, METHODS, OPERATORS, PARAMETERS
from tests.spark.gateway.admission_cases import a_range, relations, try_command, try_relation

ml: Any = protos.ml
ESTIMATOR, TRANSFORMER, EVALUATOR, MODEL = 1, 2, 3, 4
LOGISTIC = "org.apache.spark.ml.classification.LogisticRegression"
TOKENIZER = "org.apache.spark.ml.feature.Tokenizer"
MODEL_ID = "11111111-2222-3333-4444-555555555555"
VECTOR = "org.apache.spark.ml.linalg.VectorUDT"


def operator(name: str, kind: int, uid: str = "LogisticRegression_0a1b") -> Any:
    return {"name": name, "uid": uid, "type": kind}


def try_fit(name: str = LOGISTIC, kind: int = ESTIMATOR, uid: str = "u_1", **params: Any) -> Any:
    fit = {"estimator": operator(name, kind, uid), "params": {"params": params}, "dataset": a_range()}
    return try_command(ml_command={"fit": fit})


def try_fetch(*methods: Any, of: str = MODEL_ID) -> Any:
    calls = [{"method": each} if isinstance(each, str) else each for each in methods]
    return try_command(ml_command={"fetch": {"obj_ref": {"id": of}, "methods": calls}})


def vector(values: int, size: int | None = None, of: str = VECTOR) -> Any:
    """Return a literal of a dense vector of zeros, or of a sparse one of the given size."""
    doubles = {"specialized_array": {"doubles": {"values": [0.0] * values}}}
    elements: list[Any] = [{"byte": 0 if size is not None else 1}, {"integer": size or 0}, {}, doubles]
    return {"struct": {"struct_type": {"udt": {"type": "udt", "jvm_class": of}}, "elements": elements}}


class TestOperators:
    def test_an_estimator_of_the_list_is_fitted_with_its_parameters(self) -> None:
        request = try_fit(
            maxIter={"integer": 10},
            regParam={"double": 0.1},
            featuresCol={"string": "x y"},
            optimizer={"string": "online"},
        )

        assert request.plan.command.ml_command.fit.params.params["maxIter"].integer == 10

    def test_rows_are_transformed_by_a_listed_transformer_or_by_a_model(self) -> None:
        transform: Any = {"input": a_range(), "params": {}}

        try_relation(ml_relation={"transform": {**transform, "transformer": operator(TOKENIZER, TRANSFORMER)}})
        try_relation(ml_relation={"transform": {**transform, "obj_ref": {"id": MODEL_ID}}})

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("org.apache.spark.ml.feature.SQLTransformer", TRANSFORMER),
            ("org.apache.spark.ml.classification.LogisticRegressionModel", TRANSFORMER),
            ("org.apache.spark.ml.clustering.PowerIterationClusteringWrapper", TRANSFORMER),
            ("org.apache.spark.ml.Pipeline", ESTIMATOR),
            ("org.apache.spark.ml.source.image.ImageFileFormat", ESTIMATOR),
            ("org.apache.spark.sql.ml.InternalFunctionRegistration", ESTIMATOR),
            ("java.lang.Runtime", ESTIMATOR),
            ("ml.dmlc.xgboost4j.scala.spark.XGBoostClassifier", ESTIMATOR),
            (LOGISTIC + "\u200b", ESTIMATOR),
            (LOGISTIC, TRANSFORMER),
            (LOGISTIC, MODEL),
            (TOKENIZER, ESTIMATOR),
            ("", 0),
        ],
    )
    def test_another_class_or_kind_is_refused(self, name: str, kind: int) -> None:
        with pytest.raises(RequestRefusedError):
            try_fit(name, kind)
        with pytest.raises(RequestRefusedError):
            try_relation(ml_relation={"transform": {"input": a_range(), "transformer": operator(name, kind + 100)}})

    def test_an_operator_is_used_only_as_what_it_is(self) -> None:
        evaluator = operator("org.apache.spark.ml.evaluation.RegressionEvaluator", EVALUATOR)
        rows: Any = {"dataset": a_range()}

        try_command(ml_command={"evaluate": {"evaluator": evaluator, **rows}})

        for command in (
            {"fit": {"estimator": evaluator, **rows}},
            {"evaluate": {"evaluator": operator(LOGISTIC, ESTIMATOR), **rows}},
        ):
            with pytest.raises(RequestRefusedError, match="it is none"):
                try_command(ml_command=command)

    @pytest.mark.parametrize("uid", ["", "a/b", "../x", "a b", "`x`", "u" * 129])
    def test_the_uid_of_an_operator_is_a_plain_word(self, uid: str) -> None:
        with pytest.raises(RequestRefusedError, match="`uid`"):
            try_fit(uid=uid)


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("checkpointInterval", {"integer": 10}),
            ("statement", {"string": "DROP TABLE lake.raw.flights"}),
            ("intermediateStorageLevel", {"string": "DISK_ONLY"}),
            ("path", {"string": "/etc/passwd"}),
            ("classifier", {"string": "x"}),
            ("maxIter", {"integer": 1001}),
            ("maxIter", {"long": 1 << 40}),
            ("maxIter", {"integer": -1}),
            ("maxIter", {"double": float("nan")}),
            ("maxIter", {"string": "1"}),
            ("optimizer", {"string": "em"}),
            ("numTrees", {"integer": 501}),
            ("maxDepth", {"integer": 31}),
            ("k", {"integer": 1_000_000}),
            ("numFeatures", {"integer": 1 << 30}),
            ("minSupport", {"double": 0.0}),
            ("solver", {"string": "../l-bfgs"}),
            ("solver", {"string": ""}),
            ("featuresCol", {"string": "x" * 4097}),
            ("formula", {"string": "y ~ " + "x + " * 2000}),
            ("formula", {"string": "y ~ a^2147483647"}),
            ("formula", {"string": f"y ~ {'(' * 40}a{')' * 40}"}),
            ("formula", {"string": "y ~ .:.:."}),
            ("formula", {"string": "y ~ a*b*c*d*e*f"}),
            ("pattern", {"string": "(a+)+$"}),
            ("pattern", {"string": "a*b"}),
            ("pattern", {"string": "a" * 129}),
            ("pattern", {"string": "\\s+\\s+"}),
            ("pattern", {"string": "[a-z&&[b]]+"}),
            ("layers", {"specialized_array": {"ints": {"values": [4, 1 << 20, 2]}}}),
            ("layers", {"array": {"elements": [{"string": "4"}]}}),
            ("fitIntercept", {"integer": 1}),
            ("scalingVec", {"string": "[1.0]"}),
            ("thresholds", {}),
        ],
    )
    def test_a_parameter_that_is_not_listed_or_out_of_range_is_refused(self, name: str, value: Any) -> None:
        with pytest.raises(RequestRefusedError, match=f"machine-learning parameter `{name}`"):
            try_fit(**{name: value})

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("formula", {"string": "y ~ . + a:b"}),
            ("formula", {"string": "y ~ a*b + c"}),
            ("pattern", {"string": "\\s+"}),
            ("pattern", {"string": "[^a-z0-9]+"}),
            ("splits", {"array": {"elements": [{"double": float("-inf")}, {"integer": 0}, {"double": float("inf")}]}}),
            ("inputCols", {"specialized_array": {"strings": {"values": ["a", "b c"]}}}),
            ("splitsArray", {"array": {"elements": [{"specialized_array": {"doubles": {"values": [0.0, 1.0]}}}]}}),
            ("seed", {"long": -(2**63)}),
            ("scalingVec", vector(3)),
        ],
    )
    def test_a_value_of_the_parameters_type_passes(self, name: str, value: Any) -> None:
        try_fit(**{name: value})

    def test_a_large_or_foreign_vector_is_refused(self) -> None:
        for value in (
            vector(0, size=(1 << 20) + 1),
            vector(0, size=-1),
            vector(1, of="org.apache.spark.sql.test.ExamplePointUDT"),
            vector(1, of="javax.script.ScriptEngineManager"),
        ):
            with pytest.raises(RequestRefusedError):
                try_fit(scalingVec=value)

    def test_the_parameters_of_a_transformation_are_checked_too(self) -> None:
        transform = {"input": a_range(), "obj_ref": {"id": MODEL_ID}, "params": {"params": {"k": {"integer": 9999}}}}

        with pytest.raises(RequestRefusedError):
            try_relation(ml_relation={"transform": transform})


class TestObjects:
    @pytest.mark.parametrize(
        "method",
        [
            "write",
            "save",
            "parent",
            "getClass",
            "copy",
            "handleOverwrite",
            "getCheckpointFiles",
            "sparkSession",
            "uid",
            "",
        ],
    )
    def test_a_method_that_is_not_listed_is_refused(self, method: str) -> None:
        for of in (MODEL_ID, HELPER):
            with pytest.raises(RequestRefusedError, match="is not allowed"):
                try_fetch(method, of=of)
        with pytest.raises(RequestRefusedError, match="is not allowed"):
            try_relation(ml_relation={"fetch": {"obj_ref": {"id": MODEL_ID}, "methods": [{"method": method}]}})

    def test_attributes_of_models_and_summaries_pass(self) -> None:
        try_fetch("coefficients")
        try_fetch("summary", "roc")
        try_fetch({"method": "evaluate", "args": [{"input": a_range()}]})
        try_fetch({"method": "predict", "args": [{"param": vector(2)}]})
        try_fetch(
            {"method": "stopWordsRemoverLoadDefaultStopWords", "args": [{"param": {"string": "english"}}]}, of=HELPER
        )

    @pytest.mark.parametrize(
        "call",
        [
            {"method": "coefficients", "args": [{"param": {"integer": 1}}]},
            {"method": "predict", "args": [{"param": {"string": "x"}}]},
            {"method": "evaluate", "args": [{"param": {"string": "/etc/passwd"}}]},
            {"method": "describeTopics", "args": [{"input": {"range": {"end": 1, "step": 1}}}]},
            {"method": "predictRaw", "args": [{"param": vector(0, size=1 << 30)}]},
        ],
    )
    def test_an_argument_of_another_type_is_refused(self, call: Any) -> None:
        with pytest.raises(RequestRefusedError, match="arguments"):
            try_fetch(call)

    def test_a_method_of_the_helper_is_none_of_a_model(self) -> None:
        with pytest.raises(RequestRefusedError):
            try_fetch("stopWordsRemoverGetDefaultOrUS")
        with pytest.raises(RequestRefusedError):
            try_fetch(
                {"method": "handleOverwrite", "args": [{"param": {"string": "/x"}}, {"param": {"boolean": True}}]},
                of=HELPER,
            )
        with pytest.raises(RequestRefusedError):
            try_relation(ml_relation={"transform": {"input": a_range(), "obj_ref": {"id": HELPER}}})

    @pytest.mark.parametrize(
        "id", ["", "x", "../" + MODEL_ID, MODEL_ID + "/..", MODEL_ID.upper() + "x", MODEL_ID + ".summary"]
    )
    def test_an_id_that_spark_does_not_give_is_refused(self, id: str) -> None:
        for command in (
            {"fetch": {"obj_ref": {"id": id}, "methods": [{"method": "coefficients"}]}},
            {"delete": {"obj_refs": [{"id": id}]}},
            {"get_model_size": {"model_ref": {"id": id}}},
        ):
            with pytest.raises(RequestRefusedError, match="id of a model"):
                try_command(ml_command=command)

    @pytest.mark.parametrize("number", [-1, 10_001, 1_000_000_000])
    def test_an_argument_that_determines_an_allocation_has_a_range(self, number: int) -> None:
        arguments = [{"param": {"string": "a"}}, {"param": {"integer": number}}]

        with pytest.raises(RequestRefusedError, match="findSynonyms"):
            try_fetch({"method": "findSynonyms", "args": arguments})

    def test_a_chain_of_no_or_of_many_methods_is_refused(self) -> None:
        for methods in ((), ("summary",) * 4):
            with pytest.raises(RequestRefusedError, match="names no method"):
                try_fetch(*methods)

    def test_models_are_neither_written_nor_read(self) -> None:
        for command in (
            {"write": {"obj_ref": {"id": MODEL_ID}, "path": "/data/model"}},
            {"write": {"operator": operator(LOGISTIC, ESTIMATOR), "path": "s3a://bucket/x", "should_overwrite": True}},
            {"read": {"operator": operator(LOGISTIC, MODEL), "path": "/data/model"}},
            {"create_summary": {"model_ref": {"id": MODEL_ID}, "dataset": a_range()}},
        ):
            with pytest.raises(RequestRefusedError, match="fit the model again"):
                try_command(ml_command=command)

    def test_the_rows_for_a_lost_summary_are_removed(self) -> None:
        fetch = {"obj_ref": {"id": MODEL_ID}, "methods": [{"method": "summary"}, {"method": "roc"}]}

        request = try_relation(ml_relation={"fetch": fetch, "model_summary_dataset": a_range()})

        assert not request.plan.root.ml_relation.HasField("model_summary_dataset")


def test_a_stream_cannot_use_a_model_or_a_transformer() -> None:
    transform: Any = {"transform": {"input": a_range(), "obj_ref": {"id": MODEL_ID}}}
    start = {"input": relations.Relation(ml_relation=transform), "format": "memory", "query_name": "q"}

    with pytest.raises(RequestRefusedError, match="streaming query cannot use a model"):
        try_command(write_stream_operation_start=start)


def test_user_defined_types_other_than_vectors_are_refused() -> None:
    def try_cast(**udt: Any) -> Any:
        cast = {"expr": {"literal": {"integer": 1}}, "type": {"udt": {"type": "udt", **udt}}}
        return try_relation(project={"input": a_range(), "expressions": [{"cast": cast}]})

    try_cast(jvm_class=VECTOR, python_class="pyspark.ml.linalg.VectorUDT")

    for udt in (
        {"jvm_class": "org.apache.spark.sql.test.ExamplePointUDT"},
        {"jvm_class": VECTOR, "python_class": "os.system"},
        {"jvm_class": VECTOR, "serialized_python_class": "gASV"},
        {"python_class": "pyspark.ml.linalg.VectorUDT"},
    ):
        with pytest.raises(RequestRefusedError):
            try_cast(**udt)


class TestLists:
    def test_no_model_and_no_operator_with_sql_is_listed(self) -> None:
        assert len(OPERATORS) > 60
        assert all(name.startswith("org.apache.spark.ml.") for name in OPERATORS)
        assert not [name for name in OPERATORS if name.endswith(("Model", "SQLTransformer", "Wrapper"))]

    def test_no_parameter_or_method_names_a_place_or_a_class(self) -> None:
        for word in (
            "path",
            "dir",
            "checkpoint",
            "storage",
            "statement",
            "overwrite",
            "write",
            "save",
            "load",
        ):
            assert not [name for name in PARAMETERS if word in name.lower()]
            assert [name for name in METHODS if word in name.lower()] in (
                [],
                ["helper.stopWordsRemoverLoadDefaultStopWords"],
            )
