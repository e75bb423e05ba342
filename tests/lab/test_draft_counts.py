"""The draft's table: counted from the text, and only contexts that help stay in it."""

from lab import draft_counts


def test_counts_are_those_of_the_text_the_likeliest_first():
    tables = draft_counts.counted("ab" * 30 + "ac" * 20)
    (row,) = tables[0].values()
    assert [c for c, _ in row] == ["a", "b", "c"]
    assert [p for _, p in row] == [0.5, 0.3, 0.2]
    assert tables[1]["a"] == [("b", 0.6), ("c", 0.4)]
    assert tables[1]["b"] == [("a", 1.0)]


def test_a_context_that_says_nothing_new_is_left_out():
    tables = draft_counts.counted("ab" * 100)
    assert tables[1].keys() == {"a", "b"}
    assert all(not table for table in tables[2:])
    assert len(draft_counts.counted("abcdefg")[1]) == 0, "each is seen once"
