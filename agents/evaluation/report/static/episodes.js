// Episodes: a list, and one of them step by step. What is shown follows from the fragment of the address.

const END = "end"; // the step after the last reply, with the verdicts of the checks
const EPISODE_ROW = 46; // pixels

let current; // the head, the body and the step that are shown
let showing = 0; // counts up, so that a slow page does not come after a later one
let episodeList;
let telling = []; // episodes to begin with

function startEpisodes() {
  if (!byId("episodes")) return;
  startFilters();
  startTasks();
  startCompared();
  episodeList = windowed(byId("list"), byId("list"), EPISODE_ROW, episodeRow);
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  startTelling();
  addEventListener("hashchange", route);
  addEventListener("resize", fitPage);
  addEventListener("keydown", press);
  route();
}

// What one wants to see first: a task that the second policy has learned and one that it has not, played by both; of a single policy, one of each.
function startTelling() {
  const own = data.episodes.filter((head) => head.holds && !head.rollout);
  const [first, second] = [...new Set(own.map((head) => head.policy))];
  const pairs = own.filter((head) => head.policy === (second || first)).map((after) =>
    [...own.filter((head) => second && head.policy === first && head.task === after.task).slice(0, 1), after]);
  const rows = second
    ? [[`Solved by “${second}” only`, ["wrong", "solved"]], ["Solved by neither", ["wrong", "wrong"]]]
    : [["Solved", ["solved"]], ["Not solved", ["wrong"]]];
  const chosen = rows.map(([title, wanted]) => {
    const fitting = pairs.filter((pair) => pair.length === wanted.length && pair.every(({ outcome }, place) => outcome === wanted[place]));
    fitting.sort((one, other) => oddness(one) - oddness(other));
    return [title, fitting[0]];
  }).filter(([, pair]) => pair);
  telling = chosen.map(([, pair]) => pair.at(-1));
  byId("telling").replaceChildren(...chosen.map(([title, pair]) => make("li", {}, make("b", {}, title),
    make("span", { class: "chips" }, ...pair.map((head) => make("a", { href: pathOf(head, 1) }, `${head.policy} `, badge(head.outcome)))), pair[0].goal)));
}

// Distance from an illustrative episode, which has pages and about five steps.
function oddness(pair) {
  return Math.max(...pair.map((head) => Math.abs(head.steps - 5) + (head.holds === "pages" ? 0 : 100)));
}

function pathOf(head, step) {
  return `#episode/${encodeURIComponent(head.policy)}/${head.number}/${step}`;
}

// The address of a step. Addresses of the current episode keep its other parameters.
function address(head, step) {
  const parameters = new URLSearchParams(query);
  if (!current || current.head !== head) parameters.delete("with");
  return pathOf(head, step) + suffix(parameters);
}

// Show the episode of the address, or the first one that matches its filters.
function route() {
  const [path, parameters] = split(location.hash.slice(1), "?");
  const [kind, policy, number, step] = path.split("/");
  if (!["episode", "episodes"].includes(kind) && current) return;
  const named = kind === "episode" && data.episodes.find((head) => head.policy === decode(policy) && String(head.number) === number);
  const before = current && current.head;
  let isOpen = Boolean(named);
  filter(new URLSearchParams(parameters), (heads, searched, all) => {
    list(heads, searched, all);
    if (isOpen || !heads.length) return;
    isOpen = true;
    const [head] = kind === "episodes" || parameters || !telling.length ? heads : telling;
    if (kind === "episodes" && parameters) history.replaceState(null, "", address(head, stepOf(head)));
    show(head, stepOf(head));
  });
  if (!named) return;
  const shown = show(named, step);
  if (before !== named) shown.then(() => bringIntoView(byId("viewer")));
}

function split(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

// From one step to the next the page stays where it is; to another episode it moves if its top is out of sight.
function bringIntoView(element) {
  const { top } = element.getBoundingClientRect();
  if (byId("filters").contains(document.activeElement)) return;
  if (top < 0 || top > innerHeight / 2) element.scrollIntoView();
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an address that somebody typed
  }
}

function list(heads, searched, all) {
  listed = heads;
  const still = searched < all ? `, ${searched} of ${all} searched` : "";
  const task = query.get("task") ? ` of the task ${query.get("task")}` : "";
  byId("count").textContent = `${heads.length} of ${count(data.episodes.length, "episode")}${task}${still}`;
  episodeList.set(heads);
  drawTasks();
}

// The step that an episode is opened at: where the search found it.
function stepOf(head) {
  return hits.has(head) ? hits.get(head).step : 1;
}

function episodeRow(head) {
  const about = (hits.has(head) && hits.get(head).words) || `${head.policy}, ${head.template}, ${count(head.steps, "step")}`;
  const here = current && current.head === head;
  return make("li", {}, make("a", { href: address(head, stepOf(head)), "data-row": head.index, title: head.goal, "aria-current": here && "true" },
    make("span", { class: "goal" }, badge(head.outcome), ` ${head.goal}`), make("span", { class: "quiet" }, about)));
}

function badge(outcome) {
  return make("span", { class: outcome === "solved" ? "badge good" : "badge bad" }, outcome);
}

async function show(head, wanted) {
  const mine = ++showing;
  const isOther = !(current && current.head === head);
  const body = current && current.head === head ? current.body : await bodyOf(head);
  if (mine !== showing) return;
  const number = Number(wanted) || 1;
  const step = wanted === END || !body.steps.length ? END : Math.min(Math.max(1, Math.trunc(number)), body.steps.length);
  current = { head, body, step };
  byId("viewer").hidden = false;
  byId("goal").textContent = head.goal;
  byId("about").replaceChildren(badge(head.outcome), ` ${head.policy}, ${head.task}, ${count(head.steps, "step")}${head.cause === "none" ? "" : `, ${head.cause}`}`);
  byId("strip").replaceChildren(...body.steps.map((item, place) => chip(place + 1, item.error ? "bad" : "")), chip(END, ""));
  byId("previous").disabled = step === 1 || !body.steps.length;
  byId("next").disabled = step === END;
  if (isOther) episodeList.reveal(head);
  episodeList.redraw();
  const item = step === END ? undefined : body.steps[step - 1];
  byId("turn").replaceChildren(...(item ? renderStep(item) : renderEnd(body)));
  byId("more").replaceChildren(...(item ? tellMore(item) : []));
  showOthers(head);
  showCompared(head, body, step, mine);
  showText(item, step > 1 ? body.steps[step - 2] : undefined);
  highlight([byId("text"), byId("turn"), byId("goal")]);
  await showPane(item ? item.html : body.last, body, mine);
}

function chip(step, kind) {
  const here = step === current.step;
  return make("li", {}, make("a", { href: address(current.head, step), class: kind, "aria-current": here && "step" }, String(step)));
}

function renderStep(item) {
  return [
    item.thought ? field("Thought", make("p", { class: "thought" }, item.thought)) : null,
    field("Action", make("pre", { class: "action" }, item.action || "(an empty reply)")),
    item.error ? field("The env's answer", make("p", { class: "bad" }, item.error)) : null,
  ].filter(Boolean);
}

function tellMore(item) {
  return [
    item.candidates.length ? field("What it could choose", candidatesOf(item.candidates)) : null,
    item.logprobs.length ? field("Tokens", tokensOf(item.logprobs, item.tokens)) : null,
    item.seconds.some(Boolean) ? field("Time", make("p", { class: "seconds" }, timeOf(item.seconds))) : null,
  ].filter(Boolean);
}

// The time of a step that the policy and the env took.
function timeOf([policy, env]) {
  return `${duration(policy)} for the policy, ${duration(env)} for the env, with what was done for other episodes meanwhile`;
}

function duration(seconds) {
  return seconds < 1 ? `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms` : `${seconds.toFixed(1)} s`;
}

// The likeliest actions, each with its probability; those on an element are drawn on the page, too.
function candidatesOf(candidates) {
  return make("ol", { class: "candidates" }, ...candidates.map(([action, probability]) =>
    make("li", { style: `--chance: ${(100 * probability).toFixed(1)}%` }, make("b", {}, percent(probability)), ` ${action}`)));
}

function percent(probability) {
  if (probability < 0.001) return "< 0.1 %";
  return `${(100 * probability).toFixed(probability < 0.01 ? 1 : 0)} %`;
}

// The sampled tokens of a reply, or the choices of a pointer network: each by its probability, the stronger the colour the less likely.
// Where their texts are known these are shown, else the probabilities in %.
function tokensOf(logprobs, texts) {
  const mean = logprobs.reduce((sum, value) => sum + value, 0) / logprobs.length;
  const chips = logprobs.map((value, place) => {
    const probability = Math.exp(value);
    const title = `token ${place + 1}: log-probability ${value.toFixed(2)}, probability ${(100 * probability).toFixed(1)} %`;
    return make("li", { style: `--surprise: ${(100 * (1 - probability)).toFixed(1)}%`, title }, texts[place]?.replaceAll("\n", "⏎") ?? String(Math.round(100 * probability)));
  });
  const summary = `${count(logprobs.length, "token")}, entropy ${(Math.abs(mean)).toFixed(3)} nats a token (estimated)${texts.length ? "" : ", probabilities in %"}`;
  return make("div", {}, make("p", { class: "quiet" }, summary), make("ol", { class: "tokens" }, ...chips));
}

function renderEnd(body) {
  const verdicts = body.verdicts.map(({ check, passed, reason, ...others }) => {
    const more = Object.entries(others).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ");
    return make("li", {}, make("span", { class: passed ? "badge good" : "badge bad" }, passed ? "passed" : "failed"), ` ${check}: `,
      make("span", {}, reason), more ? make("span", { class: "quiet" }, ` (${more})`) : null);
  });
  const nothing = make("p", {}, "No check was made.");
  if (body.missing) return [make("p", { class: "notice" }, "Its steps were left out, so that the file stays small.")];
  return [
    body.description.length ? field("Result", make("p", { class: "told" }, body.description.join(" "))) : null,
    field("Verdicts", verdicts.length ? make("ul", { class: "verdicts" }, ...verdicts) : nothing),
    body.failure ? field("What broke", make("p", { class: "bad" }, body.failure)) : null,
  ].filter(Boolean);
}

function field(title, content) {
  return make("div", { class: "field" }, make("h4", {}, title), content);
}

function showText(item, before) {
  byId("text-pane").hidden = !(item && item.text);
  if (!item) return;
  byId("changes").disabled = !before;
  byId("changes").setAttribute("aria-pressed", showsChanges);
  const text = byId("text");
  if (showsChanges && before) {
    text.replaceChildren(...changesOf(before.text, item.text));
    text.scrollTop = 0;
    return;
  }
  const [from, to] = item.mark;
  const mark = to ? make("mark", {}, item.text.slice(from, to)) : null;
  text.replaceChildren(...[item.text.slice(0, from || 0), mark, item.text.slice(to || 0)].filter(Boolean));
  text.scrollTop = mark ? Math.max(0, mark.offsetTop - text.offsetTop - text.clientHeight / 2) : 0;
}

async function showPane(html, body, mine) {
  byId("window").hidden = !html;
  byId("no-page").hidden = Boolean(html);
  byId("no-page").textContent = `The page cannot be shown as a person sees it. ${body.problem}`;
  if (html && mine === showing) await showPage(html);
}

function turn(by) {
  if (!current) return;
  const steps = [...current.body.steps.keys()].map((place) => place + 1).concat(END);
  const step = steps[steps.indexOf(current.step) + by];
  if (step !== undefined) location.replace(address(current.head, step));
}

function leap(by) {
  const place = listed.indexOf(current && current.head);
  const head = listed[place < 0 ? 0 : place + by];
  if (head) location.hash = address(head, stepOf(head));
}

function press(event) {
  const typing = event.target instanceof Element && event.target.closest("input, select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const acts = {
    j: () => turn(1), ArrowRight: () => turn(1), k: () => turn(-1), ArrowLeft: () => turn(-1), n: () => leap(1), p: () => leap(-1),
    d: () => byId("changes").click(),
  };
  if (!Object.hasOwn(acts, event.key)) return;
  event.preventDefault();
  acts[event.key]();
}
