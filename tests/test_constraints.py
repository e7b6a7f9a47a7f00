"""Constrained decoding: the allowed tokens spell every text of a language and no other, in any tokenizer."""

import json
import random
import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import agents
from agents.data.prompts import PromptEncoder
from agents.data.trajectories import Sample, read_trajectories
from agents.evaluate import main
from agents.evaluation.evaluate import create_policy, evaluate_policy
from agents.evaluation.settings import EvaluationSettings, choose_tasks
from agents.models import batches, small
from agents.models.batches import batch_logprobs, pack
from agents.models.checkpoints import load_model
from agents.rollouts.constraints import Constraint, Constraints, TokenVocabulary, create_constraints
from agents.rollouts.engines.inprocess import InProcessEngine
from agents.rollouts.languages import (
    FIXED,
    Alternatives,
    SeparatedList,
    Spans,
    action_language,
    one_of,
    parse_page_parts,
    regex,
    word_spans,
)
from agents.training.language_models import TrainingSample
from tests import tiny
from tests.errors import expect_error
from tests.growth import outgrown
from tests.pages import page as page_of
from webarena_gym.actions import DIALECTS, Action, Kind
from webarena_gym.observation import observe
from webarena_gym.pages.reading import options

PIECES = [
    "Add", "to", "Cart", "Größe", "5", "10 L", "$3.99", 'the "Oak"', "日本", "a\\b", "(2)", "x, y", "naïve", "²", "No. 7", "Bag's",
]  # fmt: skip
TEXTS = [
    f'do(action="Click", element="{piece} {other}") exit(message="{other}") Type argument [2]'
    for piece, other in product(PIECES, repeat=2)
]


def house():
    return small.train_tokenizer(TEXTS, 400)


def byte_level():
    """A tokenizer as of GPT-2, Qwen and Llama 3, in which ends of labels and quotes are one token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)  # merges across anything
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, special_tokens=["<|end|>"], show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in ('t")', '", "', "x, y")])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", clean_up_tokenization_spaces=False)


def sentence_piece(*, bytes_too=True):
    """A tokenizer as of Llama 2 and Gemma: blanks are characters of their own, a blank is put before the text."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=bytes_too, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(parts)
    all_bytes = [f"<0x{byte:02X}>" for byte in range(256)] if bytes_too else []
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=["<unk>", "</s>", *all_bytes], show_progress=False)
    tokenizer.train_from_iterator([text.replace("日", "") if bytes_too else text for text in TEXTS], trainer)
    read = json.loads(tokenizer.to_str())
    read["added_tokens"] = read["added_tokens"][:2]  # bytes are tokens as others are
    made = Tokenizer.from_str(json.dumps(read))
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", unk_token="<unk>", clean_up_tokenization_spaces=False
    )


@cache
def vocabulary(kind):
    tokenizer = {"house": house, "byte level": byte_level, "sentence piece": sentence_piece}[kind]()
    return tokenizer, TokenVocabulary.from_tokenizer(tokenizer)


every_kind = pytest.mark.parametrize("kind", ["house", "byte level", "sentence piece"])


def texts_of(language):
    """Every text of a language, lists of up to three items."""
    if isinstance(language, str):
        return {language}
    match language:
        case Alternatives(branches):
            return set().union(*map(texts_of, branches))
        case Spans(texts):
            return {text[s:e] for text in texts for s, _ in word_spans(text) for _, e in word_spans(text) if e > s}
        case SeparatedList(item, joints):
            one = texts_of(item)
            two = {a + joint + b for a in one for joint in joints for b in one}
            return one | two | {a + joint + b for a in two for joint in joints for b in one}
    found = {""}
    for part in language:
        found = {a + b for a in found for b in texts_of(part)}
    return found


def random_text(rng):
    text = " ".join(rng.choices(PIECES, k=rng.randint(1, 2)))
    return text.replace("\\", "\\\\").replace('"', '\\"')


def random_language(rng, depth=1):
    parts = []
    for _ in range(rng.randint(1, 2)):
        kind = rng.randrange(4) if depth else 3 * rng.randrange(2)
        if kind == 0:
            parts.append(rng.choice(['("', '", element="', '")', *map(random_text, [rng])]))
        elif kind == 1:
            parts.append(Alternatives(tuple(random_language(rng, depth - 1) for _ in range(2))))
        elif kind == 2:
            parts.append(one_of([random_text(rng) for _ in range(2)]))
        else:
            parts.append(Spans(tuple(random_text(rng) for _ in range(rng.randint(1, 2)))))
    return ('do("', *parts, '")')


def walk(automaton, rng, limit):
    """A random response, ended or None."""
    state, ids = automaton.start, []
    while len(ids) < limit:
        token = rng.choice(state.allowed_ids.tolist())
        state = state.advance(token)
        if state is None:
            return ids
        ids.append(token)
    return None


def ids_of(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def is_allowed(automaton, ids, stop):
    try:
        automaton.response_states((*ids, stop))
    except ValueError:
        return False
    return True


@every_kind
def test_every_text_of_a_language_is_allowed_and_no_other(kind):
    tokenizer, known = vocabulary(kind)
    rng, stop, walks = random.Random(kind), tokenizer.eos_token_id, 0
    for _ in range(40):
        language = random_language(rng)
        texts = texts_of(language)
        automaton, pattern = Constraint(language, known, frozenset({stop})), re.compile(regex(language))
        for text in rng.sample(sorted(texts), min(len(texts), 30)):
            assert is_allowed(automaton, ids_of(tokenizer, text), stop), text
            assert pattern.fullmatch(text), text
            place = rng.randrange(len(text))
            added = text[:place] + rng.choice('a") ü5\\') + text[place:]
            changed = rng.choice([text[:place] + text[place + 1 :], added, text + " "])
            assert bool(pattern.fullmatch(changed)) == (changed in texts), changed
            assert is_allowed(automaton, ids_of(tokenizer, changed), stop) == (changed in texts), changed
        for _ in range(30):
            ids = walk(automaton, rng, 200)
            assert ids is not None
            assert tokenizer.decode(ids) in texts
            walks += list(ids) != ids_of(tokenizer, tokenizer.decode(ids))
    assert walks  # some walks were other tokenisations than the tokenizer's own


@every_kind
def test_a_small_language_has_just_the_texts_that_all_tokens_spell(kind):
    """Every sequence of allowed tokens, tried to its end."""
    tokenizer, known = vocabulary(kind)
    language = ("(", Alternatives(((Spans(('5 "ü ²',)),), ("",))), '")')
    automaton = Constraint(language, known, frozenset({tokenizer.eos_token_id}))
    found, pending = set(), [((), automaton.start)]
    while pending:
        ids, state = pending.pop()
        for token in state.allowed_ids.tolist():
            if (after := state.advance(token)) is None:
                found.add(tokenizer.decode(ids))
            else:
                pending.append(((*ids, token), after))
    assert found == texts_of(language)


@every_kind
def test_lists_have_any_number_of_items(kind):
    tokenizer, known = vocabulary(kind)
    language = ("(", SeparatedList(Alternatives(((Spans(("Add to Cart",)),), ("7",))), (", ", "; ")), ")")
    automaton, pattern = Constraint(language, known, frozenset({0})), re.compile(regex(language))
    for text in ("(7)", "(to Cart, 7; 7, Add, Cart)", "(7 7)", "(7, )", "()", "(Ad)"):
        expected = text in ("(7)", "(to Cart, 7; 7, Add, Cart)")
        assert is_allowed(automaton, ids_of(tokenizer, text), 0) == bool(pattern.fullmatch(text)) == expected


def test_unspellable_choices_are_omitted_and_tokenizers_without_texts_rejected():
    """Without bytes, a text with an unknown character leads nowhere; its other words do."""
    tokenizer = sentence_piece(bytes_too=False)
    known, rng = TokenVocabulary.from_tokenizer(tokenizer), random.Random(0)
    language = ('do("', Alternatives(((Spans(("Add 語 Cart", "語")),), ("語",))), '")')
    automaton = Constraint(language, known, frozenset({1}))
    assert {tokenizer.decode(walk(automaton, rng, 100)) for _ in range(50)} == {'do("Add")', 'do("Cart")'}
    words_only = Tokenizer(models.WordPiece({"[UNK]": 0, "do": 1, "##x": 2}, unk_token="[UNK]"))
    words_only.pre_tokenizer, words_only.decoder = pre_tokenizers.Whitespace(), decoders.WordPiece()
    with expect_error(ValueError, "TokenizersBackend"):
        TokenVocabulary.from_tokenizer(PreTrainedTokenizerFast(tokenizer_object=words_only, unk_token="[UNK]"))
    with expect_error(ValueError, "object"):
        TokenVocabulary.from_tokenizer(object())


def random_page(rng):
    """A page of the env with labels and texts that are hard to write, and its observation."""

    def text():
        return " ".join(rng.choices([*PIECES, "a > b", "5 < 6", 'x="1"', "&amp;"], k=rng.randint(1, 3))).replace("&", "&amp;")

    def written():
        return text().replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")

    makers = [
        lambda: f'<a href="/x">{written()}</a>',
        lambda: f"<button{rng.choice(['', ' disabled'])}>{written()}</button>",
        lambda: (
            f'<label>{written()} <input value="{written()}" {rng.choice(["", "readonly", "type=checkbox", "type=number"])}></label>'
        ),
        lambda: f"<label>{written()} <textarea>{written()}\nmore</textarea></label>",
        lambda: f"<label>{written()} <select>{''.join(f'<option>{written()}</option>' for _ in range(3))}</select></label>",
        lambda: f"<p>{written()}</p>",
        lambda: f"<table><tr><td>{written()}</td><td>{written()}</td></tr></table>",
        lambda: f"<details><summary>{written()}</summary>{written()}</details>",
        lambda: f'<div role="button" tabindex="0">{written()}</div>',
        lambda: f'<img src="x" alt="{written()}">',
    ]
    return page_of(f"<html><body>{''.join(rng.choice(makers)() for _ in range(8))}</body></html>")


@pytest.mark.parametrize("elements", ["id", "label"])
def test_the_elements_of_a_page_are_those_of_the_env(elements):
    rng, kinds = random.Random(0), set()
    for _ in range(60):
        seen = observe(random_page(rng), elements=elements)
        offered = {element.name: element for element in parse_page_parts(seen.text)[0]}
        is_fixed = {
            address: "disabled" in node.element.attrib
            or (node.element.tag in ("input", "textarea") and "readonly" in node.element.attrib)
            for address, node in seen.nodes.items()
        }
        assert set(offered) == {address for address, fixed in is_fixed.items() if address and not fixed}
        for address, element in offered.items():
            node = seen.nodes[address].element
            kinds.add(node.tag)
            assert element.is_text_field == (node.tag == "textarea" or (node.tag == "input" and node.get("type") != "checkbox"))
            assert element.options == tuple(option.name for option in options(node))
    assert kinds == {"a", "button", "input", "textarea", "select", "summary", "div"}


@every_kind
def test_allowed_actions_are_those_on_the_page_with_arguments_of_goal_and_page(kind):
    tokenizer, known = vocabulary(kind)
    rng, dialect, kinds = random.Random(kind), DIALECTS["webrl"], set()
    for _ in range(12):
        seen = observe(random_page(rng), elements="label")
        goal = f"How many {rng.choice(PIECES)} are there in March 2021?"
        language = action_language(goal, seen.text)
        automaton, pattern = Constraint(language, known, frozenset({tokenizer.eos_token_id})), re.compile(regex(language))
        offered, _, texts = parse_page_parts(seen.text)
        sources = [goal, *texts]
        for _ in range(25):
            ids = walk(automaton, rng, 400)
            if ids is None:  # a long list
                continue
            assert pattern.fullmatch(tokenizer.decode(ids)), tokenizer.decode(ids)
            action = dialect.parse(tokenizer.decode(ids))
            kinds.add(action.kind)
            if action.element is not None:
                element = next(item for item in offered if item.name == action.element)
                assert seen.nodes[element.name] is not None
                if action.kind is Kind.SELECT:
                    assert action.argument in element.options
                elif action.kind in (Kind.TYPE, Kind.SEARCH):
                    assert element.is_text_field
            elif action.kind is Kind.EXIT and action.argument not in FIXED:
                known_words = set(re.findall(r"\w+|[^\w\s]", " ".join([*sources, ", ; in near 03/01/2021 2021-03-31"])))
                text = re.findall(r"\w+|[^\w\s]", action.argument)
                assert all(word in known_words or word.isdecimal() for word in text), action.argument
        text = rng.choice(sources)
        spans = list(word_spans(text))
        (start, _), (_, end) = spans[(first := rng.randrange(len(spans)))], spans[rng.randrange(first, len(spans))]
        for argument in (text[start:end], "03/31/2021", "N/A", "", "17", "Addx", "12345"):
            reply = dialect.format(Action(Kind.EXIT, argument=argument))
            found = is_allowed(automaton, ids_of(tokenizer, reply), tokenizer.eos_token_id)
            assert found == bool(pattern.fullmatch(reply)) == (argument not in ("Addx", "12345")), reply
        for address in seen.nodes:
            reply = dialect.format(Action(Kind.CLICK, address))
            found = is_allowed(automaton, ids_of(tokenizer, reply), tokenizer.eos_token_id)
            assert found == any(item.name == address for item in offered), reply
            assert not is_allowed(automaton, ids_of(tokenizer, reply.replace('")', 'x")')), tokenizer.eos_token_id)
    assert Kind.EXIT in kinds
    assert len(kinds) > 4


@pytest.mark.parametrize("text", ["a ", "Cart, ", "<a>Add to Cart</a>\n", "ü5 ", '<input label="5">\n'], ids=repr)
def test_the_allowed_tokens_are_found_in_linear_time(text):
    _, known = vocabulary("byte level")
    rng = random.Random(0)

    def work(size):
        page = text * (size // len(text))

        def find():
            automaton = Constraint(action_language("Add 5", page), known, frozenset({0}))
            state = automaton.start
            for byte in b'exit(message="':
                state = state.advance(known.ids[bytes((byte,))][0])
            for _ in range(20):
                state = (state or automaton.start).advance(rng.choice((state or automaton.start).allowed_ids.tolist()))

        return find

    assert not outgrown(work, 1_000, 16_000, 0.02)


@pytest.fixture(scope="module")
def made():
    tokenizer = house()
    return small.create_model(tokenizer, width=32, layers=2, heads=2), tokenizer, PromptEncoder(tokenizer)


PAGE = 'URL: http://shop.test/\n<a>Add to Cart</a> <a>Größe 5</a>\n<input label="City">\n$3.99 the "Oak" bag'


def constrained_generations(model, encoder, pages, **options):
    constraints = Constraints(encoder)
    engine = InProcessEngine(model, encoder.stop_ids, **{"max_new_tokens": 60, **options})
    for number, page in enumerate(pages):
        constraint = constraints.for_page("Open the bag", page) if page else None
        engine.submit(number, (5, 6, 7, 5 + len(page or "") % 5), number, constraint)
    found = {}
    while not engine.is_idle:
        found |= {item.request_id: item.generation for item in engine.take()}
    return constraints, [found[number] for number in range(len(pages))]


def answers(pages, responses):
    prompts = [(5, 6, 7, 5 + len(page) % 5) for page in pages]
    samples = [Sample(prompt, ids) for prompt, ids in zip(prompts, responses, strict=True)]
    return [TrainingSample(sample, "Open the bag", page) for sample, page in zip(samples, pages, strict=True)]


@pytest.mark.parametrize("sharing", ["rows", "tree"])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_sampler_and_learner_compute_the_same_log_probabilities(made, temperature, sharing):
    model, tokenizer, encoder = made
    pages = [PAGE, PAGE, PAGE + " more", PAGE, "<a>x</a>", PAGE + " more"]
    _, generations = constrained_generations(model, encoder, pages, temperature=temperature)
    gap, options = 0.0, {"constrained": True, "sharing": sharing, "tokens_per_pass": 400}
    trained, _ = tiny.language_model(model, tokenizer, temperature=temperature, **options)
    choices = answers(pages, [one.response_ids for one in generations])
    for places, values in trained.logprobs(choices):
        torch.cat(values).sum().backward()
        for place, own in zip(places, values, strict=True):
            gap = max(gap, (own.detach() - torch.tensor(generations[place].logprobs)).abs().max().item())
    assert gap < 1e-5
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in model.parameters())
    finished = [one for one in generations if one.finished]
    assert finished
    for page, one in zip(pages, generations, strict=True):
        if one.finished:
            DIALECTS["webrl"].parse(encoder.decode(one.response_ids))
            assert re.fullmatch(regex(action_language("Open the bag", page)), encoder.decode(one.response_ids))
    parts = pack([choice.sample for choice in choices], 10_000)
    free = sum(batch_logprobs(model, part, temperature=temperature).sum() for part in parts)
    assert free < sum(sum(one.logprobs) for one in generations) - 1  # the constraint has changed the distribution


def test_probabilities_of_the_allowed_tokens_add_up_to_one_and_others_have_none(made):
    model, tokenizer, encoder = made
    constraints = Constraints(encoder)
    state = constraints.for_page("Open the bag", PAGE).start
    responses = [(token,) for token in state.allowed_ids.tolist()]
    trained, _ = tiny.language_model(model, tokenizer, constrained=True, sharing="rows")
    ((_, values),) = trained.logprobs(answers([PAGE] * len(responses), responses))
    assert torch.cat(values).exp().sum().item() == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(ValueError, match=r"token \d+ is not allowed; expected one of \d+ other tokens"):
        trained.passes(answers(["<a>y</a>"], [tuple(encoder.encode_reply('do(action="Click", element="z")'))]))


def test_free_and_constrained_requests_go_together_and_thoughts_are_refused(made):
    model, _, encoder = made
    pages = [PAGE, None, PAGE + " more", None]
    _, together = constrained_generations(model, encoder, pages)
    for number, page in enumerate(pages):
        _, alone = constrained_generations(model, encoder, [None] * number + [page])
        assert alone[-1].response_ids == together[number].response_ids
    assert create_constraints(encoder, constrained=False, system="think") is None
    with expect_error(ValueError, "system", "'think'", "'none'", "'act'", "'env'"):
        create_constraints(encoder, constrained=True, system="think")


def test_greedy_replies_take_the_most_likely_allowed_token(made):
    model, _, encoder = made
    constraints, (one,) = constrained_generations(model, encoder, [PAGE], temperature=0.0)
    ids, prompt = list(one.response_ids), [5, 6, 7, 5 + len(PAGE) % 5]
    states = constraints.for_page("Open the bag", PAGE).response_states(one.response_ids)
    for place, state in enumerate(states):
        logits = model(torch.tensor([[*prompt, *ids[:place]]])).logits[0, -1]
        assert ids[place] == state.allowed_ids[logits[state.allowed_ids].argmax()]


def test_the_logits_of_allowed_tokens_are_those_of_the_whole_vocabulary(made, monkeypatch):
    model, _, encoder = made
    pages, found = [PAGE, "<a>x</a>", PAGE + " more"], []
    for fraction in (0.0, 1.0):
        monkeypatch.setattr(batches, "_MAX_COLUMNS", fraction)
        widths = []
        hook = model.get_output_embeddings().register_forward_hook(lambda _head, _inputs, logits: widths.append(logits.shape))  # noqa: B023
        _, generations = constrained_generations(model, encoder, pages)
        hook.remove()
        found.append((generations, len(widths)))
    (whole, calls), (few, remaining) = found
    assert remaining < calls - 3  # those of the engine's probe of the model remain
    for one, other in zip(whole, few, strict=True):
        assert one.response_ids == other.response_ids
        assert other.logprobs == pytest.approx(one.logprobs, abs=1e-5)


STARTER = Path(agents.__file__).parent / "checkpoints" / "language-model-1.7m"
TEMPLATES = ("shopping.product_price", "shopping.order_total", "reddit.subscription", "gitlab.star_count")


def test_the_experts_solutions_are_allowed():
    """Those of templates whose arguments stand in the goal or on the page, in the tokens of the shipped model."""
    _, tokenizer = load_model(STARTER)
    encoder = PromptEncoder(tokenizer)
    constraints = Constraints(encoder)
    for elements in ("id", "label"):
        settings = EvaluationSettings(policy="expert", split="validation", templates=TEMPLATES, elements=elements, processes=1)
        played = evaluate_policy(settings, choose_tasks(settings), quiet=True)
        assert played.total.success == 1
        for trajectory in played.trajectories:
            for step in trajectory.steps:
                assert constraints.for_page(trajectory.goal, step.page).response_states(encoder.encode_reply(step.reply))


@pytest.mark.parametrize("policy", ["expert", "random", "chat:model"])
def test_only_language_models_in_this_process_are_constrained(policy):
    with expect_error(ValueError, "constrained", repr(policy)):
        create_policy(EvaluationSettings(policy=policy, constrained=True))


@pytest.mark.slow
def test_processes_that_play_constrain_replies_as_the_learner_does(tmp_path):
    saved = tmp_path / "episodes.jsonl"
    command = ["--policy", str(STARTER), "--constrained", "--split", "validation", "--limit", "2", "--max-steps", "1"]
    main([*command, "--temperature", "1", "--processes", "2", "--save", str(saved)])
    played = read_trajectories(saved)
    assert len(played) == 2
    replies = [(item.goal, step) for item in played for step in item.steps if len(step.response_ids) < 64]
    assert replies
    assert all(re.fullmatch(regex(action_language(goal, step.page)), step.reply) for goal, step in replies)
    places = [(trajectory, number) for trajectory in played for number in range(len(trajectory.steps))]
    steps = [trajectory.steps[number] for trajectory, number in places]
    trained, _ = tiny.language_model(*load_model(STARTER), constrained=True, tokens_per_pass=4_000)
    choices = [trained.choices(trajectory)[number] for trajectory, number in places]
    gap = 0.0
    with torch.no_grad():
        for found, values in trained.logprobs(choices):
            for place, own in zip(found, values, strict=True):
                gap = max(gap, (own - torch.tensor(steps[place].logprobs)).abs().max().item())
    assert len(steps) >= 2
    assert gap < 1e-4  # prompts of thousands of tokens
