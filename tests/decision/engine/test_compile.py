"""Engines share the compilation of the models in force: only the same objects, by the same names, are compiled once."""

from dataclasses import replace

from headgate.app.deployment import shipped_model
from headgate.decision.engine.compile import compile_models

NEKT, Y42 = shipped_model("nekt"), shipped_model("y42")


def test_the_same_models_are_compiled_once() -> None:
    assert compile_models({"nekt": NEKT, "y42": Y42}) is compile_models({"nekt": NEKT, "y42": Y42})


def test_an_equal_model_of_another_object_is_compiled_on_its_own() -> None:
    other = replace(NEKT)

    assert other == NEKT
    assert compile_models({"nekt": other}).rules["nekt"].model is other
    assert compile_models({"nekt": NEKT}).rules["nekt"].model is NEKT


def test_a_model_under_another_name_is_compiled_on_its_own() -> None:
    assert compile_models({"a": NEKT}) is not compile_models({"b": NEKT})
    assert list(compile_models({"b": NEKT}).rules) == ["b"]
