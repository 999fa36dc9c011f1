from headgate.decision.engine.cache import BoundedCache


class TestAMemo:
    def test_keeps_what_was_put(self) -> None:
        memo = BoundedCache[str, int](10)

        assert memo.put("a", 1) == 1
        assert (memo.get("a"), memo.get("b")) == (1, None)

    def test_starts_anew_when_it_is_full(self) -> None:
        memo = BoundedCache[str, int](2)
        for key in "abc":
            memo.put(key, 1)

        assert [memo.get(key) for key in "abc"] == [None, None, 1]

    def test_begins_where_another_is_but_for_some_keys(self) -> None:
        memo = BoundedCache[str, int](10)
        for key in "abc":
            memo.put(key, 1)
        other = memo.without(("a", "nothing"))

        assert [other.get(key) for key in "abc"] == [None, 1, 1]
        assert [memo.get(key) for key in "abc"] == [1, 1, 1]

    def test_shares_nothing_that_comes_later(self) -> None:
        memo = BoundedCache[str, int](10)
        other = memo.without(())
        memo.put("a", 1)
        other.put("b", 2)

        assert (memo.get("a"), memo.get("b"), other.get("a"), other.get("b")) == (1, None, None, 2)

    def test_is_as_small_at_hand_as_it_is_kept(self) -> None:
        memo = BoundedCache[str, int](2)
        for key in "abcd":
            memo.put(key, 1)
            for older in "abcd":
                memo.get(older)

        assert len(memo.near) <= 2
