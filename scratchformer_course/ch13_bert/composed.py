"""Sentences that a reader of chapter 13 puts together, and what each of them says."""

# a noun, and who it is: two have two names
NOUNS = (("doctor", 0), ("physician", 0), ("actor", 1), ("performer", 1), ("dog", 2), ("cat", 3))
# a verb, what is done, and whether the noun after it is the one who does it
VERBS = (
    ("paid", 0, False),
    ("was paid by", 0, True),
    ("gave money to", 0, False),
    ("got money from", 0, True),
    ("saw", 1, False),
    ("was seen by", 1, True),
)


def composed() -> list[tuple[str, tuple[int, int, int]]]:
    """All sentences of two who are not the same: (sentence, (what is done, by whom, to whom))."""
    made = []
    for first, who in NOUNS:
        for verb, done, is_turned in VERBS:
            for second, other in NOUNS:
                if who != other:
                    acts, is_acted_on = (other, who) if is_turned else (who, other)
                    made.append((f"The {first} {verb} the {second}.", (done, acts, is_acted_on)))
    return made
