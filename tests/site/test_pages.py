"""The built pages as files: all there, figures described, links that lead somewhere, no CDN."""

import copy
import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urldefrag, urlsplit

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from book._ext.course_ext import has_address
from tests.site.browsing import parsed

ROOT = Path(__file__).resolve().parents[2]
LOADS = "script[src], link[href], img[src], iframe[src], source[src]"
REPOSITORY = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"]
# <link> elements that name a page and load nothing
NAMES_ONLY = {"index", "search", "next", "prev", "canonical", "alternate", "author", "copyright"}
MOST_WORDS = 2600  # open on the page of a chapter that names its moment
FOLDED = "script, style, svg, nav, pre, details > *:not(summary), .tag_remove-input .cell_input"


class Page:
    """What the checks need of one page: its ids, links, images, and what it loads."""

    def __init__(self, tree: BeautifulSoup):
        self.ids = [part["id"] for part in tree.select("[id]")]
        self.ids += [anchor["name"] for anchor in tree.select("a[name]")]
        self.links = [link["href"] for link in tree.select("a[href]")]
        self.images = tree.select("img")
        self.meta = {
            tag.get("name") or tag.get("property"): tag.get("content")
            for tag in tree.select("meta")
        }
        self.loads = [
            tag[source]
            for tag in tree.select(LOADS)
            for source in ("src", "href")
            if tag.get(source) and not NAMES_ONLY & set(tag.get("rel", ()))
        ]


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    files = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path: Page(parsed(path)) for path in files}


def outside(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def faults_of_links(path: Path, page: Page, pages: dict[Path, Page]):
    """Links and loads of `page` that lead to no file, or to no anchor in it."""
    for address in page.links + page.loads:
        if outside(address) or address.startswith("data:"):
            continue
        file, anchor = urldefrag(address)
        file = unquote(file.split("?")[0])
        target = (path.parent / file).resolve() if file else path
        if not target.is_file():
            yield f"{address}: no such file"
        elif anchor and target in pages and unquote(anchor) not in pages[target].ids:
            yield f"{address}: no such anchor"


def test_page_is_described_for_search_engines_and_shared_links(page_name, site, pages):
    owner, name = REPOSITORY.split("/")[-2:]
    base = f"https://{owner}.github.io/{name}/"
    address = f"{base}{page_name}.html"
    meta = pages[site / f"{page_name}.html"].meta
    page = parsed(site / f"{page_name}.html")
    title = page.article.h1.find(string=True)
    assert 20 < len(meta["description"]) <= 200
    assert not set(meta["description"]) & set("$\\{}<>"), "markup in the description"
    assert meta["og:description"] == meta["description"] and meta["og:title"] == title
    assert page.find("link", rel="canonical")["href"] == meta["og:url"] == address
    card = meta["og:image"].removeprefix(base)
    assert page_name.replace("/", "_") in card and len(meta["og:image:alt"]) > 20
    assert (site / card).read_bytes()[16:24] == bytes.fromhex("0000047a00000258"), "1146 by 600"
    assert meta["twitter:card"] == "summary_large_image"
    assert len(page.find_all("h1")) == 1
    parts = page.title.get_text().split(" — ")
    assert len(parts) == len(set(parts)) and parts[-1] == "Transformers from Scratch", "said once"
    reports = page.select(".course-report a")
    if has_address(REPOSITORY):
        report = urlsplit(reports[0]["href"])
        assert report._replace(query="").geturl() == REPOSITORY + "/issues/new"
        assert parse_qs(report.query)["title"] == [f"Error on the page “{title.strip()}”"]
    else:
        assert not reports


def test_chapters_are_shared_with_pictures_of_their_own(site):
    folder = site / "_images" / "social_previews"
    names = [path.stem for path in (site / "notebooks").glob("[0-9]*.html")]
    pictures = [(folder / f"notebooks_{name}.png").read_bytes() for name in names]
    assert len(set(pictures)) == len(names) > 20 and max(map(len, pictures)) < 40_000


def test_a_chapter_that_names_its_moment_is_read_to_its_end(chapter, site):
    notebook = nbformat.read(ROOT / f"{chapter}.ipynb", as_version=4)
    if not notebook.metadata.get("moment"):
        pytest.skip("its moment is not named")
    article = copy.copy(parsed(site / f"{chapter}.html").article)
    for part in article.select(FOLDED):
        part.extract()
    words = re.findall(r"[A-Za-zÀ-ÿ’'–-]+", article.get_text(" "))
    assert len(words) <= MOST_WORDS


def test_a_chapter_numbers_and_describes_its_figures_and_hands_out_its_notebook(
    chapter, site, pages
):
    article, path = parsed(site / f"{chapter}.html").article, f"{chapter}.ipynb"
    captions = article.select("figcaption .caption-number")
    number = int(chapter.split("/")[1].split("_")[0])
    expected = [f"Fig. {number}.{i}" for i in range(1, len(captions) + 1)]
    assert [caption.get_text().strip() for caption in captions] == expected
    for link in article.select('a.internal[href^="#"]:has(.std-numref)'):
        (named,) = article.select(f"[id='{link['href'][1:]}'] .caption-number")
        assert named.get_text().strip() == link.get_text()

    cells = nbformat.read(ROOT / path, as_version=4).cells
    outputs = [out for cell in cells for out in cell.get("outputs", [])]
    stored = [str(output.get("data", {}).get("text/html", "")) for output in outputs]
    drawn = sum(html.startswith('<svg class="course-') for html in stored)
    shown = article.select("figure svg[class^=course-]")
    assert len(shown) == drawn > 0
    assert [svg for svg in shown if svg.get("role") != "img" or len(svg["aria-label"]) < 20] == []

    links = pages[site / f"{chapter}.html"].links
    assert any(link.endswith(f"/{path.split('/')[1]}") and not outside(link) for link in links)
    slug = REPOSITORY.removeprefix("https://github.com/")
    address = f"https://colab.research.google.com/github/{slug}/blob/main/{path}"
    colab = [link for link in links if "colab" in link]
    assert colab == ([address] if has_address(slug) else [])


def test_site_carries_one_script_of_mathjax_and_its_fonts(site):
    scripts = (site / "_static").rglob("*.js")
    names = {path.name for path in scripts if "MathJax" in path.read_text(encoding="utf-8")}
    assert names - {"course.js"} == {"tex-chtml-full.js"}  # which only asks it when it is done
    fonts = {path.name for path in (site / "_static" / "output" / "chtml").rglob("*.*")}
    assert {"MathJax_Main-Regular.woff", "MathJax_Math-Italic.woff"} < fonts
    assert (site / "_static" / "mathjax-LICENSE.txt").is_file()


def test_a_silent_bug_shows_a_described_curve_and_hides_its_diagnosis(site):
    article = parsed(site / "book" / "silent_bugs.html").article
    patients = [h3.find_parent("section") for h3 in article.select("h3")]
    assert len(patients) == 30
    for patient in patients:
        (fold,), (curve,) = patient.select("details"), patient.select("svg[role=img]")
        assert not fold.has_attr("open") and fold.select_one(".highlight-diff")
        assert len(curve["aria-label"]) > 80


def test_links_and_anchors_lead_somewhere_and_nothing_is_loaded_from_other_servers(site, pages):
    for path, page in pages.items():
        name = path.relative_to(site)
        assert list(faults_of_links(path, page, pages)) == [], name
        assert [address for address in page.loads if outside(address)] == [], name
    styles = [path for path in site.rglob("*.css") if "url(http" in path.read_text("utf-8")]
    assert styles == []


def test_ids_are_unique_and_images_have_alt_text(site, pages):
    for path, page in pages.items():
        name = path.relative_to(site)
        twice = {anchor for anchor in page.ids if page.ids.count(anchor) > 1}
        # on Python 3.10 the theme is older, and gives its search page two such fields
        assert twice <= ({"search-input"} if name.name == "search.html" else set()), name
        assert [image["src"] for image in page.images if not image.has_attr("alt")] == [], name


def test_no_formula_is_left_as_text(site):
    for path in [*site.glob("notebooks/*.html"), *site.glob("book/*.html")]:
        article = parsed(path).article
        signs = [text for text in article.strings if "$" in text]
        code = {id(text) for tag in article.select("pre, code, .math") for text in tag.strings}
        left = [text for text in signs if id(text) not in code]
        assert left == [], path.relative_to(site)


def test_these_checks_would_notice(tmp_path):
    """A planted page with one fault of each kind."""
    (tmp_path / "b.html").write_text("")
    text = (
        '<a href="b.html#gone"></a><a href="c.html"></a><img src="x.png">'
        '<script src="https://cdn.example/x.js"></script><link rel="next" href="b.html">'
    )
    page = Page(BeautifulSoup(text, "html.parser"))
    pages = {tmp_path / "a.html": page, tmp_path / "b.html": Page(BeautifulSoup("", "html.parser"))}
    faults = list(faults_of_links(tmp_path / "a.html", page, pages))
    assert faults == [
        "b.html#gone: no such anchor",
        "c.html: no such file",
        "x.png: no such file",
    ]
    assert [load for load in page.loads if outside(load)] == ["https://cdn.example/x.js"]
