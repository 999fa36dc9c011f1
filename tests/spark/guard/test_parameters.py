"""Every argument that is not an expression has been reviewed.

This covers the expressions on the list, and the functions that parse text.
"""

from collections.abc import Iterator, Mapping

import pytest

from headgate.spark.toolchain.jars import spark_jars
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.bytecode import Bytecode, read
from tests.spark.guard.plan_page import TABLES, expressions

pytestmark = pytest.mark.spark

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_REGISTRY = "org.apache.spark.sql.catalyst.analysis.FunctionRegistry$"
_NODES = frozenset(
    {
        *(
            "Expression",
            "NamedExpression",
            "Attribute",
            "SortOrder",
            "Literal",
            "ListQuery",
            "Generator",
            "LambdaVariable",
        ),
        *("CommonExpressionDef", "Assignment", "WindowSpecDefinition", "OptionList", "DefaultValueExpression"),
        *("FieldPosition", "FieldName", "AggregateFunction"),
    }
)
"""Types of expressions, which the guard checks as separate nodes."""
_PARSES = (
    *("evalSchemaExpr", "evalTypeExpr", "parseTypeWithFallback", "fromDDL", "parseTableSchema"),  # schemas
    *("convertToMapData", "classForName", "ObjectInputStream", "javax/xml"),  # options, classes, objects, documents
    *("org/apache/hadoop/fs/Path", "java/io/File", "java/net/URL", "SparkFiles"),  # paths
)
"""Names to which code refers if it parses a text as a schema, a map of options, a class, a path or a document."""
_REVIEWED = {
    "approx_top_k": "the text of a type that Spark itself wrote into the state; read as DDL, which names no class",
    "approx_top_k_accumulate": "the same",
    "approx_top_k_combine": "the same",
    "approx_top_k_estimate": "the same",
}
"""Functions that refer to such code and have no argument for it that a caller writes."""


@pytest.fixture(scope="module")
def found(toolchain: Toolchain) -> Mapping[str, Bytecode]:  # noqa: ARG001 (without a toolchain there are no classes to read)
    """Return the classes of Spark SQL."""
    folders = {"catalyst": "sql/", "sql": "sql/", "mllib": "ml/stat/"}
    return {
        name: each
        for part, folder in folders.items()
        for jar in spark_jars().glob(f"spark-{part}_*.jar")
        for name, each in read(jar, f"org/apache/spark/{folder}").items()
    }


def entries() -> Mapping[tuple[str, str], frozenset[str]]:
    """Return the types of the table's entries by class and parameter."""
    table: dict[tuple[str, str], frozenset[str]] = {}
    for owner, name, kind, _ in lines("expression-parameters"):
        table[owner, name] = table.get((owner, name), frozenset()) | {kind}
    return table


def lines(name: str) -> Iterator[list[str]]:
    """Yield the words of each line of a table."""
    for line in (TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if words := line.partition("#")[0].split():
            yield words


def is_node(kind: str) -> bool:
    """Return whether values of this type contain only expressions."""
    for holder in ("Seq<", "Option<"):
        if kind.startswith(holder):
            return is_node(kind.removeprefix(holder)[:-1])
    if kind.startswith("Tuple2<"):
        return all(map(is_node, kind.removeprefix("Tuple2<")[:-1].split(",")))
    return kind in _NODES


def parameters(found: Mapping[str, Bytecode]) -> Iterator[tuple[str, str, str]]:
    """Yield class, name and type of each parameter that is not an expression.

    The name of a parameter in a second parameter list is unknown.
    """
    for name in expressions():
        owner = found.get(name) or found[f"{name}$"]
        kinds, names = owner.parameters(), owner.element_names()
        for at, kind in enumerate(kinds):
            if not is_node(kind):
                yield name.removeprefix(_EXPRESSIONS), names[at] if at < len(names) else "", kind


def test_every_parameter_of_a_reviewed_expression_has_an_entry(found: Mapping[str, Bytecode]) -> None:
    table = entries()
    every = list(parameters(found))

    def has_entry(owner: str, name: str, kind: str) -> bool:
        if name:
            return kind in table.get((owner, name), table.get(("*", name), ()))
        return any(kind in kinds for (each, _), kinds in table.items() if each in (owner, "*"))

    assert len(every) > 400
    assert [each for each in every if not has_entry(*each)] == []


def test_every_entry_is_for_a_parameter_that_exists(found: Mapping[str, Bytecode]) -> None:
    every = {(owner, name) for owner, name, _ in parameters(found)}
    seconds = {owner for owner, name, _ in parameters(found) if not name}
    used = every | {("*", name) for _, name in every}

    assert [each for each in entries() if each not in used and each[0] not in seconds] == []


def test_every_entry_names_one_of_the_rules() -> None:
    rules = {words[3].partition(":")[0] for words in lines("expression-parameters")}

    assert rules == {"safe", "limited", "type", "schema", "metadata", "options", "function", "class"}


def classes_of(found: Mapping[str, Bytecode]) -> Mapping[str, str]:
    """Return the class that the registry creates for each function; casts by the name of a type have no class."""
    functions, made, last = {words[0] for words in lines("functions")}, dict[str, str](), ""
    for text in (*found[_REGISTRY].loads("<init>"), *found[_REGISTRY].loads("<clinit>")):
        if text in functions:
            last = text
        elif last and text.startswith("org/apache/spark/"):
            made[last], last = text.replace("/", "."), ""
    return made


def parses(found: Mapping[str, Bytecode], name: str) -> bool:
    """Return whether the code of a class, or of a class that it extends, parses a text."""
    waiting, seen = [name, f"{name}$"], set[str]()
    while waiting:
        each = waiting.pop()
        if each in found and each not in seen:
            seen.add(each)
            if any(map(found[each].refers_to, _PARSES)):
                return True
            waiting.extend(found[each].parents)
    return False


def test_every_function_that_parses_a_text_has_an_entry(found: Mapping[str, Bytecode]) -> None:
    made = classes_of(found)
    reviewed = {words[0] for words in lines("function-arguments")} | set(_REVIEWED)
    parsing = {name for name, each in made.items() if parses(found, each)}

    assert len(made) > 450
    assert {"from_json", "from_csv", "from_xml", "schema_of_xml", "variant_get"} <= parsing
    assert parsing - reviewed == set()
    assert {words[0] for words in lines("function-arguments")} <= made.keys()
