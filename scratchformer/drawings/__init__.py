"""The course's drawings: pictures of ideas, in SVG that takes the page's own colours.

`canvas` has the pen; every other module draws for the chapter of its name, and `ring` for the page
on several machines. Nothing is imported but IPython, and nothing is computed: what a drawing shows
that a model computed is given to it.
"""
