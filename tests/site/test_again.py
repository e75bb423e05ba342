"""Again: one guess of an earlier chapter at a chapter's foot, once its rest is over."""

import json
from urllib.parse import quote

import pytest

from tests.node import Node
from tests.site.browsing import STORED, opened, reload

in_node = Node(V="../book/_assets/guess-verdicts.js", A="../book/_assets/again.js")
DUE = ".course-again"
IDS = {"choice": "05_averaging:king-hidden", "numbers": "04_first_network:rates-by-hand"}


def test_a_right_answer_lengthens_the_rest_and_a_wrong_one_begins_anew():
    body = """let place = [0, 0]; const days = [];
      for (const right of input.rights) {
        const day = place[1]; place = A.moved(place, right, day); days.push(place[1] - day);
      }
      return days;"""
    assert in_node(body, rights=[True] * 4 + [False, True]) == [3, 7, 21, 21, 1, 3]


def test_what_is_answered_rests_for_a_day_and_only_earlier_chapters_are_asked():
    kept = {"05_a:x": [1, 103], "03_b:y": [0, 99], "01_c:gone": [3, 90]}
    answered = ["05_a:x", "03_b:y", "02_d:new"]
    registered = in_node(
        "return A.registered(input.kept, input.answered, 100);", kept=kept, answered=answered
    )
    assert registered == {"05_a:x": [1, 103], "03_b:y": [0, 99], "02_d:new": [0, 101]}
    due = "return input.days.map(day => A.due(input.kept, input.page, day));"
    asked = in_node(due, kept=registered, page="05_a", days=[98, 100, 101, 200])
    assert asked == [[], ["03_b:y"], ["03_b:y", "02_d:new"], ["03_b:y", "02_d:new"]]
    assert in_node(due, kept=registered, page="06_e", days=[200])[0][-1] == "05_a:x"


@pytest.mark.parametrize(
    ("asked", "values", "right"),
    [
        ({"choices": "a | b", "answer": "b"}, ["b"], True),
        ({"choices": "a | b", "answer": "b"}, ["a"], False),
        ({"answer": "0.33"}, ["1/3"], True),
        ({"answer": "12", "unit": "%"}, ["14"], False),
        ({"ask": "x | y", "answer": "0 | 1"}, ["0", "1.05"], True),
    ],
)
def test_a_remembered_number_may_be_a_tenth_off(asked, values, right):
    body = "return A.isRight(V.read({ask: 'how many', ...input.asked}), input.values);"
    assert in_node(body, asked=asked, values=values) is right


def guessed_before(site, **guesses):
    """A script that puts answered guesses of these kinds into the store, due by now."""
    lines = []
    kept = {}
    for kind, value in guesses.items():
        page, question = IDS[kind].split(":")
        key = f"course-guess:{quote((site / 'notebooks' / page).as_posix())}:{question}"
        lines.append(f"localStorage.setItem({json.dumps(key)}, {json.dumps(value)});")
        kept[IDS[kind]] = [0, 20000 + len(kept)]
    again = f"localStorage.setItem('course-again', {json.dumps(json.dumps(kept))});"
    return f"if (!localStorage.getItem('course-again')) {{ {''.join(lines)} {again} }}"


def test_a_chapter_asks_what_its_reader_has_answered_earlier_and_nothing_else(visit):
    with visit("notebooks/06_self_attention") as page:
        page.wait_for_load_state("load")
        assert page.locator(DUE).count() == 0 and "guesses.js" not in page.content()


def test_it_is_answered_by_keys_told_linked_and_rests(visit, site):
    script = guessed_before(site, choice="0.87")
    with visit("notebooks/06_self_attention", script=script, faults=[]) as page:
        box = page.locator(DUE)
        box.wait_for()
        assert "05" in box.inner_text() and "king" in box.inner_text()
        assert box.evaluate("e => e.nextElementSibling.matches('.course-end')")
        box.get_by_role("button", name="Answer").click()
        assert "Choose" in box.get_by_role("status").inner_text()
        box.get_by_label("0.33").check()
        box.get_by_role("button", name="Answer").click()
        assert "right" in box.inner_text() and "3 days" in box.inner_text()
        assert page.evaluate("document.activeElement.closest('.course-again') !== null")
        page.emulate_media(media="print")
        assert not box.is_visible()
        page.emulate_media(media="screen")
        reload(page)
        page.wait_for_load_state("load")
        assert page.locator(DUE).count() == 0, page.evaluate(STORED)
        page.goto((site / "notebooks" / "05_averaging.html").as_uri())
        assert page.locator(DUE).count() == 0


def test_the_link_leads_to_the_section_and_several_numbers_can_be_asked(visit, site):
    script = guessed_before(site, numbers="1 | 1", choice="0")
    with visit("notebooks/07_multi_head", script=script, faults=[]) as page:
        page.locator(DUE).wait_for()
        for field, text in zip(
            page.locator(DUE).get_by_role("textbox").all(), ("1", "1"), strict=True
        ):
            field.fill(text)
        page.locator(DUE).get_by_role("button", name="Answer").click()
        assert "tomorrow" in page.locator(DUE).inner_text()
        page.locator(DUE).get_by_role("link").click()
        page.wait_for_url("**/04_first_network.html#*")
        assert page.evaluate("document.getElementById(location.hash.slice(1)) !== null")


def test_without_javascript_nothing_is_asked(browser, site):
    address = (site / "notebooks" / "06_self_attention.html").as_uri()
    with opened(browser, address, javascript=False) as page:
        assert page.locator(DUE).count() == 0
