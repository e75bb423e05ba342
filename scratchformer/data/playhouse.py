"""Playhouse: endless short plays out of a seeded grammar, whose entropy is known exactly.

It stands in for the real corpora when they cannot be had, and is the one text in the course for
which the best possible loss is a number one can compute. It is no model of English, and it needs
nothing but the standard library.
"""

import math
import random
import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import NamedTuple

# "|" parts a rule's alternatives, listed from common to rare; "/" ends a line, "//" leaves a blank
# one after it. OTHER is the name of the character who is not speaking: the two take turns, which
# no n-gram is long enough to see, and nor does it see the rhymes.
# No alternative is empty, no rule leads back to itself, and at every choice the alternatives
# begin with different words (`_read_grammar` checks it): the next word alone tells which was
# taken, so a text has at most one derivation.
GRAMMAR = """
SCENE: Scene . A STATE ROOM , HOUR . / Enter CAST . // TURN TURN MORE
MORE: TURN TURN MORE2 | Exeunt . //   MORE2: Exeunt . // | TURN TURN MORE3
MORE3: Exeunt . // | TURN TURN Exeunt . //   TURN: OTHER : / OPENING REST
OPENING: UNIT | OTHER , ADDRESS   REST: / UNIT REST2 | //
REST2: // | / UNIT REST3   REST3: // | / UNIT //
UNIT: I VOW | The LORD DEED | When LORDS LEAVE RHYME | My ORGAN FEELS | Thou VICE VIRTUE , / thy
 ORGAN is but a PROP in a HAT . | Why must I ENDURE ? | By every PROP and RHYME | O VIRTUE , FICKLE
 VIRTUE , / thou art a PROP that LORDS TOSS . | Let us PLOT , / and PLAN . | Who hath TAKEN the
 PROP ? | No LORD yet was MOVED by a PROP , / but many were by VIRTUE . | If VIRTUE be FOOD ,
 REQUEST . | Alas , RHYME | Some say the LORD is a PROP ; / I say WISER .
ADDRESS: thou VICE PROP , / REQUEST . | I beg thee , REQUEST . | the LORD DEED | my ORGAN FEELS |
 why must we ENDURE ? | hast thou TAKEN the PROP ? | say no more of VIRTUE . | be not MOVED by a
 PROP .
VOW: have TAKEN the PROP HOUR . | came for VIRTUE / and was offered FOOD . | love thee more than
 FOOD , / though somewhat less than FOOD . | would not trust a LORD with a PROP . | dreamed the
 LORD was married to a PROP . | swear by RHYME | must ENDURE , / or lose my PROP . | never yet was
 MOVED by a LORD HOUR .
DEED: hath TAKEN the PROP HOUR . | is MOVED by VIRTUE . | shall ENDURE , / and call it VIRTUE . |
 loves RHYME | wears a HAT HOUR . | owes me a PROP / and pays me in FOOD . | cannot tell VIRTUE
 from FOOD .
FEELS: is a PROP in a HAT . | breaks like RHYME | was TAKEN HOUR . | hath more VIRTUE than thy PROP
 . | aches , and wants FOOD . | sings of RHYME
LEAVE: sleep , and beggars count | quarrel over | dance before | kneel to | grumble at
RHYME: the AY , / ANSWER AYS . | a ELL , / ANSWER ELLS . | this ATE , / ANSWER ATES . | yonder OON
 , / ANSWER OONS . | that ING , / ANSWER INGS . | one OAR , / ANSWER OARS .
AY: day | play | bay | clay | doorway   AYS: holiday | bouquet | delay | ballet | tray
ELL: bell | well | farewell | seashell   ELLS: spell | smell | hotel | citadel
ATE: gate | plate | debate | estate   ATES: fate | date | candidate | magistrate
OON: moon | lagoon | balloon | saloon   OONS: spoon | tune | prune | baboon | bassoon
ING: king | spring | ring | thing   INGS: string | wing | swing | sling
OAR: door | shore | encore | floor   OARS: war | snore | chore | matador | sophomore
ANSWER: still VIRTUE is ONLY | the LORD weeps , and sees ONLY | my ORGAN asks for ONLY | thy PROP
 was ONLY | so LORDS must PREFER | yet I PREFER | for FOOD is ONLY
ONLY: but a | not a | no | half a | nothing like a
PREFER: choose the | sell the | bow before the | dream of a | fight a
NAME: Barnaby | Odile | Prudence | Quillon | Marigold | Fennimore | Drusilla | Tobias | Wilhelmina
STATE: draughty | crooked | borrowed | haunted | leaking | moonlit | half-built | suspicious
ROOM: castle | kitchen | garden | tower | forest | tavern | cellar | harbour | library | pantry
HOUR: at midnight | before breakfast | after supper | in the rain | during a duel | by candlelight
 | between wars | without warning
LORD: ROLE | VICE ROLE   PROP: THING | STATE THING
ROLE: duke | bishop | ghost | cook | captain | poet | queen | widow | fool | gardener | tailor |
 page | general | knight | friar | jailer | nurse | steward | godfather | baker | sorcerer | piper
LORDS: dukes | bishops | ghosts | cooks | captains | poets | queens | widows | fools | lawyers |
 sailors | cousins | judges | shepherds | heralds | actors
THING: crown | goose | letter | candle | sword | ladder | teapot | cushion | trumpet | mirror |
 turnip | wig | lantern | cabbage | kettle | violin | barrel | pigeon | map | pillow | button |
 herring | slipper | wheelbarrow | mousetrap | portrait | bucket | feather | telescope | thimble
HAT: hat | velvet coat | paper crown | wooden boot | nightcap | false beard | saucepan
FOOD: soup | porridge | cheese | gravy | mustard | onions | cold mutton | toast | jam | pickled
 eels | custard | vinegar | biscuits | oats
VIRTUE: love | honour | sorrow | wisdom | vengeance | patience | courage | beauty | mercy | reason
 | glory | silence | jealousy | ambition | gratitude | melancholy | virtue | grammar
FICKLE: fickle | noisy | sweet | costly | invisible | tardy | second-hand | unpaid
VICE: lukewarm | goose-brained | half-buttered | moth-eaten | twice-boiled | peppered | wobbling |
 rusty | thin-blooded | short-sighted | damp | hollow | squeaking | well-ironed
ORGAN: heart | soul | tongue | stomach | pride | left knee | conscience | nose | elbow | memory
TAKEN: stolen | hidden | pawned | buried | kissed | painted | forgotten | swallowed | borrowed |
 blessed | insulted | polished | misplaced | salted | outlived | married
MOVED: undone | improved | flattered | deceived | rescued | chased | outwitted | warmed | bitten
TOSS: toss away | pawn | chase | mislay | fold in half | praise in rhyme | feed to pigs
WISER: thou art another | both are leaking | he cooks rather well | nothing , and keep the PROP
ENDURE: wait HOUR | marry the LORD | praise the PROP | eat FOOD HOUR | forgive the LORDS | wear a
 HAT | hear of VIRTUE HOUR | carry the PROP to the ROOM
PLOT: steal the PROP | flee to the ROOM | wake the LORD | hide the FOOD | bribe the LORDS | sing
 HOUR
PLAN: blame the LORD | never speak of VIRTUE | dine on FOOD | be gone HOUR | return as LORDS
REQUEST: give me FOOD | bring the PROP | fetch my HAT | speak plainly | spare the LORD | wait for
 me in the ROOM | stand upon the PROP | count the LORDS again | burn this letter
"""


class Rule(NamedTuple):
    """What one symbol of the grammar may become, and how likely each choice is."""

    alternatives: list[tuple[str, ...]]
    probabilities: list[float]
    cumulative: list[int]  # the weights, added up


def _read_grammar(source: str) -> dict[str, Rule]:
    """Symbol -> Rule. Raises ValueError where two alternatives could begin with one word."""
    alternatives: dict[str, list[tuple[str, ...]]] = {}
    parts = re.split(r"([A-Z\d]+):\s", source)  # "", symbol, body, symbol, body, ...
    for symbol, body in zip(parts[1::2], parts[2::2], strict=True):
        alternatives[symbol] = [tuple(part.split()) for part in re.split(r"\s\|\s", body)]
    names = alternatives.pop("NAME")
    alternatives["CAST"] = [(*name, "and", f"NOT-{name[0]}") for name in names]
    alternatives.update({f"NOT-{name[0]}": [n for n in names if n != name] for name in names})

    def first_words(symbol: str) -> list[str]:
        if symbol not in alternatives:
            return [symbol]
        return [word for parts in alternatives[symbol] for word in first_words(parts[0])]

    rules = {}
    for symbol, choices in alternatives.items():
        first = [word for parts in choices for word in first_words(parts[0])]
        if len(set(first)) < len(first):
            raise ValueError(f"two alternatives of {symbol} begin with the same word: {first}")
        weights = [5040 // (k + 2) for k in range(len(choices))]  # Zipf's law, a little flattened
        probabilities = [weight / sum(weights) for weight in weights]
        rules[symbol] = Rule(choices, probabilities, list(accumulate(weights)))
    return rules


RULES = _read_grammar(GRAMMAR)


@dataclass(frozen=True)
class Playhouse:
    """An endless stream of independent scenes, the same for a seed on every Python version."""

    seed: int = 0

    def scenes(self) -> Iterator[str]:
        """Scene after scene, without end."""
        # Of the random module, only random() is promised to repeat across Python versions.
        draw = random.Random(self.seed).random
        while True:
            stack, words = ["SCENE"], []
            while stack:
                symbol = stack.pop()
                if rule := RULES.get(symbol):
                    chosen = bisect(rule.cumulative, int(draw() * rule.cumulative[-1]))
                    stack.extend(reversed(rule.alternatives[chosen]))
                else:
                    words.append(symbol)
            yield _spell(words)

    def text(self, n_chars: int = 1_000_000) -> str:
        """The first `n_chars` characters; the last scene is cut where they end.

        The cut means nothing to `entropy_per_char`, which is a rate of the endless stream.
        """
        pieces, length, scenes = [], 0, self.scenes()
        while length < n_chars:
            pieces.append(next(scenes))
            length += len(pieces[-1])
        return "".join(pieces)[:n_chars]

    def entropy_per_char(self) -> float:
        """The stream's entropy rate in nats per character: H(scene) / E[len(scene)], exact.

        Scenes are independent, and each shows where it ends, so -log p of n scenes is a sum of n
        independent terms. Divided by n it tends to H(scene), as their length does to E[len]; the
        rate is the ratio (renewal-reward theorem). A scene has one derivation, so H(scene) adds
        up over the grammar: H(choice) + the mean of H(alternative chosen).

        It is the floor no model can pass: a model's expected loss on text it has not seen is the
        entropy plus a Kullback-Leibler divergence, which is never negative, and a short context
        only adds to it (Cover and Thomas, *Elements of Information Theory*, 2nd ed., theorems
        2.6.3 and 2.6.5, section 4.2). A finite sample's loss may lie below by luck, a little.
        """
        name = (_means("CAST")[1] - len(" and")) / 2  # both speak equally often
        entropy, length = _means("SCENE", name)
        return entropy / length


@cache
def _means(symbol: str, other: float = 0.0) -> tuple[float, float]:
    """The entropy and the mean characters of what `symbol` becomes; `other`: those of OTHER."""
    if symbol in ("/", "//"):
        return 0.0, len(symbol) - 1.0  # the word after a break has no space before it
    if symbol not in RULES:
        return 0.0, other if symbol == "OTHER" else float(len(symbol) + (symbol not in ",.;:?"))
    entropy = length = 0.0
    for p, parts in zip(RULES[symbol].probabilities, RULES[symbol].alternatives, strict=True):
        means = [_means(part, other) for part in parts]
        entropy += p * (sum(mean[0] for mean in means) - math.log(p))
        length += p * sum(mean[1] for mean in means)
    return entropy, length


def _spell(words: list[str]) -> str:
    """The words of whole scenes as a text: names filled in, lines broken."""
    pairs = zip(words, _others(words), strict=True)
    text = " ".join([other if word == "OTHER" else word for word, other in pairs]) + " "
    return re.sub(r" ([,.;:?])", r"\1", text).replace(" // ", "\n\n").replace(" / ", "\n")


def _others(words: list[str]) -> Iterator[str]:
    """For each word the name of the character not speaking; "" until both have entered."""
    cast, turn, entered = ("", ""), 0, -9
    for i, word in enumerate(words):
        yield cast[turn % 2]
        if word == "Enter":
            cast, turn, entered = ("", ""), 0, i
        elif i == entered + 3:  # Enter NAME and NAME
            cast = (words[i - 2], word)
        elif word == ":":  # who was silent speaks
            turn += 1
