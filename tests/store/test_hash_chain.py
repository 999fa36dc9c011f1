"""The canonical text that the hash chain hashes."""

from headgate.store import hash_chain


def test_the_canonical_text_does_not_depend_on_the_order_of_keys() -> None:
    assert (
        hash_chain.canonical_json({"b": 1, "a": "é"})
        == hash_chain.canonical_json({"a": "é", "b": 1})
        == '{"a":"é","b":1}'
    )
