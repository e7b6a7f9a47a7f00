"""What there is to post about. `{word}` stands for an invented word, which is a name of the world."""

QUESTIONS = {
    "gaming": "Which game like {word} can two people play on one sofa?",
    "books": "What should I read after The {word} Letters?",
    "pets": "Is {word} a good name for a parrot?",
    "travel": "Is {word} worth a visit in winter?",
    "money": "How much should I save before I move to {word}?",
    "fitness": "How many rest days does the {word} plan need?",
    "diy": "How do I get the paint off my {word} workbench?",
    "food": "Can I freeze dumplings made after the {word} recipe?",
    "space": "When will the {word} probe send its first pictures?",
    "music": "Where can I find the sheet music of {word}?",
}
"""Questions by the tag of the forums that they fit."""

TOPICS = {
    "gaming": "consoles and video games",
    "books": "reading",
    "space": "rockets and planets",
    "nature": "nature and landscapes",
    "crafts": "making things by hand",
    "movies": "films",
    "programming": "writing software",
    "money": "saving and spending money",
    "health": "staying healthy",
    "travel": "going on journeys",
}
ISSUES = {
    "a long-distance relationship": "He lives in {word}, three hours away. How do we keep this going?",
    "jealousy": "She reads my letters from {word}. How do I talk to her about it?",
    "a cheating partner": "I saw them together in {word}. Should I say something?",
    "a partner who never helps at home": "I do all the work in our flat in {word}. What would you do?",
    "a wedding without my parents": "They refuse to travel to {word}. Do I wait for them?",
}
DISCUSSIONS = {
    "technology": "the {word} phone",
    "movies": "the remake of {word}",
    "television": "the last season of {word}",
    "sports": "the new {word} league",
    "science": "the {word} study",
    "music": "the {word} reunion tour",
    "books": "the prize for The {word} Affair",
    "gaming": "the price of {word} Quest",
}
PRODUCTS = {
    "headphones": ("noise-cancelling headphones", "audio"),
    "running": ("running shoes", "fitness"),
    "DIY": ("a starter toolkit", "diy"),
    "consoles": ("a used game console", "consoles"),
    "gadgets": ("a pocket projector", "gadgets"),
    "gardening": ("a quiet lawn mower", "nature"),
    "Music": ("a first electric piano", "music"),
    "pets": ("a travel box for cats", "animals"),
    "books": ("an e-reader", "reading"),
}
"""What one might buy, by a forum that knows about it, and the tag of the forums that do."""

FIELDS = {
    "books": "libraries and publishing",
    "DIY": "people who build things at home",
    "gardening": "people with gardens",
    "food": "cooks",
    "sports": "coaches",
    "movies": "film makers",
    "pets": "owners of pets",
    "personalfinance": "household budgets",
}
REMARKS = (
    "Could not put it down.",
    "Too long, but I liked the ending.",
    "A book for rainy days.",
    "Not as good as everybody says.",
    "I will read it again next year.",
)
MONTHS = ("March", "May", "July", "September", "November")
