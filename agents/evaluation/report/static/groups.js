// Groups of rollouts as trees of states: a line for each state, below it one for each action that was taken there.

const VISITS_WIDTH = 96; // pixels of the bar of all rollouts

function startGroups() {
  if (!byId("groups")) return;
  addEventListener("hashchange", routeGroup);
  routeGroup();
}

function groupAddress(group) {
  return `#group/${encodeURIComponent(group.run)}/${group.update}/${group.group}`;
}

// Draw the group that the address names; the first one before it names any.
function routeGroup() {
  const parts = location.hash.slice(1).split("/");
  const named = parts[0] === "group" && data.groups.find((group) => groupAddress(group) === location.hash);
  if (!named && byId("group").hasChildNodes()) return;
  const shown = named || data.groups[0];
  byId("groups-list").replaceChildren(...data.groups.map((group) => make("li", {},
    make("a", { href: groupAddress(group), "aria-current": group === shown && "true" }, `${group.policy}: ${group.template} `,
      make("b", {}, solvedOf(group.rewards))))));
  byId("group").replaceChildren(
    make("h3", {}, shown.goal),
    make("p", { class: "quiet" }, `${shown.run}, update ${shown.update}, group ${shown.group}, ${shown.task}: ${solvedOf(shown.rewards)} solved`),
    make("ol", { class: "tree" }, ...linesOf(shown.tree, shown)));
  if (named) bringIntoView(byId("groups"));
}

function solvedOf(rewards) {
  return `${rewards.filter((reward) => reward === 1).length} of ${rewards.length}`;
}

// The lines of a state and of what follows; a new level begins where rollouts part.
function linesOf(state, group) {
  if (!state.visits) return [];
  const title = make("li", { class: "state" }, `${state.page || "a page"} `, `(${count(state.visits, "rollout")}, mean return ${short(state.value)})`);
  const isFork = state.branches.length > 1;
  return [title, ...state.branches.flatMap((branch) => {
    const follows = branch.states.flatMap((next) => linesOf(next, group));
    const line = branchLine(branch, group);
    if (!isFork) return [line, ...follows];
    if (follows.length) line.append(make("ol", {}, ...follows));
    return [line];
  })];
}

function branchLine(branch, group) {
  const [number, step] = branch.at[0];
  const width = Math.max(2, (VISITS_WIDTH * branch.visits) / group.rewards.length);
  const bar = make("span", { class: "visits", style: `width: ${width}px; --value: ${100 * branch.value}%`, title: `${branch.visits} of ${group.rewards.length} rollouts` });
  const link = make("a", { href: pathOf({ policy: group.policy, number }, step) }, branch.action || "(an empty reply)");
  const ends = [...new Set(branch.ends)].map((end) => {
    const times = branch.ends.filter((other) => other === end).length;
    return make("span", { class: end === "solved" ? "badge good" : "badge bad" }, times > 1 ? `${times} × ${end}` : end);
  });
  return make("li", {}, make("div", { class: "branch" }, bar, link, advantageOf(branch), ...ends,
    make("span", { class: "quiet" }, `${branch.visits} × return ${short(branch.value)}`),
    branch.error ? make("span", { class: "bad quiet" }, branch.error) : null));
}

// The mean of the advantages. The tooltip contains the advantage of each step.
function advantageOf({ advantage, at }) {
  if (advantage === null) return make("span", { class: "quiet" }, "not trained on");
  const sign = advantage > 0 ? "good" : advantage < 0 ? "bad" : "quiet";
  const each = at.map(([number, step, own]) => `episode ${number}, step ${step}: ${own === null ? "not trained on" : short(own)}`).join("\n");
  return make("span", { class: `advantage ${sign}`, title: each }, `A = ${advantage > 0 ? "+" : ""}${short(advantage)}`);
}
