// Comes back when nothing in a document has changed for a moment, or after `limit` ms, for webarena_gym.browsers.chromium.tab.
// With `patience`, that moment begins with the first change, which may take that many ms. What keeps changing by itself, such as
// a spinner or a clock, is found out and no longer counts in this document; one that never rests is given less time each time.
// What a script has put off by less than a second, an animation that ends by then, and a turn of what is done time and again are waited
// for (time.js).
// Time is counted in turns of the page's own timers: while the machine gives the page no time, it does not seem to be at rest.
(patience, limit) => new Promise((done) => {
  const TURN = 20, MOMENT = 60, OFTEN = 5, LEAST = 200;
  const known = window[Symbol.for("webarena_gym.changing")] ?? {restless: new WeakSet(), awaited: new WeakSet(), limit};
  Object.defineProperty(window, Symbol.for("webarena_gym.changing"), {value: known, configurable: true});
  const changes = new Map();  // by place: when it changed first and last, and how often
  const most = patience + Math.min(limit, known.limit);
  let passed = 0, quiet = 0;  // ms, in turns
  let isWaiting = patience > 0;
  const time = window[Symbol.for("webarena_gym.time")];
  time?.watch();
  const observer = new MutationObserver((records) => {
    let isNews = false;
    for (const place of new Set(records.map(({target}) => target))) {
      if (known.restless.has(place) || (isWaiting && known.awaited.has(place))) continue;
      if (isWaiting) known.awaited.add(place);
      const change = changes.get(place) ?? {first: passed, count: 0};
      changes.set(place, {...change, newest: passed, count: change.count + 1});
      isNews = true;
    }
    if (!isNews) return;
    isWaiting = false;
    quiet = 0;
  });
  const end = () => {
    time?.rest();
    observer.disconnect();
    clearInterval(turns);
    done();
  };
  const giveUp = () => {
    for (const [place, {first, newest, count}] of changes)
      if (count >= OFTEN && newest - first > known.limit / 2) known.restless.add(place);
    known.limit = Math.max(LEAST, known.limit / 2);
    time?.giveUp();
    end();
  };
  const waitOn = () => {  // what changed so often and then paused was a clock that stumbled
    isWaiting = true;
    changes.clear();
  };
  const turns = setInterval(() => {
    passed += TURN;
    quiet += TURN;
    if (isWaiting) {
      if (passed >= patience) end();
    } else if (quiet >= MOMENT && time?.isDue()) {
      if (passed < most) quiet = 0;
      else giveUp();
    } else if (quiet >= MOMENT) {
      if (passed < patience && [...changes.values()].every(({count}) => count >= OFTEN)) waitOn();
      else end();
    } else if (passed >= most) giveUp();
  }, TURN);
  const HOW = {subtree: true, childList: true, attributes: true, characterData: true};
  const watch = (root) => {
    observer.observe(root, HOW);
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) watch(element.shadowRoot);
  };
  watch(document);
})
