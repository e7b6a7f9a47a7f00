// The time of a page's scripts, from before the first of them runs: where it stands at `start` (ms; null: it goes on), and what they put off.
// In work that was put off a standing clock shows when it was due: what compares times, such as a debounced field, would never end.
(start) => {
  const LONG = 1000, HABIT = 3;
  const {setTimeout: put, Date: Real} = window;
  const due = new Map();  // by number: the kind, delay and source, of what is put off by less than a second
  const runs = new Map();  // by kind: how often it has run since somebody began to watch, all that is due at once taken as one, and when
  const habits = new Set();  // kinds of what comes time and again, and is not waited for
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
    return number;
  };
  for (const name of ["clearTimeout", "clearInterval"]) {  // either ends what the other one names
    const clear = window[name];
    window[name] = (number) => {
      due.delete(number);
      clear(number);
    };
  }
  const isEnding = ({playState, currentTime, effect}) => {
    const left = Number(effect?.getComputedTiming().endTime) - Number(currentTime);
    return playState === "running" && left > 0 && left < LONG;
  };
  const know = {
    watch: () => runs.clear(),
    isDue: () => [...due.values()].some((kind) => !habits.has(kind)) || document.getAnimations().some(isEnding),
    giveUp: () => due.forEach((kind) => habits.add(kind)),
  };
  Object.defineProperty(window, Symbol.for("webarena_gym.time"), {value: know});  // for rest.js
}
