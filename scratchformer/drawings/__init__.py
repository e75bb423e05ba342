"""The course's drawings: pictures of ideas, in SVG that takes the page's own colours.

`canvas` has the pen; every other module draws for the chapter of its name, or for a page: `ring`
for that on several machines, `trainer` for that on training in a tab, `typed_array` for that on the
model in JavaScript. Nothing is imported but IPython, and nothing is computed: what a drawing shows
that a model computed is given to it.
"""
