"""What a search finds, and what it shows of it."""

from tests.site.browsing import opened

LINES_OF_CODE = """address => fetch(address).then(page => page.text()).then(text => {
  const page = new DOMParser().parseFromString(text, 'text/html');
  return [...page.querySelectorAll('article pre')].flatMap(box => box.textContent.split('\\n'));
})"""
DESCRIBED = """() => {
  const all = [...document.querySelectorAll('#search-results li')];
  return all.length > 5 && all.every(item => item.querySelector('.context'));
}"""


def test_a_result_opens_at_the_section_with_the_words_and_shows_prose_alone(browser, server):
    with opened(browser, f"{server}search.html") as page:
        for word in ("softmax", "manual_seed"):  # in prose, and in code alone
            page.goto(f"{server}search.html?q={word}")
            page.wait_for_function(DESCRIBED)
            items = page.locator("#search-results li").all()[:5]
            results = [
                (item.locator("a").first.evaluate("a => a.href"), item.locator("p").inner_text())
                for item in items
            ]
            for address, excerpt in results:
                lines = {" ".join(line.split()) for line in page.evaluate(LINES_OF_CODE, address)}
                assert not [line for line in lines if len(line) > 15 and line in excerpt]
                assert len(excerpt) < 400
            address = next(a for a, _ in results if "/notebooks/" in a and "#" in a)
            page.goto(address)
            section = page.locator(f"[id='{address.split('#')[1]}']")
            assert word in section.text_content().lower()
            page.locator("article .highlighted").first.wait_for(state="attached")


# what is typed, and a page that is then among the first three
ANSWERS = {
    "install": "book/how_to_use",
    "loss is nan": "notebooks/11_training",
    "train on my own text": "book/train_in_this_tab",
    "atention": "notebooks/06_self_attention",  # a letter is missing
    "sfotmax": "notebooks/05_averaging",  # two have changed places
}


def test_from_disk_too_a_search_answers_while_one_types_and_reads_a_typo(browser, site):
    with opened(browser, (site / "search.html").as_uri() + "?q=perplexity") as page:
        entries = page.locator("#search-results li a[href^='book/glossary']")
        entries.first.wait_for()
        assert entries.all_inner_texts() == ["perplexity · Glossary"], "found once, by its name"
        for words, answer in ANSWERS.items():
            page.locator(".bd-search-container input").fill("")
            page.locator(".bd-search-container input").press_sequentially(words)
            first = f"#search-results li:nth-child(-n + 3) a[href^='{answer}']"
            page.locator(first).wait_for()
