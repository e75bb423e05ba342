"""What a search finds, and what it shows of it."""

import pytest

from tests.site.browsing import opened

LINES_OF_CODE = """address => fetch(address).then(page => page.text()).then(text => {
  const page = new DOMParser().parseFromString(text, 'text/html');
  return [...page.querySelectorAll('article pre')].flatMap(box => box.textContent.split('\\n'));
})"""


@pytest.mark.parametrize("word", ["softmax", "manual_seed"])  # in prose, and in code alone
def test_a_result_opens_at_the_section_with_the_words_and_shows_prose_alone(browser, server, word):
    with opened(browser, f"{server}search.html?q={word}") as page:
        results = page.locator("#search-results li:has(.context)")
        page.wait_for_function(
            """() => {
              const all = [...document.querySelectorAll('#search-results li')];
              return all.length > 5 && all.every(item => item.querySelector('.context'));
            }"""
        )
        found = [
            (item.locator("a").first.evaluate("a => a.href"), item.locator("p").inner_text())
            for item in results.all()[:5]
        ]
        for address, excerpt in found:
            lines = {" ".join(line.split()) for line in page.evaluate(LINES_OF_CODE, address)}
            assert not [line for line in lines if len(line) > 15 and line in excerpt]
            assert len(excerpt) < 400
        address = next(a for a, _ in found if "/notebooks/" in a and "#" in a)
        page.goto(address)
        section = page.locator(f"[id='{address.split('#')[1]}']")
        assert word in section.text_content().lower()
        page.locator("article .highlighted").first.wait_for(state="attached")


def test_a_search_from_disk_lists_pages_and_complains_of_nothing(browser, site):
    with opened(browser, (site / "search.html").as_uri() + "?q=softmax") as page:
        page.locator("#search-results li a").nth(5).wait_for()


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("install", "book/how_to_use"),
        ("colab", "book/how_to_use"),
        ("loss is nan", "notebooks/11_training"),
        ("train on my own text", "book/train_in_this_tab"),
        ("atention", "notebooks/06_self_attention"),  # a letter is missing
        ("sfotmax", "notebooks/05_averaging"),  # two have changed places
    ],
)
def test_a_search_answers_while_one_types_and_reads_a_typo(browser, site, words, answer):
    with opened(browser, (site / "search.html").as_uri()) as page:
        page.locator(".bd-search-container input").press_sequentially(words)
        page.locator(f"#search-results li:nth-child(-n + 3) a[href^='{answer}']").wait_for()


def test_an_entry_of_the_glossary_is_found_once_by_its_name(browser, site):
    with opened(browser, (site / "search.html").as_uri() + "?q=perplexity") as page:
        found = page.locator("#search-results li a[href^='book/glossary']")
        found.first.wait_for()
        assert found.all_inner_texts() == ["perplexity · Glossary"]
