// Runs before the scripts of a page of MiniWoB++, in each of its frames. It changes nothing of the tasks:
// it tells apart what belongs to them, marks what can be clicked, holds the calendar still, and knows when timers are due.
(() => {
  // A page that shows "today" must look alike on every day.
  const Clock = Date, shift = Date.UTC(2017, 2, 1, 12) - Date.now(), now = () => Clock.now() + shift;
  window.Date = new Proxy(Clock, {
    construct: (_, given, made) => Reflect.construct(Clock, given.length ? given : [now()], made),
    apply: () => new Clock(now()).toString(),
    get: (_, name) => name === "now" ? now : Reflect.get(Clock, name),
  });
  Clock.prototype.constructor = window.Date;

  // The goal is told by the env, and the rest is MiniWoB's own display; the cover would stand before the last page.
  const APART = "#query, #query-wrap, #reward-display, #sync-task-cover";
  const STYLE = "#sync-task-cover { display: none !important; }";

  // Many pages listen to clicks on plain text and boxes, which markup alone does not tell.
  const ROLES = ["button", "link", "checkbox", "radio", "tab", "menuitem", "option", "switch", "combobox", "textbox"];
  const USED = ["a[href]", "button", "input", "select", "textarea", "summary", "[onclick]", "[contenteditable]",
    ...ROLES.map((role) => `[role=${role}]`)].join();
  const listening = new WeakSet();
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (kind, ...rest) {
    if (kind === "click" || kind === "dblclick") {
      if (this instanceof HTMLElement && this !== document.body) listening.add(this);
      if (!due) due = queueMicrotask(mark) ?? true;
    }
    return listen.call(this, kind, ...rest);
  };
  let due = false;

  // jQuery listens on a container for what is inside of it.
  const heard = (element) => {
    const handlers = window.jQuery?._data?.(element, "events")?.click ?? [{}];
    return handlers.flatMap(({selector}) => selector ? [...element.querySelectorAll(selector)] : [element]);
  };

  // What has no text is named by what its markup and its colour say, also after they have changed.
  const named = new WeakSet();
  const name = (element) => {
    if (!element.hasAttribute("role")) element.setAttribute("role", "button");
    if (!named.has(element) && (element.innerText?.trim() || element.title || element.ariaLabel)) return;
    named.add(element);
    const colour = getComputedStyle(element).backgroundColor;
    const words = [element.id, element.className, colour === "rgba(0, 0, 0, 0)" ? "" : colour, element.innerText];
    const label = words.filter(Boolean).join(" ");
    if (element.ariaLabel !== label) element.ariaLabel = label;
  };

  // What listens is named as a whole, or, when something in it can be used by itself, by its other parts.
  const offer = (element) => {
    if (named.has(element)) return name(element);
    if (element.matches(USED)) return;
    if (!element.querySelector(USED)) return name(element);
    for (const part of element.children)
      if (!part.matches(USED) && !part.querySelector(USED) && part.innerText?.trim()) name(part);
  };

  const mark = () => {
    due = false;
    for (const part of document.querySelectorAll(APART)) part.ariaHidden = "true";
    const all = [...document.querySelectorAll("body *")].filter((element) => listening.has(element)).flatMap(heard);
    all.reverse().forEach(offer);
  };
  new MutationObserver(mark).observe(document, {childList: true, subtree: true, attributeFilter: ["class", "style"]});

  // A list of suggestions, say, opens a moment after the typing; what such timers do belongs to the action before.
  const SOON_MS = 1000, PATIENCE_MS = 2000, pending = new Set();
  const {setTimeout: later, clearTimeout: never} = window;
  window.setTimeout = (work, delay, ...given) => {
    const timer = later(() => {
      pending.delete(timer);
      typeof work === "function" ? work.apply(window, given) : later(work);
    }, delay);
    if (!(delay > SOON_MS)) pending.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => { pending.delete(timer); never.call(window, timer); };

  window.webarenaGym = {
    isResting: () => pending.size === 0 && [...document.querySelectorAll("iframe")].every((frame) =>
      frame.contentWindow?.webarenaGym?.isResting() ?? true),
    // Wait until no timer is due soon, or as long as makes sense; return whether there was one.
    rest: async () => {
      const started = Clock.now(), isResting = window.webarenaGym.isResting;
      if (isResting()) return false;
      while (!isResting() && Clock.now() - started < PATIENCE_MS) await new Promise((done) => later(done, 10));
      return true;
    },
    // Start an episode and return its goal. A policy that thinks must not be timed out by the clock, so there is all the
    // time that a timer can hold: 24 days.
    begin: async (seed, mode) => {
      document.head.append(Object.assign(document.createElement("style"), {textContent: STYLE}));
      core.EPISODE_MAX_TIME = 2 ** 31 - 1;
      core.setDataMode(mode);
      Math.seedrandom(seed);
      core.startEpisodeReal();
      while (!WOB_TASK_READY) await new Promise((done) => later(done, 20));
      const said = core.getUtterance();
      return typeof said === "string" ? said : said.utterance;
    },
  };
})();
