// Resolves when a document is at rest, i.e. has not changed for QUIET ms, or after `limit` ms, for webarena_gym.browsers.chromium.tab.
// With `patience` > 0 (ms), it first waits that long for a change. Nodes that keep changing by themselves, such as a spinner or a clock,
// are detected and then ignored in this document; a document that never rests gets half the limit at each call.
// Pending timers of less than a second, animations that end within one, and one turn of frequent intervals are waited for (time.js).
// Time is counted in ticks of the page's own timer, so that a page without CPU time does not seem to be at rest.
(patience, limit) => new Promise((done) => {
  const time = window[Symbol.for("webarena_gym.time")], clock = window[Symbol.for("webarena_gym.clock")];
  const TICK = 20, QUIET = 60, FREQUENT = 5, MIN_LIMIT = clock ? 1000 : 200;  // ms per tick, ms at rest, changes of a node, ms
  const known = window[Symbol.for("webarena_gym.changing")] ?? {restless: new WeakSet(), awaited: new WeakSet(), limit};
  Object.defineProperty(window, Symbol.for("webarena_gym.changing"), {value: known, configurable: true});
  const changes = new Map();  // node to time of its first and newest change (ms), and count
  const deadline = patience + Math.min(limit, known.limit);
  let passed = 0, quiet = 0;  // ms since the start, and since the newest change
  let isWaiting = patience > 0;
  time?.watch();
  const observer = new MutationObserver((records) => {
    let hasChanged = false;
    for (const node of new Set(records.map(({target}) => target))) {
      if (known.restless.has(node) || (isWaiting && known.awaited.has(node))) continue;
      if (isWaiting) known.awaited.add(node);
      const change = changes.get(node) ?? {first: passed, count: 0};
      changes.set(node, {...change, newest: passed, count: change.count + 1});
      hasChanged = true;
    }
    if (!hasChanged) return;
    isWaiting = false;
    quiet = 0;
  });
  const finish = () => {
    time?.rest();
    observer.disconnect();
    stop();
    done({isReal: !clock || clock.isReal(), elapsed: clock?.elapsed() ?? 0, hasChanged: changes.size > 0, downloads: time?.takeDownloads() ?? 0});
  };
  const finishRestless = () => {
    for (const [node, {first, newest, count}] of changes)
      if (count >= FREQUENT && newest - first > known.limit / 2) known.restless.add(node);
    known.limit = Math.max(MIN_LIMIT, known.limit / 2);
    time?.ignorePending();
    finish();
  };
  const continueWaiting = () => {  // all changes were frequent: a delayed clock rather than an effect
    isWaiting = true;
    changes.clear();
  };
  const tick = async () => {
    passed += TICK;
    quiet += TICK;
    if (isWaiting) {
      if (passed >= patience) finish();
    } else if (quiet >= QUIET && time?.isDue()) {
      if (passed < deadline) quiet = 0;
      else finishRestless();
    } else if (quiet >= QUIET) {
      if (passed < patience && [...changes.values()].every(({count}) => count >= FREQUENT)) continueWaiting();
      else if (!clock || await isSettled()) finish();
    } else if (passed >= deadline) finishRestless();
  };
  const isSettled = async () => {  // also after tasks without a time, and effects of the layout
    await clock.draw();
    return quiet >= QUIET && !time.isDue() && !clock.isBusy();
  };
  let stop;
  if (clock) stop = clock.every(TICK, tick, () => isWaiting);
  else {
    const timer = setInterval(tick, TICK);
    stop = () => clearInterval(timer);
  }
  const OPTIONS = {subtree: true, childList: true, attributes: true, characterData: true};
  const watch = (root) => {
    observer.observe(root, OPTIONS);
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) watch(element.shadowRoot);
  };
  watch(document);
})
