"""What a hint quotes as code reaches the page as it is written."""

import re

from bs4 import BeautifulSoup

from book._ext.exercise_ext import inline
from tests.chapters.tables import ALL, of


@of(ALL)
def test_code_in_a_hint_keeps_its_asterisks_on_the_page(exercise):
    for hint in exercise.hints:
        codes = BeautifulSoup(inline(hint), "html.parser").select("code")
        assert [code.get_text() for code in codes] == re.findall("`([^`]+)`", hint)
        assert not any(code.find("em") for code in codes)
