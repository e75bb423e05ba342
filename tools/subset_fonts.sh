#!/usr/bin/env bash
# The site's two typefaces, cut down to the characters of the book -> book/_assets/fonts.
# It needs npm, and `pip install brotli` beside the pinned fonttools: PATH=.venv/bin:$PATH tools/subset_fonts.sh
#
# Text is Source Serif 4, code is Iosevka, whose letters are half as wide as high: a line of 78 fits
# the column at 15 px. Both are under the SIL Open Font License, which stands beside them. It asks for
# other names of what is changed, so these are called Course Text and Course Code. What a font lacks,
# such as Chinese and emoji, is left to the reader's system.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(mktemp -d)
npm install --silent --prefix "$packages" source-serif@4.5.1 @fontsource/iosevka@5.3.0
cat book/*.md book/*.bib notebooks/*.ipynb scratchformer_course/*/*.py scratchformer_course/*/*/*.py >"$packages/text"

cut() { # name, family, features, font of a package
    pyftsubset "$packages/node_modules/$4" --output-file="$packages/$1.ttf" --text-file="$packages/text" \
        --unicodes=20-7E,A0-17F,2013-201E,2026 --layout-features="$3" --no-hinting --name-IDs=0,1,2,13,14
    python - "$packages/$1.ttf" "book/_assets/fonts/$1.woff2" "$2" <<'PYTHON'
import sys

from fontTools.ttLib import TTFont

source, target, family = sys.argv[1:]
font = TTFont(source)
for record in font["name"].names:
    if record.nameID == 1:
        record.string = family
font.flavor = "woff2"
font.save(target)
PYTHON
}
serif=source-serif/WOFF2/TTF/SourceSerif4 features=kern,liga,tnum,mark,ccmp
cut text-regular "Course Text" $features $serif-Regular.ttf.woff2
cut text-italic "Course Text" $features $serif-It.ttf.woff2
cut text-bold "Course Text" $features $serif-Semibold.ttf.woff2
# no ligatures in code: a reader types != and sees !=
cut code-regular "Course Code" ccmp @fontsource/iosevka/files/iosevka-latin-400-normal.woff2
cp "$packages/node_modules/source-serif/LICENSE.md" book/_assets/fonts/LICENSE-text.md
cp "$packages/node_modules/@fontsource/iosevka/LICENSE" book/_assets/fonts/LICENSE-code.txt
rm -r "$packages"
ls -l book/_assets/fonts
