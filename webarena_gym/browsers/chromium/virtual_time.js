// Gives a document a virtual clock, for webarena_gym.browsers.chromium.virtual_time; it runs before time.js and the first script.
// Timers, animation frames, idle callbacks, animations, `Date` (which begins at `start`, ms; null: at the real time), `performance.now()`
// and `Event.timeStamp` follow the clock. It stops, except that a timer without a delay runs at once, until `advance` or `every` is called.
// Then it jumps from one timer to the next, and stops while scripts wait for responses. Servers and workers do not follow it: while the
// document has an EventSource, a WebSocket or a worker, real time passes too after a message to or from one of them, and in paced calls.
// A reply is awaited for at most REPLY real ms. If `isSilent`, the server sends no messages, so only workers do that.
(start, isSilent, REPLY) => {
  const FRAME = 1000 / 60, DEEP = 5, MIN_DEEP = 4, STEP = 20;  // ms per frame, nesting of clamped timers, their ms, ms per step
  const MANY = 20, MANY_READS = 1000;  // equal requests in one call; a script that sends more is polling. Readings of the clock in a task
  const QUIET = 60, LIVELY = 600, DRAWN = 1000;  // real ms: after a message, of messages in a call, for a frame
  const real = {};
  for (const name of ["setTimeout", "requestAnimationFrame", "requestIdleCallback"]) real[name] = window[name].bind(window);
  const {Date: RealDate, MessageChannel, Promise, fetch} = window, realNow = performance.now.bind(performance);
  const {port1, port2} = new MessageChannel(), tasks = [];
  port1.onmessage = () => tasks.shift()();
  const queue = (work) => { tasks.push(work); port2.postMessage(0); };
  const turn = () => new Promise(queue);
  const pause = (ms) => new Promise((done) => { real.setTimeout(done, ms); });
  const draw = () => new Promise((done) => {
    real.requestAnimationFrame(() => real.requestIdleCallback(() => queue(done), {timeout: QUIET}));
    real.setTimeout(done, DRAWN);
  });

  // The clock. Each reading moves it on a little, so that times are distinct, and loops that wait for a time end.
  let now = 0, reads = 0, offset = window[Symbol.for("webarena_gym.elapsed")] ?? 0;  // ms, readings since the last timer, ms added by `moveTo`
  const read = () => {
    now += ++reads > MANY_READS ? 0.1 : 0.001;
    return now;
  };
  start ??= RealDate.now();
  const date = () => Math.floor(start + offset + read());
  window.Date = new Proxy(RealDate, {
    apply: () => String(new RealDate(date())),
    construct: (target, args, newTarget) => Reflect.construct(target, args.length ? args : [date()], newTarget),
    get: (target, name) => name === "now" ? date : Reflect.get(target, name),
  });
  RealDate.prototype.constructor = window.Date;
  const eventTimes = new WeakMap();
  const define = (object, name, value) => Object.defineProperty(object, name, {value, configurable: true, writable: true});
  define(Performance.prototype, "now", function now() { return read(); });
  Object.defineProperty(Performance.prototype, "timeOrigin", {get: () => start + offset, configurable: true});
  Object.defineProperty(Event.prototype, "timeStamp", {
    get() {
      if (!eventTimes.has(this)) eventTimes.set(this, read());
      return eventTimes.get(this);
    },
    configurable: true,
  });

  // Timers.
  const timers = new Map();  // id to {at, order, work, args, every, depth}
  let count = 0, depth = 0, isPumping = false;  // timers so far, nesting of the running timer, whether `pump` is queued
  const due = (until) => {
    let first = null;
    for (const entry of timers) {
      const timer = entry[1];
      if (timer.at <= until && (!first || timer.at < first[1].at || (timer.at === first[1].at && timer.order < first[1].order))) first = entry;
    }
    return first;
  };
  const run = ([id, timer]) => {
    timers.delete(id);
    if (timer.every !== null) add({...timer, at: Math.max(timer.at, now) + timer.every, depth: timer.depth + 1}, id);
    depth = timer.depth;
    reads = 0;
    try {
      if (typeof timer.work === "function") timer.work.apply(window, timer.args());
      else real.setTimeout(timer.work);
    } catch (error) {
      reportError(error);
    }
  };
  const pump = () => {
    isPumping = false;
    depth = 0;
    const first = due(now);
    if (!first) return;
    run(first);
    ensurePump();
  };
  const ensurePump = () => {
    if (!isPumping) queue(pump);
    isPumping = true;
  };
  const add = (timer, id = ++count) => {
    timers.set(id, {...timer, order: ++count});
    if (timer.at <= now) ensurePump();
    return id;
  };
  const later = (work, delay, args, isRepeated) => {
    const least = depth >= DEEP ? MIN_DEEP : isRepeated ? 1 : 0, wait = Math.max(least, Math.trunc(Number(delay)) || 0);
    return add({at: now + wait, work, args: () => args, every: isRepeated ? wait : null, depth: depth + 1});
  };
  window.setTimeout = function setTimeout(work, delay, ...args) { return later(work, delay, args, false); };
  window.setInterval = function setInterval(work, delay, ...args) { return later(work, delay, args, true); };
  window.requestAnimationFrame = function requestAnimationFrame(work) {
    const next = (Math.floor(now / FRAME) + 1) * FRAME;
    return add({at: next > now ? next : next + FRAME, work, args: () => [now], every: null, depth: 0});
  };
  window.requestIdleCallback = function requestIdleCallback(work) {
    return add({at: now + 1, work, args: () => [{didTimeout: false, timeRemaining: () => 49}], every: null, depth: 0});
  };
  for (const name of ["clearTimeout", "clearInterval", "cancelAnimationFrame", "cancelIdleCallback"])
    window[name] = (id) => { timers.delete(Number(id)); };
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    window.setTimeout(() => controller.abort(new DOMException("signal timed out", "TimeoutError")), ms);
    return controller.signal;
  };

  // Requests.
  const pending = new Map(), endless = new Set(), sent = new Map();  // token to key; keys; key to count since `begin`
  let waiters = [];
  const follow = (method, url) => {
    const token = {}, key = `${method} ${String(url).split("?")[0]}`;
    sent.set(key, (sent.get(key) ?? 0) + 1);
    if (endless.has(key) || sent.get(key) > MANY) return () => {};
    pending.set(token, key);
    return () => queue(() => {  // after the scripts that handle the response
      if (!pending.delete(token)) return;
      if (streams.size) newest = realNow();
      for (const waiter of waiters.splice(0)) waiter();
    });
  };
  window.fetch = function (input, options) {
    const end = follow(options?.method ?? input?.method ?? "GET", input?.url ?? input), response = fetch.call(window, input, options);
    response.then(end, end);
    return response;
  };
  for (const name of ["arrayBuffer", "blob", "bytes", "formData", "json", "text"]) {
    const method = Response.prototype[name];
    if (method) define(Response.prototype, name, function () {
      const end = follow("BODY", this.url), body = method.call(this);
      body.then(end, end);
      return body;
    });
  }
  const {open, send} = XMLHttpRequest.prototype, addresses = new WeakMap();
  define(XMLHttpRequest.prototype, "open", function (method, url, ...rest) {
    addresses.set(this, [method, url]);
    return open.call(this, method, url, ...rest);
  });
  define(XMLHttpRequest.prototype, "send", function (body) {
    if (addresses.has(this)) this.addEventListener("loadend", follow(...addresses.get(this)), {once: true});
    return send.call(this, body);
  });
  const loading = new Set();  // scripts and style sheets that have got their address
  for (const [type, name] of [[HTMLScriptElement, "src"], [HTMLLinkElement, "href"]]) {
    const {get, set} = Object.getOwnPropertyDescriptor(type.prototype, name);
    Object.defineProperty(type.prototype, name, {get, enumerable: true, configurable: true, set(value) {
      const end = () => queue(() => {
        loading.delete(this);
        for (const waiter of waiters.splice(0)) waiter();
      });
      loading.add(this);
      for (const event of ["load", "error"]) this.addEventListener(event, end, {once: true});
      set.call(this, value);
    }});
  }
  const loads = (element) => element.isConnected && (element.localName === "script" ? !/json|template/.test(element.type) : element.relList.contains("stylesheet"));
  const isBusy = () => pending.size > 0 || [...loading].some(loads);

  // Streams: open connections and workers, which send in real time.
  const streams = new Map();  // stream to {since: real time of a message without a reply, or null; isSilent: it does not reply}
  let newest = -QUIET, lively = 0;  // real time of the newest message; ms for which messages have been waited for since `begin`
  const receive = (stream) => {
    const state = streams.get(stream);
    if (state) state.since = null;
    newest = realNow();
  };
  const expect = (stream) => {
    const state = streams.get(stream);
    if (!state) return;
    newest = realNow();
    if (!state.isSilent) state.since ??= newest;
  };
  const servers = isSilent ? [] : ["EventSource", "WebSocket"];
  for (const name of [...servers, "Worker", "SharedWorker"]) if (window[name]) {
    window[name] = new Proxy(window[name], {construct: (target, args, newTarget) => {
      const stream = Reflect.construct(target, args, newTarget), source = stream.port ?? stream;
      streams.set(stream, {since: realNow(), isSilent: false});
      newest = realNow();
      for (const event of ["open", "message", "error"]) source.addEventListener(event, () => receive(stream));
      return stream;
    }});
    window[name].prototype.constructor = window[name];
  }
  for (const [type, name] of [[WebSocket, "send"], [Worker, "postMessage"]]) {
    const method = type.prototype[name];
    define(type.prototype, name, function (...args) {
      expect(this);
      return method.apply(this, args);
    });
  }
  const {terminate} = Worker.prototype;
  define(Worker.prototype, "terminate", function () {
    streams.delete(this);
    return terminate.call(this);
  });
  const openStreams = () => {
    for (const stream of streams.keys())
      if (stream.readyState >= (stream instanceof EventSource ? 2 : 3)) streams.delete(stream);
    return streams.size;
  };
  const isReal = () => openStreams() > 0 || document.querySelector("meta[http-equiv=refresh i]") !== null;
  const isLively = () => {
    if (!openStreams()) return false;
    let isAwaited = false;
    for (const state of streams.values()) if (state.since !== null) {
      if (realNow() - state.since < REPLY) isAwaited = true;
      else Object.assign(state, {since: null, isSilent: true});
    }
    return isAwaited || (realNow() - newest < QUIET && lively < LIVELY);
  };

  // Animations, whose timeline `virtual_time.py` has stopped.
  const roots = new Set([new WeakRef(document)]), attach = Element.prototype.attachShadow;
  define(Element.prototype, "attachShadow", function (options) {
    const root = attach.call(this, options);
    roots.add(new WeakRef(root));
    return root;
  });
  const animate = (ms) => {
    let hasEnded = false;
    for (const reference of roots) for (const animation of reference.deref()?.getAnimations() ?? []) {
      const {playState, playbackRate, currentTime, timeline, effect} = animation;
      if (playState !== "running" || !playbackRate || !(timeline instanceof DocumentTimeline)) continue;
      const time = Number(currentTime) + ms * playbackRate, end = Number(effect?.getComputedTiming().endTime ?? 0);
      const isOver = playbackRate > 0 ? time >= end : time <= 0;
      if (isOver) animation.finish();
      else animation.currentTime = time;
      hasEnded ||= isOver;
    }
    return hasEnded;
  };

  // Passing of time. A call ends when another begins.
  let call = 0;
  const settled = async () => {
    while (isBusy()) await new Promise((done) => { waiters.push(done); });
    while (isLively()) {
      await pause(10);
      lively += 10;
      while (isBusy()) await new Promise((done) => { waiters.push(done); });
    }
  };
  const step = async (ms, isPaced, isCurrent) => {
    const end = now + ms, since = realNow();
    for (;;) {
      await settled();
      if (!isCurrent()) return;
      const first = due(end);
      if (!first) break;
      now = Math.max(now, first[1].at);
      run(first);
      await turn();
      depth = 0;
    }
    now = Math.max(now, end);
    reads = 0;
    if (animate(ms)) await draw();
    else await turn();
    if (isPaced && isReal()) await pause(ms - (realNow() - since));
  };
  const begin = () => {
    sent.clear();
    lively = 0;
    const mine = ++call;
    return () => call === mine;
  };
  const advance = async (ms, isPaced) => {
    const isCurrent = begin(), end = now + ms;
    while (now < end && isCurrent()) await step(Math.min(STEP, end - now), isPaced, isCurrent);
  };
  const until = async (isOver, limit) => {
    const isCurrent = begin(), end = now + limit;
    while (!isOver() && now < end && isCurrent()) await step(STEP, false, isCurrent);
    return isOver();
  };
  const clock = {
    real, draw, advance, until,
    every: (ms, work, isPaced) => {
      const isCurrent = begin();
      (async () => {
        while (isCurrent()) {
          await step(ms, isPaced(), isCurrent);
          if (isCurrent()) await work();
        }
      })();
      return () => { call++; };
    },
    isBusy,
    elapsed: () => offset + now,
    moveTo: (elapsed) => { offset = Math.max(offset, elapsed - now); },  // without running timers
    isReal,
    ignorePending: () => {
      call++;
      for (const key of pending.values()) endless.add(key);
      pending.clear();
      loading.clear();
    },
  };
  Object.defineProperty(window, Symbol.for("webarena_gym.clock"), {value: clock});
}
