// Tasks: a row for each that the filters leave, with the success of each policy; a click on a title sorts, one on a task filters.

const TASK_ROW = 34; // pixels

const TASK_COLUMNS = [
  ["task", (row) => row.task],
  ["site", (row) => row.site],
  ["template", (row) => row.template],
  ["difficulty", (row) => row.difficulty.join(", ")],
  ["steps", (row) => row.steps],
  ["refused actions", (row) => row.errors],
];

let taskTable;
let taskColumns = [];

function startTasks() {
  const policies = [...new Set(data.episodes.filter((head) => !head.rollout).map((head) => head.policy))];
  const hasKinds = data.episodes.some((head) => head.difficulty.length);
  taskColumns = [
    ...TASK_COLUMNS.filter(([title]) => title !== "difficulty" || hasKinds),
    ...policies.map((name) => [name, (row) => (row.played[name] ? row.played[name].solved / row.played[name].count : undefined), true]),
  ];
  taskTable = windowed(byId("tasks-box"), byId("tasks-rows"), TASK_ROW, taskRow);
  byId("tasks").addEventListener("toggle", drawTasks);
}

function taskRow(row) {
  const cells = taskColumns.slice(1).map(([title, value, isPolicy]) => {
    const own = isPolicy && row.played[title];
    if (!isPolicy) return make("td", { title: String(value(row)) }, short(value(row)));
    if (!own) return make("td", { class: "quiet" }, "none");
    return make("td", {}, make("span", { class: own.solved ? "badge good" : "badge bad" }, `${own.solved} of ${own.count}`));
  });
  const parameters = new URLSearchParams(query);
  parameters.set("task", row.task);
  const link = make("a", { href: `#episodes${suffix(parameters)}`, "data-row": row.task, title: row.goal }, row.task);
  return make("tr", {}, make("th", { scope: "row" }, link), ...cells);
}

function drawTasks() {
  if (!byId("tasks").open) return;
  const sorted = query.get("sort") || "";
  byId("tasks-head").replaceChildren(...taskColumns.map(([title]) => {
    const direction = sorted === title ? "ascending" : sorted === `-${title}` ? "descending" : undefined;
    const button = make("button", { type: "button" }, title, { ascending: " ▲", descending: " ▼" }[direction]);
    button.addEventListener("click", () => sortBy(direction === "ascending" ? `-${title}` : title));
    return make("th", { scope: "col", "aria-sort": direction }, button);
  }));
  const rows = taskRows();
  const [, value] = taskColumns.find(([title]) => title === sorted.replace(/^-/, "")) || [];
  if (value) {
    const sign = sorted.startsWith("-") ? -1 : 1;
    rows.sort((one, other) => sign * compare(value(one), value(other)));
  }
  taskTable.set(rows);
}

// Unlike a filter, this stays at the episode that is shown.
function sortBy(title) {
  const wanted = new URLSearchParams(query);
  wanted.set("sort", title);
  const [path] = current ? split(address(current.head, current.step), "?") : ["#episodes"];
  location.replace(path + suffix(wanted));
}

// The tasks of the listed episodes, in order, with means over their episodes.
function taskRows() {
  const rows = new Map();
  for (const head of listed.filter((head) => !head.rollout)) {
    if (!rows.has(head.task)) rows.set(head.task, { ...head, steps: 0, errors: 0, count: 0, played: {} });
    const row = rows.get(head.task);
    const own = (row.played[head.policy] ||= { solved: 0, count: 0 });
    own.count += 1;
    own.solved += head.outcome === "solved";
    row.steps = (row.steps * row.count + head.steps) / (row.count + 1);
    row.errors = (row.errors * row.count + head.errors) / (row.count + 1);
    row.count += 1;
  }
  return [...rows.values()];
}

function compare(one, other) {
  if (one === other) return 0;
  if (one === undefined || other === undefined) return one === undefined ? -1 : 1;
  return one < other ? -1 : 1;
}
