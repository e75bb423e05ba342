"""Twenty sentences of chapter 13: each with the same in other words, and nearly the same words with
another meaning. Written before the model that they try was asked."""

TRIPLES = (
    ("The dog bites the man.", "A person is bitten by a hound.", "The man bites the dog."),
    (
        "The doctor paid the actor.",
        "The performer got money from the physician.",
        "The actor paid the doctor.",
    ),
    ("I like this film.", "What a great movie!", "I do not like this film."),
    ("She passed the exam.", "Her test went well.", "She failed the exam."),
    (
        "The train leaves at five.",
        "Departure of the rail service is at 5 pm.",
        "The train leaves at nine.",
    ),
    ("All birds can fly.", "Every feathered animal is able to use its wings.", "No birds can fly."),
    (
        "The king sleeps and the queen works.",
        "While his wife is busy, the ruler has a nap.",
        "The queen sleeps and the king works.",
    ),
    (
        "It is safe to drink the water.",
        "You may swallow what comes out of the tap without fear.",
        "It is not safe to drink the water.",
    ),
    ("Turn the light on.", "Please make it brighter in here.", "Turn the light off."),
    (
        "He opened the door before he sat down.",
        "He took a seat after unlocking the entrance.",
        "He sat down before he opened the door.",
    ),
    ("Prices are going up.", "Everything gets more expensive.", "Prices are going down."),
    (
        "My brother is taller than my sister.",
        "The girl in our family is shorter than the boy.",
        "My sister is taller than my brother.",
    ),
    ("Nobody came to the party.", "The guests all stayed at home.", "Everybody came to the party."),
    (
        "The medicine helps against headaches.",
        "These pills are good when your head hurts.",
        "The medicine causes headaches.",
    ),
    ("We won the match.", "Our team beat the other one.", "We lost the match."),
    ("The cat sees the mouse.", "The rodent is noticed by the feline.", "The mouse sees the cat."),
    ("You must not smoke here.", "Cigarettes are forbidden in this place.", "You may smoke here."),
    (
        "The boy gave the girl a book.",
        "She got something to read from him.",
        "The girl gave the boy a book.",
    ),
    ("I always eat meat.", "Steak and sausages are my daily food.", "I never eat meat."),
    (
        "The model is larger than the data.",
        "There is less text than there are weights.",
        "The data is larger than the model.",
    ),
)
