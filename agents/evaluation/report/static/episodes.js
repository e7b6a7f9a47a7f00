// Episodes: a list with filters, and one of them step by step. What is shown follows from the fragment of the address.

const FILTERS = ["policy", "site", "outcome", "template"];
const END = "end"; // the step after the last reply: what the checks said

let current; // the head, the body and the step that are shown
let showing = 0; // counts up, so that a slow page does not come after a later one

function startEpisodes() {
  if (!byId("episodes")) return;
  for (const name of FILTERS) {
    const values = [...new Set(data.episodes.map((head) => head[name]))].sort();
    addOptions(byId(`filter-${name}`), [["", "all"], ...values.map((value) => [value, value])]);
  }
  addOptions(byId("filter-outcome"), [["not solved", "not solved"]]);
  byId("filters").addEventListener("input", list);
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  addEventListener("hashchange", route);
  addEventListener("resize", fitPage);
  addEventListener("keydown", press);
  list();
  route();
}

function address(head, step) {
  return `#episode/${encodeURIComponent(head.policy)}/${head.number}/${step}`;
}

// Show what the address says; the first episode if it says none.
function route() {
  const [kind, policy, number, step] = location.hash.slice(1).split("/");
  if (kind !== "episode" && current) return;
  const named = kind === "episode" && data.episodes.find((head) => head.policy === decode(policy) && String(head.number) === number);
  const head = named || data.episodes[0];
  if (!head) return;
  const isOther = named && !(current && current.head === head);
  const shown = show(head, named && step);
  if (isOther) shown.then(() => bringIntoView(byId("viewer")));
}

// From one step to the next the page stays where it is; to another episode it moves if its top is out of sight.
function bringIntoView(element) {
  const { top } = element.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) element.scrollIntoView();
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an address that somebody typed
  }
}

function listed() {
  return data.episodes.filter((head) => FILTERS.every((name) => {
    const wanted = byId(`filter-${name}`).value;
    return !wanted || head[name] === wanted || (name === "outcome" && wanted === "not solved" && head.outcome !== "solved");
  }));
}

function list() {
  const heads = listed();
  byId("count").textContent = `${heads.length} of ${count(data.episodes.length, "episode")}`;
  byId("list").replaceChildren(...heads.map((head) => make("li", {},
    make("a", { href: address(head, 1) }, badge(head.outcome), ` ${head.goal}`,
      make("span", { class: "quiet" }, `${head.policy}, ${head.template}, ${count(head.steps, "step")}`)))));
  markCurrent();
}

function badge(outcome) {
  return make("span", { class: outcome === "solved" ? "badge good" : "badge bad" }, outcome);
}

function markCurrent() {
  for (const link of byId("list").querySelectorAll("a")) {
    const here = current && link.getAttribute("href") === address(current.head, 1);
    if (here) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    const box = byId("list");
    if (here) box.scrollTop = Math.min(Math.max(box.scrollTop, link.offsetTop + link.offsetHeight - box.clientHeight), link.offsetTop);
  }
}

async function show(head, wanted) {
  const mine = ++showing;
  const body = current && current.head === head ? current.body : JSON.parse(await unpack(head.body));
  if (mine !== showing) return;
  const number = Number(wanted) || 1;
  const step = wanted === END || !body.steps.length ? END : Math.min(Math.max(1, Math.trunc(number)), body.steps.length);
  current = { head, body, step };
  byId("viewer").hidden = false;
  byId("goal").textContent = head.goal;
  byId("about").replaceChildren(badge(head.outcome), ` ${head.policy}, ${head.task}, ${count(head.steps, "step")}`);
  byId("strip").replaceChildren(...body.steps.map((item, place) => chip(place + 1, item.error ? "bad" : "")), chip(END, ""));
  byId("previous").disabled = step === 1 || !body.steps.length;
  byId("next").disabled = step === END;
  markCurrent();
  const item = step === END ? undefined : body.steps[step - 1];
  byId("turn").replaceChildren(...(item ? tell(item) : tellEnd(body)));
  showText(item);
  await showPane(item ? item.html : body.last, body, mine);
}

function chip(step, kind) {
  const here = step === current.step;
  return make("li", {}, make("a", { href: address(current.head, step), class: kind, "aria-current": here && "step" }, String(step)));
}

function tell(item) {
  return [
    item.thought ? field("Thought", make("p", { class: "thought" }, item.thought)) : null,
    field("Action", make("pre", { class: "action" }, item.action || "(an empty reply)")),
    item.error ? field("The env's answer", make("p", { class: "bad" }, item.error)) : null,
  ].filter(Boolean);
}

function tellEnd(body) {
  const verdicts = body.verdicts.map(({ check, passed, reason, ...others }) => {
    const more = Object.entries(others).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ");
    return make("li", {}, make("span", { class: passed ? "badge good" : "badge bad" }, passed ? "passed" : "failed"), ` ${check}: `,
      make("span", {}, reason), more ? make("span", { class: "quiet" }, ` (${more})`) : null);
  });
  const nothing = make("p", {}, "No check was made.");
  return [
    body.told.length ? field("Result", make("p", { class: "told" }, body.told.join(" "))) : null,
    field("Verdicts", verdicts.length ? make("ul", { class: "verdicts" }, ...verdicts) : nothing),
    body.failure ? field("What broke", make("p", { class: "bad" }, body.failure)) : null,
  ].filter(Boolean);
}

function field(title, content) {
  return make("div", { class: "field" }, make("h4", {}, title), content);
}

function showText(item) {
  const shown = item && item.text.some(Boolean);
  byId("text-pane").hidden = !shown;
  if (!shown) return;
  const [before, marked, after] = item.text;
  const mark = marked ? make("mark", {}, marked) : null;
  const text = byId("text");
  text.replaceChildren(...[before, mark, after].filter(Boolean));
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
  const heads = listed();
  const place = heads.indexOf(current && current.head);
  const head = heads[place < 0 ? 0 : place + by];
  if (head) location.hash = address(head, 1);
}

function press(event) {
  const typing = event.target instanceof Element && event.target.closest("input, select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const acts = {
    j: () => turn(1), ArrowRight: () => turn(1), k: () => turn(-1), ArrowLeft: () => turn(-1), n: () => leap(1), p: () => leap(-1),
  };
  if (!Object.hasOwn(acts, event.key)) return;
  event.preventDefault();
  acts[event.key]();
}

startCurves();
startEpisodes();
