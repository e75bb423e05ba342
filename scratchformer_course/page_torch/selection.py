"""The k best of a row, in the order in which PyTorch gives them, even where numbers are equal.

Which of equal numbers comes first is left open by PyTorch, and decided by the C++ library that it
is built with (libstdc++): `partial_sort`, by a heap, if k is small, else `nth_element`, by
partitions around the median of three (Musser, 1997), and `sort` for what comes before.
"""

from collections.abc import Callable
from functools import cmp_to_key

Before = Callable[[int, int], bool]
FEW = 64  # a heap is used if k times this many fit into a row
SMALL, SHORT = 3, 16  # numbers that are sorted by insertion


def best(row: list, k: int, largest: bool) -> list[int]:
    """The places of the k largest numbers (or smallest), the best first; nan is the largest."""

    def before(i: int, j: int) -> bool:
        x, y = (row[i], row[j]) if largest else (row[j], row[i])
        return (x != x and y == y) or x > y

    places = list(range(len(row)))
    if not k:
        return []
    if k * FEW <= len(row):
        _heap_select(places, k, 0, len(places), before)
        for end in range(k - 1, 0, -1):
            _pop(places, 0, end, end, before)
        return places[:k]
    _select(places, k - 1, before)
    _sort(places, 0, k - 1, before)
    return places[:k]


def in_sorted_order(row: list, descending: bool, stable: bool) -> list[int]:
    """The places of all numbers in order; nan is the largest."""

    def before(i: int, j: int) -> bool:
        x, y = (row[i], row[j]) if descending else (row[j], row[i])
        return (x != x and y == y) or x > y

    places = list(range(len(row)))
    if stable:
        _by_insertion(places, 0, len(places), before)
    else:
        _sort(places, 0, len(places), before)
    return places


def _by_insertion(places: list[int], first: int, last: int, before: Before) -> None:
    """Equal ones stay in their order."""
    key = cmp_to_key(lambda i, j: before(j, i) - before(i, j))
    places[first:last] = sorted(places[first:last], key=key)


def _select(places: list[int], nth: int, before: Before) -> None:
    """Bring the best nth + 1 to the front."""
    first, last = 0, len(places)
    depth = 2 * (len(places).bit_length() - 1)
    while last - first > SMALL:
        if not depth:
            _heap_select(places, nth + 1 - first, first, last, before)
            places[first], places[nth] = places[nth], places[first]
            return
        depth -= 1
        cut = _partition(places, first, last, before)
        first, last = (cut, last) if cut <= nth else (first, cut)
    _by_insertion(places, first, last, before)


def _sort(places: list[int], first: int, last: int, before: Before) -> None:
    start = last
    while start - first > SHORT:
        cut = _partition(places, first, start, before)
        _sort_part(places, cut, start, before)
        start = cut
    _by_insertion(places, first, last, before)


def _sort_part(places: list[int], first: int, last: int, before: Before) -> None:
    """The partitions of `sort`, without the last pass by insertion."""
    while last - first > SHORT:
        cut = _partition(places, first, last, before)
        _sort_part(places, cut, last, before)
        last = cut


def _partition(places: list[int], first: int, last: int, before: Before) -> int:
    """Put those before the median of three in front; where the others begin."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if not before(places[a], places[b]):
        a, b = b, a
    if not before(places[b], places[c]):
        b = c if before(places[a], places[c]) else a
    places[first], places[b] = places[b], places[first]  # the median of the three
    pivot, low, high = places[first], first + 1, last
    while True:
        while before(places[low], pivot):
            low += 1
        high -= 1
        while before(pivot, places[high]):
            high -= 1
        if low >= high:
            return low
        places[low], places[high] = places[high], places[low]
        low += 1


def _heap_select(places: list[int], k: int, first: int, last: int, before: Before) -> None:
    """Keep the best k in a heap, the worst of them on top."""
    for parent in range((k - 2) // 2, -1, -1) if k > 1 else ():
        _sink(places, first, parent, k, places[first + parent], before)
    for i in range(first + k, last):
        if before(places[i], places[first]):
            _pop(places, first, k, i, before)


def _pop(places: list[int], first: int, size: int, to: int, before: Before) -> None:
    """Move the top of the heap to a place, and what was there into the heap."""
    value, places[to] = places[to], places[first]
    _sink(places, first, 0, size, value, before)


def _sink(places: list[int], first: int, hole: int, size: int, value: int, before: Before) -> None:
    """Fill a hole of the heap with the larger children below it, and put a value at its end."""
    top, child = hole, hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if before(places[first + child], places[first + child - 1]):
            child -= 1
        places[first + hole], hole = places[first + child], child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        places[first + hole], hole = places[first + child - 1], child - 1
    parent = (hole - 1) // 2
    while hole > top and before(places[first + parent], value):
        places[first + hole], hole = places[first + parent], parent
        parent = (hole - 1) // 2
    places[first + hole] = value
