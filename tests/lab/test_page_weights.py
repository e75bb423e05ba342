"""What a page weighs: itself and each file that it names, once."""

import gzip

from lab import page_weights

HTML = """<link rel="stylesheet" href="_static/theme.css?v=1"><link rel="next" href="other.html">
<script src="_static/a.js"></script><script defer="defer" src="_static/live/fig.js"></script>
<link as="script" href="_static/a.js" rel="preload"><img alt="" src="_images/p.svg">
<script src="_static/tex-chtml-full.js"></script><script>inline("src='x.js'")</script>
<img src="data:image/gif;base64,AAAA">"""
SIZES = {"theme.css": 1000, "a.js": 300, "live/fig.js": 700, "tex-chtml-full.js": 9000}


def test_each_file_counts_once_and_where_it_belongs(tmp_path):
    files = {f"_static/{name}": "a" * n for name, n in SIZES.items()}
    files |= {"index.html": HTML, "_images/p.svg": "d" * 50, "_static/font.woff2": "g" * 400}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    sizes = page_weights.sizes(tmp_path, "index", [tmp_path / "_static/font.woff2"])
    parts = {"html": len(HTML), "live": 700, "pictures": 50, "mathjax": 9000, "fonts": 400}
    every = {"all": sum(map(len, files.values()))}
    assert {part: size[0] for part, size in sizes.items()} == parts | every
    assert sizes["live"][1] == len(gzip.compress(b"a" * 700, 6, mtime=0))
