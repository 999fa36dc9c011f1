"""Values of machine-learning parameters and arguments: literals, checked by the types and ranges of the guard's lists."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_ELEMENTS: Final = 1 << 20
"""The limit of elements of a vector, matrix or list in a request."""
_LONGEST: Final = 4096
"""Characters of a text."""
_WORD: Final = re.compile(r"[A-Za-z0-9_.+-]{1,128}")
_ANYTHING: Final = r"[\s\S]"
_ATOM: Final = r"(?:\\[sSwWdDtnr.,;:|/-]|\[\^?(?:[^\[\]\\&^]|\\[sSwWdD.,;:|/-])+\]|[^\\\[\](){}*+?.^$|])"
_EXPRESSION: Final = re.compile(rf"(?={_ANYTHING}{{0,128}}\Z){_ATOM}*(?:{_ATOM}[+*?])?", re.DOTALL)
"""A regular expression whose last part only may repeat: with others, one text can take Java longer than any statement may run."""
_TERMS: Final = r"[A-Za-z0-9_.~+\s-]*"
_NAMED: Final = r"[A-Za-z0-9_~+\s:-]*"
_FORMULA: Final = re.compile(
    rf"(?={_ANYTHING}{{0,1000}}\Z){_TERMS}(?:[:*]{_TERMS})?|{_NAMED}(?:\*{_NAMED}){{0,4}}", re.DOTALL
)
"""A formula of R without powers and parentheses, and with few products: Spark writes all terms out."""
_INTEGERS: Final = frozenset({"byte", "short", "integer", "long"})
_NUMBERS: Final = _INTEGERS | {"float", "double"}
VECTOR: Final = "org.apache.spark.ml.linalg.VectorUDT"
MATRIX: Final = "org.apache.spark.ml.linalg.MatrixUDT"
PYTHON_CLASSES: Final = {
    f"org.apache.spark.{part}.linalg.{name}": f"pyspark.{part}.linalg.{name}"
    for part in ("ml", "mllib")
    for name in ("VectorUDT", "MatrixUDT")
}
"""The types of vectors and matrices, each with the class by which a PySpark client reads it."""

Bounds = tuple[float, float]
ANY_NUMBER: Final[Bounds] = (float("-inf"), float("inf"))


def is_value(kind: str, literal: Any, bounds: Bounds = ANY_NUMBER) -> bool:
    """Return whether a literal has a type of `ml-parameters.txt`, and all numbers in it are within the bounds."""
    return _CHECKS[kind](literal, bounds)


def _is_flag(literal: Any, _: Bounds) -> bool:
    return literal.WhichOneof("literal_type") == "boolean"


def _is_integer(literal: Any, bounds: Bounds) -> bool:
    kind = literal.WhichOneof("literal_type")
    return kind in _INTEGERS and bounds[0] <= getattr(literal, kind) <= bounds[1]


def _is_number(literal: Any, bounds: Bounds) -> bool:
    kind = literal.WhichOneof("literal_type")
    if kind not in _NUMBERS:
        return False
    # NaN is within no bounds, and allowed where there are none.
    return bounds == ANY_NUMBER or bounds[0] <= getattr(literal, kind) <= bounds[1]


def _is_text(literal: Any, _: Bounds) -> bool:
    return literal.WhichOneof("literal_type") == "string" and len(literal.string) <= _LONGEST


def _matches(expression: re.Pattern[str]) -> Callable[[Any, Bounds], bool]:
    return lambda literal, bounds: _is_text(literal, bounds) and expression.fullmatch(literal.string) is not None


def _each(check: Callable[[Any, Bounds], bool]) -> Callable[[Any, Bounds], bool]:
    """Return the check of a list, which PySpark writes as an array of literals or as an array of plain values."""

    def is_list(literal: Any, bounds: Bounds) -> bool:
        kind = literal.WhichOneof("literal_type")
        if kind == "array":
            return len(literal.array.elements) <= MAX_ELEMENTS and all(
                check(each, bounds) for each in literal.array.elements
            )
        return kind == "specialized_array" and _are_plain(literal, check, bounds)

    return is_list


def _are_plain(literal: Any, check: Callable[[Any, Bounds], bool], bounds: Bounds) -> bool:
    kind = literal.specialized_array.WhichOneof("value_type")
    if kind not in _PLAIN_FIELDS:
        return False
    values = getattr(literal.specialized_array, kind).values
    if len(values) > MAX_ELEMENTS:
        return False
    probe = type(literal)()
    for value in values:
        setattr(probe, _PLAIN_FIELDS[kind], value)
        if not check(probe, bounds):
            return False
    return True


_PLAIN_FIELDS: Final[Mapping[str, str]] = {
    "bools": "boolean",
    "ints": "integer",
    "longs": "long",
    "floats": "float",
    "doubles": "double",
    "strings": "string",
}


def _is_vector(literal: Any, _: Bounds) -> bool:
    """Return whether this is a vector: its kind (1 is dense), size, indices and values."""
    if not _is_struct(literal, VECTOR, 4):
        return False
    kind, size, indices, values = literal.struct.elements
    if len(values.specialized_array.doubles.values) > MAX_ELEMENTS:
        return False
    if kind.byte == 1:
        return True
    return 0 <= size.integer <= MAX_ELEMENTS and len(indices.specialized_array.ints.values) <= MAX_ELEMENTS


def _is_matrix(literal: Any, _: Bounds) -> bool:
    """Return whether this is a matrix: its kind, rows, columns, pointers and indices of a sparse one, values, transposition."""
    if not _is_struct(literal, MATRIX, 7):
        return False
    rows, columns = literal.struct.elements[1:3]
    return min(rows.integer, columns.integer) >= 0 and rows.integer * columns.integer <= MAX_ELEMENTS


def _is_struct(literal: Any, of: str, parts: int) -> bool:
    if literal.WhichOneof("literal_type") != "struct":
        return False
    struct = literal.struct
    return struct.struct_type.udt.jvm_class == of and len(struct.elements) == parts


_CHECKS: Final[Mapping[str, Callable[[Any, Bounds], bool]]] = {
    "flag": _is_flag,
    "integer": _is_integer,
    "number": _is_number,
    "text": _is_text,
    "column": _is_text,
    "word": _matches(_WORD),
    "online": _matches(re.compile("(?i:online)")),
    "expression": _matches(_EXPRESSION),
    "formula": _matches(_FORMULA),
    "vector": _is_vector,
    "matrix": _is_matrix,
    "integers": _each(_is_integer),
    "numbers": _each(_is_number),
    "texts": _each(_is_text),
    "columns": _each(_is_text),
    "number-lists": _each(_each(_is_number)),
    "text-lists": _each(_each(_is_text)),
}
