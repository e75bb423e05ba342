"""The course around the library: what stands behind the chapters and is not taught by them.

`kit` holds what every chapter uses: the engine that checks exercises, the pen of the drawings, the
harness of live figures, a notebook's set-up. `page_model` is the GPT that computes in the page,
`tab_trainer` the one that learns there, `pages` draws for the pages that are no chapters, and
`measurements` are the stored figures that pages quote. Each chapter has a slice, such as
`ch08_rotary`: its exercises, drawings and live figure. A slice knows the library and the kit, and
no other slice. `teaching` knows their tables: it grades notebooks and gives hints.
"""
