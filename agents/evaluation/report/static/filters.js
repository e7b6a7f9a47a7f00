// Filters and search. They live in the fragment of the address, after a question mark, and decide which episodes are listed.

const FILTERS = ["policy", "site", "outcome", "cause", "template", "difficulty"];
const FIELDS = ["q", "in", ...FILTERS]; // of the form
const PARTS = ["text", "thought", "action", "error"]; // of a step, that can be searched
const AT_ONCE = 48; // episodes whose blocks are read together
const FOUND_PAUSE = 200; // milliseconds from one list of what was found to the next
const PAUSE = 150; // milliseconds after a key before a search begins

let query = new URLSearchParams();
let listed = []; // the heads that the filters leave, in order
let hits = new Map(); // by head, where the search found it: the step, and some words around
let search = 0; // counts up, so that an older search ends

function startFilters() {
  data.episodes.forEach((head, index) => Object.assign(head, { index }));
  const form = byId("filters");
  for (const name of FILTERS) {
    const values = [...new Set(data.episodes.flatMap((head) => head[name]))].sort();
    addOptions(form.elements[name], values.map((value) => [value, value]));
    form.elements[name].closest("label").hidden = values.length < 1;
  }
  addOptions(form.elements.outcome, [["not solved", "not solved"]]);
  let timer;
  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (event.target.name === "q") timer = setTimeout(choose, PAUSE);
    else choose();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => narrow(Object.fromEntries([...query.keys()].map((name) => [name, ""]))));
}

// Take the filters from the form into the address, and go to the first episode that they leave.
function choose() {
  narrow(Object.fromEntries(FIELDS.map((name) => [name, byId("filters").elements[name].value])));
}

function narrow(changes) {
  const values = [...FIELDS, "task", "sort"].map((name) => [name, changes[name] ?? query.get(name)]);
  const wanted = new URLSearchParams(values.filter(([, value]) => value));
  // Immediately, not in the browser's event of the new address: before it, the user may change another filter.
  history.pushState(null, "", `#episodes${suffix(wanted)}`);
  route();
}

function suffix(parameters) {
  const text = parameters.toString();
  return text && `?${text}`;
}

// Filter by the address; `found` is called whenever there is more in the list.
function filter(parameters, found) {
  const isSame = search && narrowing(parameters) === narrowing(query);
  query = parameters;
  if (isSame) {
    list(listed);
    return;
  }
  for (const name of FIELDS) {
    const field = byId("filters").elements[name];
    if (field !== document.activeElement || name !== "q") field.value = query.get(name) || "";
  }
  byId("clear").hidden = !query.size;
  const left = data.episodes.filter(passes);
  hits = new Map();
  const mine = ++search;
  const terms = termsOf(query.get("q") || "");
  if (!terms.length) {
    found(left, left.length);
    return;
  }
  find(left, terms, () => mine === search, found);
}

// What of the parameters decides which episodes are listed.
function narrowing(parameters) {
  return JSON.stringify([...FIELDS, "task"].map((name) => parameters.get(name)));
}

function passes(head) {
  const isTask = !query.get("task") || head.task === query.get("task");
  return isTask && FILTERS.every((name) => {
    const wanted = query.get(name);
    return !wanted || [head[name]].flat().includes(wanted) || (name === "outcome" && wanted === "not solved" && head.outcome !== "solved");
  });
}

// The words and "quoted phrases" of a search, in small letters; an episode has to hold them all.
function termsOf(text) {
  return [...text.toLowerCase().matchAll(/"([^"]+)"?|([^\s"]+)/g)].map(([, phrase, word]) => (phrase || word).trim()).filter(Boolean);
}

// Search heads, some at a time, so that the page stays alive; goals need no block.
async function find(heads, terms, isWanted, found) {
  const where = query.get("in") || "";
  const parts = where ? PARTS.filter((part) => part === where) : PARTS;
  const hasGoals = !where || where === "goal";
  let reportedAt = 0;
  if (!heads.length) found([], 0, 0);
  for (let from = 0; from < heads.length && isWanted(); from += AT_ONCE) {
    await Promise.all(heads.slice(from, from + AT_ONCE).map(async (head) => {
      const goal = hasGoals ? head.goal.toLowerCase() : "";
      const missing = terms.filter((term) => !goal.includes(term));
      const hit = missing.length ? parts.length && hitIn(await textsOf(head), missing, parts) : { step: 1, words: "" };
      if (hit && isWanted()) hits.set(head, hit);
    }));
    const isLast = from + AT_ONCE >= heads.length;
    if (!isWanted() || !(isLast || performance.now() - reportedAt > FOUND_PAUSE)) continue;
    found(heads.filter((head) => hits.has(head)), from + AT_ONCE, heads.length);
    reportedAt = performance.now();
  }
}

async function textsOf(head) {
  const { steps } = await stepsOf(head);
  // The file of some episodes has no texts of pages; the replay has.
  return steps.length && steps.every((step) => !step.text) && head.holds === "pages" ? (await bodyOf(head)).steps : steps;
}

// The step that holds most of the terms, where the steps together hold them all.
function hitIn(steps, terms, parts) {
  const texts = steps.map((step) => parts.map((part) => step[part] || "").join("\n"));
  const held = texts.map((text) => text.toLowerCase()).map((text) => terms.filter((term) => text.includes(term)));
  if (new Set(held.flat()).size < new Set(terms).size) return undefined;
  const best = held.reduce((most, own, place) => (own.length > held[most].length ? place : most), 0);
  const at = texts[best].toLowerCase().indexOf(held[best][0]);
  const words = texts[best].slice(Math.max(0, at - 12), at + 110).replaceAll(/\s+/g, " ");
  return { step: best + 1, words: `step ${best + 1}: …${words}…` };
}

// Mark what was searched for in an element, without touching its content.
function highlight(elements) {
  if (!CSS.highlights) return;
  const ranges = termsOf(query.get("q") || "").flatMap((term) => elements.flatMap((element) => rangesOf(element, term)));
  byId("viewer").dataset.found = ranges.length;
  CSS.highlights.set("found", new Highlight(...ranges));
}

function rangesOf(element, term) {
  const ranges = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const text = node.data.toLowerCase();
    if (text.length !== node.data.length) continue; // letters whose small form is longer
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + term.length);
      ranges.push(range);
    }
  }
  return ranges;
}
