"""The closed classes of English words that say what the words around them do: grammar, negation, doubt, and names of fields.

None of these words is a value that a task asks for. Content words are never listed: what they are is read off their place.
"""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


COPULAS = word_set(
    "is are was were be been being am 's 're isn't aren't wasn't weren't ain't equals equal remains means reads says"
)
AUXILIARIES = COPULAS | word_set(
    "has have had having hasn't haven't hadn't do does did doing don't doesn't didn't can could can't couldn't cannot will would won't "
    "wouldn't shall should shouldn't may might must"
)
DETERMINERS = word_set("a an the this that these those its their his her my your our one's some any each every all both such")
PRONOUNS = word_set(
    "it he she they we i you me him them us who whom whose which what there here i'm i've you've they're we've that's there's here's"
)
PREPOSITIONS = word_set(
    "of to in on at by from with for about as into onto over under within without between among through during before after until "
    "till since per via near than upon across along behind toward towards against around beyond throughout inside outside besides "
    "versus vs vs. unlike like compared"
)
CONJUNCTIONS = word_set(
    "and or but nor so if whether because while whereas although though when where how why then once unless however yet"
)
ADVERBS = word_set(
    "also only just now still already ever never not too very more most less least again out up down off back together today so far "
    "indeed nowhere somewhere elsewhere others other rest anything something everything altogether overall first last please thus therefore hence yes no otherwise instead else even ago later however"
)
POLITE = word_set("sure certainly okay ok hi hello thanks thank great done absolutely hope let happy glad welcome course good")
CONTRACTED = frozenset(
    f"{pronoun}'{verb}"
    for pronoun in ["i", "you", "he", "she", "it", "we", "they", "there", "that", "this", "who", "what", "here", "where"]
    for verb in ["ll", "d", "ve", "re", "m", "s"]
)
BE_CONTRACTED = frozenset(word for word in CONTRACTED if word.endswith(("'s", "'re", "'m")))
FUNCTION = CONTRACTED | AUXILIARIES | DETERMINERS | PRONOUNS | PREPOSITIONS | CONJUNCTIONS | ADVERBS | POLITE

NEGATIONS = word_set(
    "not no never neither nor cannot without except excluding unable fail failed fails false wrong incorrect doubt doubtful doubts "
    "unlikely hardly unclear unsure deny unless if whether nobody nothing none isnt wasnt arent dont doesnt didnt cant untrue "
    "unlike nowhere ain't aint impossible"
)
EXCLUDED_BY_BUT = word_set("anything everything all none nothing anyone everyone any anybody everybody one ones")
UNTRUE = word_set("not never wrong false incorrect untrue no inaccurate mistaken")
HEDGES = word_set(
    "alternative partly partially either unless otherwise suppose maybe perhaps possibly probably presumably likely supposedly allegedly guess guessing guessed assume assuming unsure "
    "uncertain unclear unknown unconfirmed unverified suspect tentatively conceivably potentially supposing"
)
SOFT = word_set(
    "mistaken memory hope hopefully wish expect theory theoretically leaning lean imagine pretend disagree refuse disputed rumour rumor "
    "quote gut hunch speculate assumption wager"
)  # doubts where something is claimed in the same breath; elsewhere they are politeness
RETRACTED = word_set("thought wanted initially formerly previously assumed expected")
INEXACT = word_set("over under above below nearly almost minimum maximum exceeding beyond upwards")
VERIFY = word_set(
    "sure certain confirm verify determine tell know establish guarantee confident positive say ascertain decide conclude verified "
    "confirmed determined"
)
CONCLUDING = word_set(
    "so therefore thus hence consequently accordingly overall altogether ergo finally ultimately actually correction rather wait oops"
)
CORRECTIONS = word_set("oh ah sorry oops wait hmm correction scratch apologies whoops")
CONCLUDING_PAIRS = frozenset(
    {
        ("in", "total"), ("in", "summary"), ("in", "short"), ("in", "conclusion"), ("in", "all"), ("in", "fact"), ("to", "summarize"), ("sum", "up"),
        ("that", "means"), ("this", "means"), ("which", "means"), ("that", "makes"), ("which", "makes"), ("this", "makes"),
        ("which", "gives"), ("that", "gives"), ("this", "gives"), ("i", "mean"), ("no", "wait"), ("in", "reality"), ("scratch", "that"), ("for", "a"),
        ("total", "of"), ("sum", "of"), ("is", "therefore"), ("is", "thus"), ("as", "a"),
    }
)  # fmt: skip
SOURCES = word_set("according per via using checking source sources based see reference shown listed displayed")
# What parts of a site and fields of a record are called: as heads of capitalised phrases they make labels, not names.
FIELDS = word_set(
    """
    answer answers result results response value values total totals subtotal sum amount price cost fee charge number numbers count
    quantity qty status state date time duration distance length method name names title address code id sku rating ratings score
    stars points sales discount savings saving shipping handling tax refund payment population phone telephone email e-mail website
    url link hours reviews review reviewer nickname reviewers orders order items item products product customers customer buyer
    author authors user users username usernames member members contributor contributors commit commits issue issues request
    requests branch branches project projects repository repositories group groups role license licence milestone label labels
    forum forums post posts comment comments submission submissions article page tab section list report view admin dashboard
    account profile screen menu panel grid table map site shop store website wiki encyclopedia directions route search settings
    history details detail information info summary note notes step steps reasoning explanation calculation computation source
    evidence conclusion final question task goal query column row entry record category option options color colour size
    brand model invoice shipment tracking coupon rule term terms use uses people inhabitants residents students latitude longitude
    coordinates postcode zip postal number street road-name town city county region country capital minutes minute hour days day
    month year km kilometres kilometers metres meters lowest highest
    minimum maximum cheapest average grand regular special original current latest full official sum difference balance
    """
)
KINDS = word_set(
    """
    street road town city county region state country capital place hotel museum university college school station park bridge
    hospital library restaurant pharmacy company film movie book novel album stadium mayor director actor winner driving walking
    cycling car bicycle foot bike walk drive ride way
    """
)  # labels when they stand alone; as the last word of a longer name they belong to it
FIELD_QUALIFIERS = word_set(
    "grand regular special original current latest full official average final estimated my your the new all"
)
CALENDAR = word_set(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct "
    "nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun mondays sundays "
    "saturdays weekdays am pm a.m. p.m. noon midnight"
)
PLATFORMS = word_set("openstreetmap osm gitlab github reddit postmill wikipedia magento luma adobe google onestopmarket")
TITLES = word_set("mr mrs ms miss dr prof sir madam mr. mrs. ms. dr. prof.")
TRAVEL = {
    "foot": word_set("foot walk walks walking walked pedestrian hike"),
    "car": word_set("car drive drives driving drove driven auto automobile vehicle"),
    "bicycle": word_set("bicycle bike biking bicycling cycling cycle cyclist"),
}
NUMBER_WORDS = {
    word: index
    for index, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
TENS = {
    word: 10 * index
    for index, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2)
}

_OPPOSITES = (
    ("cheap low least less afford inexpens", "expens high most more dear pric costl"),
    ("short near clos quick fast least less", "long far further slow more most away"),
    ("more larg big most great high top best", "few less small least low worst"),
    ("first old earli before", "later second young new last late after"),
    ("latest newest recent last", "oldest earliest"),
    ("oldest earliest first", "latest newest recent last youngest"),
    ("small few least low", "larg big most more high"),
    ("long farth furth far most", "short near clos least less"),
)
OPPOSITES = tuple((tuple(one.split()), tuple(other.split())) for one, other in _OPPOSITES)
SAME_KIND = tuple(
    map(
        word_set,
        (
            "order purchase",
            "review rating",
            "star",
            "point vote upvote karma",
            "commit",
            "issue ticket bug",
            "merge request mr pull",
            "line",
            "comment reply response",
            "post submission thread",
            "project repository repo",
            "branch",
            "item product piece unit copy",
            "article page entry",
            "account customer user people person member reviewer buyer registration signup inhabitant resident citizen",
            "film movie",
            "town city",
            "file",
            "group",
            "forum subforum",
            "subscriber",
            "student",
            "invoice",
            "shipment",
            "coupon",
            "room",
        ),
    )
)
MEASURES = word_set(
    "square kilometre kilometer km metre meter mile hour minute min second day week month year dollar euro cent usd percent degree kg gram litre liter"
)
STREETS = {
    "dr": "drive",
    "st": "street",
    "ave": "avenue",
    "av": "avenue",
    "blvd": "boulevard",
    "rd": "road",
    "ln": "lane",
    "ct": "court",
    "sq": "square",
    "pl": "place",
}

ORDINALS = {
    word: place
    for place, word in enumerate(
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"],
        start=1,
    )
}
RANKED = word_set("most least best worst first last top")  # superlatives that do not end in "est"
JOINT = word_set("together altogether sum both total combined differ difference overall two pair jointly")
BOUNDS = (
    frozenset(
        tuple(text.split())
        for text in ("at most", "within", "up to", "below", "under", "fewer than", "less than", "before", "until")
    ),
    frozenset(tuple(text.split()) for text in ("at least", "beyond", "over", "above", "more than", "after", "since")),
)
# Sets of words of which a thing has one at a time: by saying another one, an answer speaks of another thing.
CONTRASTS = tuple(
    tuple(map(word_set, group.split("|")))
    for group in (
        "star starred|fork forked|watcher|branch|tag",
        "assigned assignee assign|opened opener author created|merged merger|approved approver",
        "review reviews|mention mentions mentioned",
        "moderate moderates moderator|banned|subscribed subscriber",
        "posted post wrote written author submission|commented comments commenter comment",
        "director directed|actor actress starring|author novelist|producer|composer|screenwriter",
        "closes until till closing close|opens",
        "expire expires expired expiry expiration due deadline|starts started start|granted got joined added",
        "place placed ordered purchased created|shipped dispatched|invoiced|refunded|delivered",
        "regular original|special sale reduced discounted",
        "pending|processing|complete completed|closed|canceled|hold|fraud",
        "open opened|closed|merged",
        "approved|pending",
        "shipped sent shipping delivery|billing billed bill_to bill",
        "best-selling bestseller|best-rated|cheapest",
        "born birth birthplace|died death",
        "downvote negative|upvote positive",
        "before|after",
    )
)
RETRACTIONS = frozenset(
    tuple(text.split())
    for text in (
        "i meant", "i take", "i stand corrected", "let me correct", "excuse me", "hold on", "i forgot", "i missed", "i overlooked", "i misread",
        "i miscounted", "i confused", "i mixed", "i mistook", "no wait", "strike that", "forget that", "forget it", "ignore that", "disregard that", "i counted", "pardon me", "forgive me", "i misspoke",
    )
)  # fmt: skip
# Names of fields for the same kind of thing.
ALIASES = {
    **dict.fromkeys(("user", "member", "customer", "buyer", "client", "person", "director"), "person"),
    **dict.fromkeys(("product", "item", "article"), "product"),
    **dict.fromkeys(("place", "location", "venue"), "place"),
    **dict.fromkeys(("forum", "subreddit", "community"), "forum"),
    **dict.fromkeys(("project", "repository", "repo"), "project"),
}
