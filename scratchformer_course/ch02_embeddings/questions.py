"""What the vectors are asked: words that belong together, and pairs of one relation.

The lists were written before any of them was asked. Those with a word that the chapter's vocabulary
lacks are left out.
"""

LISTS = {
    "family": "father mother brother sister wife husband",
    "body": "eye hand heart tongue head face",
    "war": "sword war battle soldiers army fight",
    "grief": "grief sorrow tears woe weep sighs",
    "nature": "sun moon sea wind fire earth",
    "law": "law judge prison guilty justice pardon",
    "speech": "speak tell talk answer word speech",
    "money": "gold money rich poor crowns pay",
    "food": "drink eat meat wine feast supper",
    "numbers": "two three four five six ten",
    "limbs": "knee neck nose teeth finger throat",
    "colours": "black white red green golden silver",
    "anger": "anger angry rage fury wrath hate",
    "joy": "joy happy merry laugh smile pleasure",
    "vices": "pride envy malice vice folly sin",
    "foes": "friend friends foe foes enemy enemies",
    "birth": "born birth child children babe womb",
    "people": "man woman boy girl youth widow",
}

MAN_WOMAN = (
    "king queen, father mother, brother sister, son daughter, husband wife, man woman, "
    "men women, boy girl, lords ladies, himself herself, gentleman gentlewoman"
)
