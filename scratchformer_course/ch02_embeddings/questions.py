"""What the vectors are asked: words that belong together, and pairs that stand in one relation.

The lists were all written before any of them was asked, and chance divides them.
"""

LISTS = {
    "family": "father mother brother sister wife husband",
    "body": "eye hand heart tongue head face",
    "time": "day night hour morning year month",
    "titles": "king queen prince duke earl lady",
    "war": "sword war battle soldiers army fight",
    "grief": "grief sorrow tears woe weep sighs",
    "nature": "sun moon sea wind fire earth",
    "death": "death grave dead tomb buried bones",
    "animals": "lion horse dog lamb sheep beast",
    "law": "law judge prison guilty justice pardon",
    "church": "holy church prayers bishop heaven soul",
    "speech": "speak tell talk answer word speech",
    "love": "love marry maid kiss bride wedding",
    "money": "gold money rich poor crowns pay",
    "places": "rome london england france naples padua",
    "food": "drink eat meat wine feast supper",
    "numbers": "two three four five six ten",
    "limbs": "knee neck nose teeth finger throat",
    "illness": "sick sickness cure remedy plague pain",
    "colours": "black white red green golden silver",
    "weather": "storm thunder clouds cold winter weather",
    "garden": "garden flower flowers trees fruit plant",
    "crime": "traitor treason villain murder murderer thief",
    "fear": "fear danger dreadful terror tremble peril",
    "anger": "anger angry rage fury wrath hate",
    "joy": "joy happy merry laugh smile pleasure",
    "virtues": "patience virtue honesty wisdom courage goodness",
    "vices": "pride envy malice vice folly sin",
    "house": "house door chamber bed chair gate",
    "ship": "ship sail shore tide isle boatswain",
    "senate": "consul senate tribunes senators capitol volsces",
    "music": "music musician sing tune dance drums",
    "writing": "letter paper read write book seal",
    "sleep": "sleep slept asleep awake dream dreams",
    "learning": "teach taught learn study school knowledge",
    "foes": "friend friends foe foes enemy enemies",
    "servants": "servant master slave knave page servingman",
    "birth": "born birth child children babe womb",
    "people": "man woman boy girl youth widow",
    "oaths": "oath swear sworn vow vows forsworn",
}

RELATIONS = {
    "man : woman": (
        "king queen, father mother, brother sister, son daughter, husband wife, "
        "man woman, men women, boy girl, prince princess, duke duchess, lord lady, "
        "lords ladies, he she, himself herself, gentleman gentlewoman, him her"
    ),
    "one : many": (
        "hand hands, eye eyes, tear tears, heart hearts, sword swords, king kings, "
        "brother brothers, friend friends, son sons, daughter daughters, horse horses, "
        "soldier soldiers, word words, flower flowers, house houses, thought thoughts, "
        "dream dreams, foe foes, enemy enemies, drum drums, head heads, father fathers, "
        "year years, hour hours, day days, subject subjects"
    ),
    "now : then": (
        "come came, go went, know knew, see saw, give gave, hear heard, love loved, "
        "kill kill'd, send sent, think thought, make made, get got, bring brought, "
        "speak spoke, stand stood, say said, find found, lose lost, keep kept, die died, "
        "fight fought, bear borne"
    ),
}
