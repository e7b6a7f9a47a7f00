// Controls the clock of a page's scripts and tracks their timers and downloads; it runs before the first script. The clock is frozen at `start` (ms; null:
// not frozen), or begins then if it `passes`. Within the callback of a timer, a frozen clock shows the time at which the timer was due. Otherwise code
// that compares times, such as a debounced field, would never finish.
(start, passes = false) => {
  const LONG = 1000, HABIT = 3, FIRST = 3000, OFTEN = 500;
  const {setTimeout: realSetTimeout, setInterval: realSetInterval, clearInterval: realClearInterval, Date: Real} = window;
  const due = new Map();  // timer id to kind ("delay source") of pending timeouts of less than LONG ms
  const first = new Set();  // ids of a new document's timeouts of LONG to FIRST ms, which end before a user would act
  let isNew = true;  // until the document is at rest
  const runs = new Map();  // kind to count and time of its runs since `watch`; simultaneous runs count once
  const habits = new Set();  // kinds of recurring timeouts, which are not waited for
  const checks = new Map();  // id of each interval of at most OFTEN ms to whether it has run since `watch`
  let late = 0;  // ms by which the frozen clock is ahead within a timer's callback
  const now = () => start + (passes ? Math.floor(performance.now()) : late);
  if (start !== null) {
    window.Date = new Proxy(Real, {
      apply: () => String(new Real(now())),
      construct: (target, args, newTarget) => Reflect.construct(target, args.length ? args : [now()], newTarget),
      get: (target, name) => name === "now" ? now : Reflect.get(target, name),
    });
    Real.prototype.constructor = window.Date;
  }
  const sourceOf = (work) => {
    const source = Function.prototype.toString.call(work);
    return source.includes("[native code]") ? new Error().stack : source;  // a promise's or bound function: the caller identifies it better
  };
  window.setTimeout = function setTimeout(work, delay, ...parameters) {
    if (typeof work !== "function") return realSetTimeout(work, delay, ...parameters);
    const wait = Math.max(0, Number(delay) || 0), at = late + wait, kind = `${wait} ${sourceOf(work)}`;
    const number = realSetTimeout(function (...args) {
      const before = late;
      first.delete(number);
      if (due.delete(number)) {
        const run = runs.get(kind) ?? {count: 0, time: -LONG}, time = performance.now();
        if (time - run.time >= wait) runs.set(kind, {count: run.count + 1, time});
        if (runs.get(kind)?.count >= HABIT) habits.add(kind);
      }
      late = at;
      try {
        return work.apply(this, args);
      } finally {
        late = before;
      }
    }, delay, ...parameters);
    if (wait < LONG) due.set(number, kind);
    else if (isNew && wait <= FIRST) first.add(number);
    return number;
  };
  window.setInterval = function setInterval(work, delay, ...parameters) {
    if (typeof work !== "function" || !(delay <= OFTEN)) return realSetInterval(work, delay, ...parameters);
    const number = realSetInterval(function (...args) {
      checks.set(number, true);
      return work.apply(this, args);
    }, delay, ...parameters);
    checks.set(number, false);
    return number;
  };
  for (const name of ["clearTimeout", "clearInterval"]) {  // each clears timeouts and intervals
    const clear = window[name];
    window[name] = (number) => {
      due.delete(number);
      first.delete(number);
      checks.delete(number);
      clear(number);
    };
  }
  let downloads = 0;  // clicks of scripts on links that download, also outside of the document, since `takeDownloads`
  const withDownload = (target, click) => {
    let event = null;
    const note = (it) => { event = it; };
    if (!(target instanceof Element && target.closest("a[download][href], area[download][href]"))) return click();
    target.addEventListener("click", note, {capture: true});
    try {
      return click();
    } finally {
      target.removeEventListener("click", note, {capture: true});
      if (event !== null && !event.defaultPrevented) downloads++;
    }
  };
  const {click} = HTMLElement.prototype, {dispatchEvent} = EventTarget.prototype;
  HTMLElement.prototype.click = function () { return withDownload(this, () => click.call(this)); };
  EventTarget.prototype.dispatchEvent = function (event) { return withDownload(this, () => dispatchEvent.call(this, event)); };
  const isEnding = ({playState, currentTime, effect}) => {
    const left = Number(effect?.getComputedTiming().endTime) - Number(currentTime);
    return playState === "running" && left > 0 && left < LONG;
  };
  const tracker = {
    watch: () => {
      runs.clear();
      for (const number of checks.keys()) checks.set(number, false);
    },
    isDue: () => [...due.values()].some((kind) => !habits.has(kind)) || [...checks.values()].includes(false) || document.getAnimations().some(isEnding),
    rest: () => { isNew = false; },
    takeDownloads: () => {
      const count = downloads;
      downloads = 0;
      return count;
    },
    ready: async () => first.size === 0 || new Promise((done) => {
      const since = performance.now(), turns = realSetInterval(() => {
        if (first.size && performance.now() - since < FIRST) return;
        first.clear();
        realClearInterval(turns);
        done();
      }, 20);
    }),
    ignorePending: () => due.forEach((kind) => habits.add(kind)),
  };
  Object.defineProperty(window, Symbol.for("webarena_gym.time"), {value: tracker});  // for rest.js and tab.py
}
