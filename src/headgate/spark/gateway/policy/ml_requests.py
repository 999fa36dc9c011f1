"""Rules for `spark.ml`: operators, parameters and methods by the guard's lists, and objects by the ids that Spark gave them.

Spark creates operators by the names of their classes and calls methods by their names. The driver keeps models and summaries
for a session, and the guard decides at every use whether the caller may still read what they were made of.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.guard_lists import read_lines
from headgate.spark.gateway.policy.ml_values import ANY_NUMBER, PYTHON_CLASSES, Bounds, is_value
from headgate.spark.gateway.protos import ml

HELPER: Final = "______ML_CONNECT_HELPER______"
"""The id of the object with Spark's functions that belong to no model."""
_OF_HELPER: Final = "helper."
_UID: Final = re.compile(r"\w{1,128}", re.ASCII)
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME_AND_TYPE: Final = 2
"""The number of words in the line of a parameter without a range."""
_MOST_METHODS: Final = 3
"""The limit of methods in a chain, such as `summary` and then `roc`."""
_ARGUMENTS: Final[Mapping[str, Bounds]] = {"integer": (0, 10_000)}
"""The ranges of arguments of methods: Spark allocates as many elements as some of them state."""
_KINDS: Final = {
    "estimator": ml.MlOperator.OPERATOR_TYPE_ESTIMATOR,
    "transformer": ml.MlOperator.OPERATOR_TYPE_TRANSFORMER,
    "evaluator": ml.MlOperator.OPERATOR_TYPE_EVALUATOR,
}


def _read_bounds(text: str) -> Bounds:
    least, _, most = text.partition("..")
    return (int(least), int(most)) if "." not in least + most else (float(least), float(most))


OPERATORS: Final[Mapping[str, int]] = {name: _KINDS[kind] for name, kind in read_lines("ml-operators")}
"""Class of an operator -> its kind."""
PARAMETERS: Final[Mapping[str, tuple[str, Bounds]]] = {
    words[0]: (words[1], _read_bounds(words[2]) if len(words) > _NAME_AND_TYPE else ANY_NUMBER)
    for words in read_lines("ml-parameters")
}
"""Name of a parameter -> its type, and the range of its numbers."""
METHODS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    words[0]: tuple(tuple(each.split("|")) for each in words[1:]) for words in read_lines("ml-methods")
}
"""Method -> for each argument, the types that it may have."""


def check_operator(message: Any) -> None:
    """Raise `RequestRefusedError` unless the operator is listed, and is of the kind that the request says."""
    if OPERATORS.get(message.name) != message.type:
        raise RequestRefusedError(
            f"the machine-learning operator `{message.name[:100]}` is not allowed: Headgate allows a list of Spark's own "
            "estimators, transformers and evaluators; use one of these, or train the model in your program, on rows from `toPandas()`"
        )
    if not _UID.fullmatch(message.uid):
        raise RequestRefusedError(
            "the `uid` of a machine-learning operator is not allowed; use at most 128 letters, digits and underscores"
        )


def check_parameters(message: Any) -> None:
    """Raise `RequestRefusedError` unless every parameter is listed, and has a value of its type and in its range."""
    for name, literal in message.params.items():
        found = PARAMETERS.get(name)
        if found is None:
            raise RequestRefusedError(
                f"the machine-learning parameter `{name[:100]}` cannot be set: it names files, storage or code, or Headgate does not know it; leave it out"
            )
        kind, bounds = found
        if not is_value(kind, literal, bounds):
            limits = "" if bounds == ANY_NUMBER else f" from {bounds[0]} to {bounds[1]}"
            raise RequestRefusedError(
                f"the machine-learning parameter `{name}` has a value that is not allowed; {_EXPECTED[kind]}{limits}"
            )


_EXPECTED: Final[Mapping[str, str]] = {
    "flag": "set `True` or `False`",
    "integer": "set an integer",
    "integers": "set integers",
    "number": "set a number",
    "numbers": "set a list of numbers",
    "number-lists": "set lists of numbers",
    "text": "set a text of at most 4,096 characters",
    "texts": "set a list of texts of at most 4,096 characters",
    "column": "set the name of a column",
    "columns": "set a list of names of columns",
    "word": "set a word of letters, digits, `_`, `.`, `+` and `-`",
    "online": "set `online`, because the model of any other optimizer keeps its rows in the driver",
    "expression": "set a regular expression of at most 128 characters without groups, in which only the last part repeats, such as `\\s+`",
    "formula": "set a formula without `^` and parentheses, with four `*` at most, and with one `:` or `*` if it has `.`",
    "vector": "set a vector of at most 1,048,576 elements",
    "matrix": "set a matrix of at most 1,048,576 elements",
}


def check_object(message: Any) -> None:
    """Raise `RequestRefusedError` unless this is an id as Spark gives it. The session in the driver has no objects of others."""
    if message.id != HELPER and not _ID.fullmatch(message.id):
        raise RequestRefusedError(
            "the id of a model or summary is not one that Spark has given; use the model that `fit` returned"
        )


def check_fit(message: Any) -> None:
    """Raise `RequestRefusedError` unless what is fitted is an estimator."""
    _require_kind(message.estimator, "estimator")


def check_evaluation(message: Any) -> None:
    """Raise `RequestRefusedError` unless what evaluates is an evaluator."""
    _require_kind(message.evaluator, "evaluator")


def check_transform(message: Any) -> None:
    """Raise `RequestRefusedError` unless the rows are transformed by a transformer or a model."""
    if message.HasField("transformer"):
        _require_kind(message.transformer, "transformer")
    elif message.obj_ref.id == HELPER:
        raise RequestRefusedError("the transformation names no model; use the model that `fit` returned")


def _require_kind(operator: Any, kind: str) -> None:
    if operator.type != _KINDS[kind]:
        raise RequestRefusedError(
            f"`{operator.name[:100]}` is used as {kind}, and it is none; use a PySpark 4.1 client"
        )


def check_fetch(message: Any) -> None:
    """Raise `RequestRefusedError` unless all methods of the chain are listed, with the types of their arguments."""
    if not 1 <= len(message.methods) <= _MOST_METHODS:
        raise RequestRefusedError("the call names no method of the model, or too many; use a PySpark 4.1 client")
    for method in message.methods:
        _check_method(method, (_OF_HELPER if message.obj_ref.id == HELPER else "") + method.method)


def _check_method(method: Any, name: str) -> None:
    expected = METHODS.get(name)
    if expected is None:
        raise RequestRefusedError(
            f"the method `{method.method[:100]}` of models and summaries is not allowed; use the attributes that PySpark documents"
        )
    given = method.args
    if len(given) > len(expected) or not all(map(_is_argument, given, expected)):
        raise RequestRefusedError(
            f"the arguments of the method `{method.method}` are not allowed; use the types that PySpark documents"
        )


def _is_argument(argument: Any, kinds: tuple[str, ...]) -> bool:
    if argument.HasField("input"):
        return "rows" in kinds
    return any(kind != "rows" and is_value(kind, argument.param, _ARGUMENTS.get(kind, ANY_NUMBER)) for kind in kinds)


def check_user_type(message: Any) -> None:
    """Raise `RequestRefusedError` for all user-defined types but Spark's own vectors and matrices: Spark loads their classes."""
    python = PYTHON_CLASSES.get(message.jvm_class)
    if python is None or message.python_class not in {"", python} or message.serialized_python_class:
        raise RequestRefusedError(
            "user-defined types are not allowed, except the vectors and matrices of `pyspark.ml`: they load classes by name; use a built-in type"
        )


def drop_summary_dataset(relation: Any) -> None:
    """Remove the rows by which Spark would restore a summary from a file: Headgate keeps summaries in memory."""
    relation.ClearField("model_summary_dataset")
