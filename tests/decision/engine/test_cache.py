from headgate.decision.engine.cache import BoundedCache


class TestAMemo:
    def test_a_cache_returns_stored_values(self) -> None:
        memo = BoundedCache[str, int](10)

        assert memo.put("a", 1) == 1
        assert (memo.get("a"), memo.get("b")) == (1, None)

    def test_a_full_cache_starts_anew(self) -> None:
        memo = BoundedCache[str, int](2)
        for key in "abc":
            memo.put(key, 1)

        assert [memo.get(key) for key in "abc"] == [None, None, 1]

    def test_a_cache_without_some_keys_has_the_other_values(self) -> None:
        memo = BoundedCache[str, int](10)
        for key in "abc":
            memo.put(key, 1)
        other = memo.without(("a", "nothing"))

        assert [other.get(key) for key in "abc"] == [None, 1, 1]
        assert [memo.get(key) for key in "abc"] == [1, 1, 1]

    def test_a_derived_cache_shares_no_later_values(self) -> None:
        memo = BoundedCache[str, int](10)
        other = memo.without(())
        memo.put("a", 1)
        other.put("b", 2)

        assert (memo.get("a"), memo.get("b"), other.get("a"), other.get("b")) == (1, None, None, 2)

    def test_the_near_part_of_a_cache_stays_within_its_bound(self) -> None:
        memo = BoundedCache[str, int](2)
        for key in "abcd":
            memo.put(key, 1)
            for older in "abcd":
                memo.get(older)

        assert len(memo.near) <= 2
