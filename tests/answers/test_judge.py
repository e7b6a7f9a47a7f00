"""Answers are compared as the kind of thing that the reference is, and everything else in them must be explained."""

import json
import time
from pathlib import Path
from string import Template

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.growth import outgrown
from webarena_gym import suite
from webarena_gym.answers import Form, compare, matches, read_form
from webarena_gym.answers.form import TYPES
from webarena_gym.evaluators import is_right_answer
from webarena_gym.tools.audit.answers import JOINTS, right_forms

# References, answers that give them, and answers that do not.
VALUES = [
    ("$1,234.50", ["1234.5", "The total was $1234.50."], ["$1,234.05"]),
    ("$5.00", ["5 dollars"], ["between $5.00 and $7.00", "", "N/A"]),
    ("-$5.00", ["-$5.00"], []),
    ("March 5, 2023", ["2023-03-05", "3/5/23"], ["March 6, 2023", "3/5/2023 or 3/6/2023"]),
    ("3/5/2023", ["on the 5th of March 2023"], []),
    ("Mar 5, 2023", ["March 5th, 2023"], []),
    ("1h 45min", ["105 minutes"], ["1h 40min"]),
    ("2 hours and 5 minutes", ["2h 5m"], []),
    ("3", ["There are three."], ["3 or 4", "13", "$3.50", "1,2,3"]),
    ("1234", ["1,234"], []),
    ("000000137", ["#137"], []),
    ("yes", ["Yes, it is."], ["yes and no", "no"]),
    ("No", ["no"], []),
    ("N/A", ["n/a"], ["", "I could not find it"]),
    ("Emma Lopez", ["emma lopez."], ["Emma Lopes", "Emma Lopez or Bo Chen", "not Emma Lopez", "It is Emma Lopez, Bob Roy"]),
    ("Lo", [], ["Lopez"]),
    ("Ann Lee", [], ["Ann Lee, Bo Chen", "Bo Chen and Ann Lee"]),
    ("Ann Lee, Bo Chen", ["Bo Chen and Ann Lee"], ["Ann Lee", "Ann Lee, Bo Chen, Cy Diaz", "Ann Lee, Ann Lee"]),
    ("Ann Lee; Bo Chen", ["- Ann Lee\n- Bo Chen"], []),
    ("$1.00, $2.00", ["$2.00, $1.00"], []),
    ("01:5, 02:7", ["02:7; 01:5"], []),
    ("60; help@a-shop.com", ["60; help@a-shop.com", "60\nhelp@a-shop.com"], ["60 help@a-shop.com", "help@a-shop.com 60"]),
    ("Ann Lee; ann@a.com", ["Ann Lee, ann@a.com", "Ann Lee <ann@a.com>", "Ann Lee ann@a.com"], ["ann@a.com Ann Lee", "Ann Lee x ann@a.com"]),
    ("561 m", ["561 meters", "0.561 km"], ["561 min", "9h 21min", "561 km"]),
    ("57min", ["57 min"], ["50 min or 7 min", "50 min, 7 min", "57 m"]),
    ("1h 5min", ["1h 5m"], ["1 h 5 min (65 min)"]),
    ("168.0", [], ["168.0/226.8"]),
    ("049909271533", [], ["1Z46 | 049909271533"]),
    ("3729006374", [], ["3729006374 | 1Z7599212288696827"]),
    ("Canceled", [], ["Pending/Processing/Canceled", "Pending | Canceled", "/".join(["Pending", "Canceled"] * 500)]),
    ("Red", ["red."], [
        "Red, red", "the blue, the red, the green", "red blue green yellow", "blue is red", "It isn't Red", "anything but Red",
        "Red? Blue?", "Red+Blue", "Red & Blue", "the one that is no Red",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("reference", "right", "wrong"), VALUES)
def test_a_value_is_compared_as_what_it_is(reference, right, wrong):
    assert {answer: why for answer in right if (why := compare(reference, answer).why)} == {}
    findings = [compare(reference, answer) for answer in wrong]
    assert not any(finding.is_right or not finding.why for finding in findings), findings


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared(reference, answer):
    assert matches(reference, answer) in (True, False)


@given(
    st.sampled_from(range(40)),
    st.lists(st.sampled_from([*JOINTS, "5", "N/A", "yes", "May 2022", "- ", "|", "\\boxed{", "}", "Answer:"]), max_size=6),
)
def test_any_pieces_in_any_order_can_be_compared(number, pieces):
    reference, other, goal = KINDS[number % len(KINDS)]
    answer = Template(" ".join(pieces)).substitute(a=reference, b=other)
    assert matches(reference, answer, goal) in (True, False)


NUMBERED = "I need the tracking number of the parcel with order 000000249."


@given(st.lists(st.sampled_from([*NUMBERED.split(), "is", "7", "'", '"', ",", ".", "!", "-", "...", ":", "\n"]), max_size=10))
@example(["with", '"', "!", "-", "order", "tracking", "of", "number", "the"])
def test_words_of_the_goal_and_marks_in_any_order_can_be_compared(pieces):
    assert matches("4 stars", " ".join(pieces), NUMBERED) in (True, False)


@given(st.decimals(0, 99999, places=2), st.decimals(0, 99999, places=2))
def test_amounts_are_equal_only_when_they_are(first, second):
    assert (first == second) == matches(f"${first:,}", f"It is ${second}.")


@given(st.dates(), st.dates())
def test_dates_are_equal_only_when_they_are(first, second):
    assert (first == second) == matches(
        f"{first:%B} {first.day}, {first.year:04}", f"{second.month}/{second.day}/{second.year:04}"
    )


# One of each kind: (reference, another value of the kind, goal).
KINDS = [
    ("$46.50", "$60.00", "How much does the Linen Scarf cost?"),
    ("13", "14", "How many reviews does the Linen Scarf have?"),
    ("3.8", "3.3", "What is the average rating of the Linen Scarf?"),
    ("March 5, 2023", "April 6, 2022", "On which date was order 000000131 placed?"),
    ("1h 25min", "2h 5min", "How long is the drive from Ketokom Zoo to Tasobir Bridge?"),
    ("80.4", "96.5", "How many kilometres is it by car from Ketokom Zoo to Tasobir Bridge?"),
    ("561 m", "780 m", "How far is it on foot from Ketokom Zoo to the nearest bank?"),
    ("390-555-3391", "729-555-5940", "Which phone number does Tasobir Bridge have?"),
    ("08:30-16:30", "09:00-14:30", "What are the opening hours of Ketokom Zoo on Sundays? Write them like 09:00-17:00."),
    ("23:00", "22:15", "Until what time is Ketokom Zoo open? Answer with the time alone, like 17:00."),
    ("Canceled", "On Hold", "What is the status of order 000000131?"),
    ("Emma Lopez", "Bo Chen", "Who placed order 000000131?"),
    ("LilyA94", "J. Bailey", 'Who wrote the review "Would buy again"?'),
    ("stone-beth", "porter-alice", 'Who posted "A black beach"?'),
    ("TH-03016", "EL-05286", "Tell me the SKU of the Linen Scarf."),
    ("5813785142", "3315581665", "Give me the tracking number of the parcel with order 000000131."),
    ("a.lee@example.com", "b.chen@example.org", "What is the e-mail address of the customer Ann Lee?"),
    ("https://a-b.example", "https://c-d.example", "Which website does Ketokom Zoo have?"),
    ("1778 King Court, Wadewen, Gleyimem 10519", "2064 Elm Road, Rubebor, Stisekler 98844", "What is the full address of Ketokom Zoo?"),
    ("42.12470, -28.14877", "41.86557, -30.88869", "Give me the coordinates of Ketokom Zoo."),
    ("Lin Set, Queen", "Oak Chair, Black", "Which product is our best-selling one of all time?"),
    ("Lin Set, Queen", "Oak Chair, Black", "Which is cheaper: the Lin Set, Queen or the Oak Chair, Black? Answer with the full name."),
    ("S, M, XL", "S, M", "Which choices are there for the size? List all of them."),
    ("Ann Lee, Cy Diaz", "Ann Lee, Bo Chen", "List the full names of the top 2 contributors, separated by commas."),
    ("Copper Grill; 561 m", "Oak Grill; 780 m", 'Where is the nearest grill, and how far is it? Answer like "Name; 120 m".'),
    ("walking: 14 min; driving: 2 min", "walking: 2 min; driving: 14 min", "Compare walking and driving: how long does each take?"),
    ("Ket Zoo > Tas Bridge > Lu Park", "Ket Zoo > Lu Park > Tas Bridge", 'In which order? Answer in the form "A > B > C".'),
    ("1Z3844465680391328", "000000316", "Give me the tracking number of the parcel with my order 000000316."),
    ("Mercy Hospital", "Tuglavom Airport", "Which hospital can I get to the fastest by car from Tuglavom Airport?"),
    ("Franklin Boulevard", "King Drive", "On the walk to Tasobir Burgers Klidan King Drive, along which street does the map lead me the farthest?"),
    ("Tina Mason", "Marble Run", "Who wrote the review with the fewest stars of the Kowaku Magnetic Marble Run, 120 Pieces?"),
    ("Maple Boulevard", "Oak Street", "On the walk to Vobisu Oak Park, along which street does the map lead me the farthest?"),
    ("5", "3", "How many stars did I give the Dabro Earphones, 3.5 mm in my review?"),
    ("N/A", "$5.00", "How much does the Linen Scarf cost here?"),
    ("N/A", "toolkit-go", "Which project has the Linen Scarf?"),
]  # fmt: skip
WRAPPERS = [
    "{}", "{}.", "**{}**", "`{}`", '"{}"', "```\n{}\n```", "\\boxed{{{}}}", "So it is $\\boxed{{{}}}$.", "Answer: {}", "**Answer:** {}",
    "**Answer: {}**", "**The answer is {}.**", "I opened the page and looked it up.\n\nFinal answer: {}", "The answer is {}.",
    "The answer is **{}**.", "I looked it up. The answer is {}.", "Both pages agree.\n\n\\boxed{{{}}}", '{{"answer": "{}"}}', '["{}"]',
    '```json\n{{"answer": "{}"}}\n```', "# Answer\n\n{}", "- {}", "# {}", "Result: {}", "It is {}.", "Here is the answer:\n\n{}",
    "The other one costs $7.00 or so, which I do not trust, and 3 more are sold out.\nAnswer: {}",
]  # fmt: skip
REFUSED = [
    "> {}", "far from {}", "one of {}", "only one of these: {}", "{}, and so on", "{}, ...", "{}...", "{} at most", "{} (no)", "no {}", "{} it is not",
    "I would not say {}.", "It can't be {}.", "My guess is {}; I could not open the page.", "A{}", "({})", "{0}/{0}", "{0}, {0}", "{0} ({0})",
    '{{"answer": "{}", "correct": false}}', '{{"answer": "{}", "alternative": "x"}}', '{{"answer": "{}", "confidence": 0.1}}', '{{"not": "{}"}}',
    "I doubt that the answer is {}.", "It is not \\boxed{{{}}}.", "Wrong answer: {}", "Answer: {}\nThat is a guess.", "The answer is {}, I think.",
    "The answer is not {}.\nAnswer: {0}", "{}. Hope this helps!", "{}?", "Is it {}?", "Answer: {}?", "~~{}~~", "x{}",
]  # fmt: skip


@pytest.mark.parametrize(("reference", "other", "goal"), KINDS)
def test_wrappers_keep_the_verdict_and_additional_text_is_rejected(reference, other, goal):
    right = [*(wrapper.format(reference) for wrapper in WRAPPERS), *right_forms(reference)]
    assert {text: why for text in right if (why := compare(reference, text, goal).why)} == {}
    pairs = [(reference, other), (other, reference)] if other not in reference else []
    beside = [Template(joint).substitute(a=a, b=b) for joint in JOINTS if "${b}" in joint for a, b in pairs]
    if reference != "N/A":
        beside += [Template(joint).substitute(a=reference) for joint in JOINTS if "${b}" not in joint]
    page = "The shop sells many things to many people in many towns. " * 60
    dumps = [f"{reference} {' '.join(map(str, range(200)))}", f"{reference}\n\n{page}", goal, f"{goal} {reference}"]
    refused = [
        wrapper.replace("{0}", "{}").replace("{}", reference).replace("{{", "{").replace("}}", "}") for wrapper in REFUSED
    ]
    refused = [text for text in refused if text != "(42.12470, -28.14877)"]  # a notation of coordinates
    wrong = [*(wrapper.format(other) for wrapper in WRAPPERS), *refused, *beside, *dumps]
    assert [text for text in wrong if matches(reference, text, goal)] == []


STATUS, MAY = "What is the status of order 000000179?", "How many reviews came in May 2023?"
WALK = "walking: 14 min; driving: 2 min"
RANGE = "Between which prices do the products of Vehidu lie? Answer with the lowest and the highest price."
CLOSED = Form(yes=("closed",), no=("open",))
LABELLED = Form(ordered=True, labels=(("lowest", "cheapest"), ("highest", "dearest")))
# References, goals, answers that give the one in the words of the other, answers that do not.
SENTENCES = [
    ("Canceled", STATUS, ["The status of order 000000179 is Canceled.", "Cancelled"], ['{"closed": "canceled"}']),
    ("84.3", "How many kilometres is it from A Hospital to B, and what is the distance?", ["The distance is 84.3 km."], []),
    ("84.3", "How many kilometres is it from A to B by car?", [], ["84.3 miles"]),
    ("16 min", "How long would I walk from A to B?", ["Time: 16 min", '{"duration": "16 min"}'], ["Driving time: 16 min", "By bicycle: 16 min"]),
    ("0746540097", "Give me the tracking number of the parcel with order 000000077.",
        ['{"tracking_number": "0746540097"}', "The tracking number is 0746540097."],
        ['{"order": "000000077", "tracking_number": "0746540097"}', '{"tracking_number": "000000077", "order": "0746540097"}', "Shipment: 0746540097\nTracking number: 000000077"]),
    ("5", "How many commits did Ann Lee and Bo Chen make together?", ["Commits: 5"], ['{"a": " ", "commits": 6}', "| Author | Commits |\n|---|---|\n| Ann Lee | 5 |\n| Bo Chen | 5 |"]),
    ("A Cup; B Mug", "List the top 2 products.", ["1. A Cup\n2. B Mug", "The top 2 products are B Mug and A Cup."], ["1. A Cup\n2. B Mug\n3. ?", "A Cup B Mug"]),
    ("2", "How many new customer accounts were opened in July 2022?", ["2 accounts were opened in July 2022."], []),
    ("14", "Within how many days of delivery does this shop take things back?", ["14 days"], []),
    ("08:00-18:00", "What are the opening hours?", ["8 am to 6 pm"], []),
    ("A Zoo > B Hall > C Park", "order", ["A Zoo → B Hall → C Park"], ["A Zoo > C Park > B Hall"]),
    ("No", "Is it closed? Answer yes or no.", ["No, it is not closed.", "It is open.", "Closed: No"], ["Yes", '"No" is not the answer.', "Open: No", '{"open": "no"}'], CLOSED),
    ("Yes", "Is it closed? Answer yes or no.", ["closed"], ["It is not closed."], CLOSED),
    ("Yes", "Did it come in May?", [], ["It may be."]),
    ("N/A", "How much does the X cost here?", ["There is no such product in the shop.\nAnswer: N/A", "The cost of X is N/A."], ["I could not find it.", "I would not say N/A.", "N/A; it is $5.00"]),
    ("Ann Lee", 'Who wrote the review "Well packed" about the Cedar Raised Garden Bed?', [], ["Garden Bed as well as Ann Lee", "Raised Bed also Ann Lee", "both Garden Bed and Ann Lee"]),
    ("Ann Lee", 'Who merged "Cover expired passwords" in a/b?', ['Ann Lee merged "Cover expired passwords".'], ["Ann Lee (expired)"]),
    ("N/A", "How much does it cost?", ["It is N/A."], ["N/A; no, tool-go", "N/A, it is non-existent and not in-stock."]),
    ("N/A", "Add it to my cart.", [], ["N/A is not needed, it is in the cart.", "The price is $5.00 or N/A"]),
    (WALK, "Compare walking and driving", ['{"driving": "2 min", "walking": "14 min"}'], []),
    (WALK, "Compare walking and driving by time", ["Walking takes 14 min and driving takes 2 min."], ["walking: 14 min", "14 min; 2 min"]),
    ("Ann Lee, Bo Chen", "Who merged it?", ["Bo Chen and Ann Lee merged it."], ["Bo Chen merged it together with Ann Lee"]),
    ("Mat, 3 ft.", "Which is cheaper: the Rug, 2 ft. or the Mat, 3 ft.?", ["Mat, 3 ft.."], []),
    ("Who am I?", "Which post has the most comments? Give its title.", ['"Who am I?"'], []),
    ("Cafe Blue; Bar; Green, the Cafe", "Name all places.", ["1. Green, the Cafe\n2. Cafe Blue\n3. Bar"], []),
    ("Cafe Blue; Bar Green", "Name all places near the Zoo Park.", [], ["Cafe Blue Bar Green", "Cafe Blue; Bar Green; Zoo Park"]),
    ("Cafe Blue", "Which cafe is closest to the museum?", [], ["Cafe Blue is the second closest."]),
    ("5", MAY, ["There were 5 reviews in May.", "In May 2023 there were 5."], ["it may be 5", "May be 5", "5 a day"]),
    ("5", "How many reviews does the Juvale Sander, 6 inch have?", [], ["The Botrosto Cordless Jigsaw has 5 reviews."]),
    ("5", "How many came, whatever the reason may be?", ["5 came."], ["it may be 5"]),
    ("5", "How many reviews with 1 star have the status Not Approved?", ["5 reviews"], ["5 reviews are Approved.", "#5", "Review number 5", "No. 5"]),
    ("XS, S, M", "Which sizes are there?", ["XS / S / M"], ["XS S M"], Form(type="list of text")),
    ("Mat, 3 ft", "Which products are out of stock?", ["Mat, 3 ft"], ["Mat 3 ft"], Form(type="list of text")),
    ("5", "How many reviews have 5 stars?", ["5.0"], ["5 stars", "0`5`"]),
    ("1h 38min", "How long would I walk from A to Lake Drive?", [], ["The drive takes 1h 38min."]),
    ("$15.99", "How much does it cost?", [], ["from $15.99"]),
    ("$46.50", "How much does the X cost?", [], ["€46.50", "$46.50 each"]),
    ("$5.00", "How much?", [], ["I read $5.00.\nAnswer: $6.00", "Answer: $5.00\n\nOr it is $6.00."]),
    ("$5.00, $9.00", RANGE, ["$5.00, $9.00", "from $5.00 to $9.00", "The highest is $9.00 and the lowest $5.00.", '{"highest": 9.0, "lowest": 5}'],
        ["$9.00, $5.00", "The lowest is $9.00 and the highest $5.00.", "$5.00"], LABELLED),
]  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES, ids=lambda case: case[0])
def test_sentences_with_words_of_the_goal_are_accepted_and_other_claims_rejected(case):
    reference, goal, right, wrong, *form = case
    assert {answer: why for answer in right if (why := compare(reference, answer, goal, *form).why)} == {}
    assert [answer for answer in wrong if matches(reference, answer, goal, *form)] == []


def test_answer_forms_are_validated_and_described():
    ill = [{"names": []}, {"about": "Ann"}, {"ordered": 1}, {"labels": ["a"]}, {"unit": "furlong"}, {"yes": [1]}, {"type": 1}]
    for record in ([], *ill, {"type": "list of records"}):
        with pytest.raises(ValueError, match="expected"):
            read_form(record)
    for kind in (*TYPES, "record", "list of text"):
        assert read_form({"type": kind}).in_words().startswith(("Answer with", "Answer in the form"))


# What an author wrote who had been told the form and had not read the judge: the least share that is judged rightly.
TOLD = {"closed": 0.98, "marked": 1.0, "lists": 0.98, "json": 0.75, "sentences": 0.37}


def test_recorded_answers_get_the_expected_verdict():
    cases = json.loads((Path(__file__).parent.parent / "data" / "told_answers.json").read_text(encoding="utf-8"))
    judged = {category: [] for category in TOLD}
    written = (task for split in ("test", "validation", "train") for task in suite.load_version(split, 1))
    for task in (task for task in written if task.task_id in cases):
        for category, texts in cases[task.task_id]["right"].items():
            if category not in TOLD:  # tables are no form that agents are told
                continue
            judged[category] += [is_right_answer(task.eval, task.intent, text) for text in texts]
        wrong = [text for texts in cases[task.task_id]["wrong"].values() for text in texts]
        assert [text for text in wrong if is_right_answer(task.eval, task.intent, text)] == []
    for category, least in TOLD.items():
        assert sum(judged[category]) >= least * len(judged[category]) > 50, category


def test_each_answer_of_a_language_model_that_solved_its_task_is_accepted():
    """40 templates of the test split in world 970001, played by observations alone; no other task's reference accepts the answer."""
    episodes = json.loads((Path(__file__).parent.parent / "data" / "language_model_answers.json").read_text(encoding="utf-8"))
    for number, episode in enumerate(episodes):
        accepted = [
            other for other, task in enumerate(episodes) if is_right_answer(task["eval"], task["intent"], episode["answer"])
        ]
        assert accepted == [number], episode


HEAVY = [
    "a/", "1h ", "1", "1,", "\n", " ", "*", "_", "`", "\\", "{", "[", "(", "|", "$1 ", "a@", "a.", "one two ", "hundred and ", "The answer is 5. ", "<a ",
    "[a](", "may ", "1:", "http://a", "a.b@c.", "\u2605", "Red, ", "It is Red or not. ", '{"a":', "Answer: ", "?", "\\boxed{", "1-1-", "- a\n", "|a|\n", "Answer: 3\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", HEAVY)
def test_no_text_is_judged_slowly(piece):
    """A million characters take 7 ms at most on an idle core; the limit is generous."""
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()
    for reference in ("Red", "$5.00", "Walnut, Oak"):
        matches(reference, text, "Which colour is it?")
        matches(reference, text[:2000], "Which colour is it?")
    assert time.process_time() - started < 2


def test_a_long_list_in_any_order_takes_linear_time():
    def judged(count):
        items = [f"Place {number}" for number in range(count)]
        return lambda: matches("; ".join(items), "; ".join(reversed(items)), "Name all places.")

    assert judged(100)()
    assert outgrown(judged, 100, 1600, 0.05) == ""
