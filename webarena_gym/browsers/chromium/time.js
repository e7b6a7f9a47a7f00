// The time of a page's scripts, from before the first of them runs: where it stands at `start` (ms; null: it goes on), and what they put off.
// In work that was put off a standing clock shows when it was due: what compares times, such as a debounced field, would never end.
(start) => {
  const LONG = 1000, HABIT = 3, FIRST = 3000, OFTEN = 500;
  const {setTimeout: put, setInterval: repeat, clearInterval: stop, Date: Real} = window;
  const due = new Map();  // by number: the kind, delay and source, of what is put off by less than a second
  const first = new Set();  // numbers of what a new document has put off by more, and at most by FIRST: no person acts before that
  let isNew = true;  // until the document has come to rest
  const runs = new Map();  // by kind: how often it has run since somebody began to watch, all that is due at once taken as one, and when
  const habits = new Set();  // kinds of what comes time and again, and is not waited for
  const checks = new Map();  // by number: whether what runs every half a second or more often has done so since somebody began to watch
  let late = 0;  // ms by which the clock is ahead
  const now = () => start + late;
  if (start !== null) {
    window.Date = new Proxy(Real, {
      apply: () => String(new Real(now())),
      construct: (target, given, made) => Reflect.construct(target, given.length ? given : [now()], made),
      get: (target, name) => name === "now" ? now : Reflect.get(target, name),
    });
    Real.prototype.constructor = window.Date;
  }
  const sourceOf = (work) => {
    const source = Function.prototype.toString.call(work);
    return source.includes("[native code]") ? new Error().stack : source;  // of a promise, or bound: who put it off tells more
  };
  window.setTimeout = function setTimeout(work, delay, ...given) {
    if (typeof work !== "function") return put(work, delay, ...given);
    const wait = Math.max(0, Number(delay) || 0), at = late + wait, kind = `${wait} ${sourceOf(work)}`;
    const number = put(function (...args) {
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
    }, delay, ...given);
    if (wait < LONG) due.set(number, kind);
    else if (isNew && wait <= FIRST) first.add(number);
    return number;
  };
  window.setInterval = function setInterval(work, delay, ...given) {
    if (typeof work !== "function" || !(delay <= OFTEN)) return repeat(work, delay, ...given);
    const number = repeat(function (...args) {
      checks.set(number, true);
      return work.apply(this, args);
    }, delay, ...given);
    checks.set(number, false);
    return number;
  };
  for (const name of ["clearTimeout", "clearInterval"]) {  // either ends what the other one names
    const clear = window[name];
    window[name] = (number) => {
      due.delete(number);
      first.delete(number);
      checks.delete(number);
      clear(number);
    };
  }
  const isEnding = ({playState, currentTime, effect}) => {
    const left = Number(effect?.getComputedTiming().endTime) - Number(currentTime);
    return playState === "running" && left > 0 && left < LONG;
  };
  const know = {
    watch: () => {
      runs.clear();
      for (const number of checks.keys()) checks.set(number, false);
    },
    isDue: () => [...due.values()].some((kind) => !habits.has(kind)) || [...checks.values()].includes(false) || document.getAnimations().some(isEnding),
    rest: () => { isNew = false; },
    ready: async () => first.size === 0 || new Promise((done) => {
      const since = performance.now(), turns = repeat(() => {
        if (first.size && performance.now() - since < FIRST) return;
        first.clear();
        stop(turns);
        done();
      }, 20);
    }),
    giveUp: () => due.forEach((kind) => habits.add(kind)),
  };
  Object.defineProperty(window, Symbol.for("webarena_gym.time"), {value: know});  // for rest.js and tab.py
}
