// Seeds `Math.random`, `crypto.getRandomValues` and `crypto.randomUUID` of a document, for webarena_gym.browsers.chromium.virtual_time; it runs
// before the first script. Equal episodes then get equal values, and the documents of an episode different ones: the seed is the number of
// documents before it, which `virtual_time.py` sets, its address, its place among frames, and how it was opened. Keys of `crypto.subtle` and workers are
// not affected.
() => {
  const {imul} = Math, {getRandomValues: fillRandomly, randomUUID} = Crypto.prototype, {getEntriesByType} = Performance.prototype;
  const {opener} = window, place = () => {
    const path = [];
    for (let frame = window; frame !== frame.parent; frame = frame.parent) {
      let index = 0;
      while (index < frame.parent.length && frame.parent[index] !== frame) index++;
      path.unshift(index);
    }
    return path.join("/");
  };
  const seed = (name) => {  // FNV-1a with four offsets
    const count = window[Symbol.for("webarena_gym.documents")] ?? 0, {type} = getEntriesByType.call(performance, "navigation")[0] ?? {};
    const text = [name, count, type, place(), opener !== null, location.href].join(" "), state = [0x811c9dc5, 0x9e3779b9, 0x243f6a88, 1];
    for (let index = 0; index < text.length; index++)
      for (let part = 0; part < 3; part++) state[part] = imul(state[part] ^ text.charCodeAt(index), 0x01000193 + 2 * part);
    return state;
  };
  const generator = (name) => {  // sfc32, by Chris Doty-Humphrey; the count is known only after the first scripts
    let state = null;
    const next = () => {
      const [a, b, c, d] = state, sum = (a + b + d) | 0;
      state = [b ^ (b >>> 9), (c + (c << 3)) | 0, (((c << 21) | (c >>> 11)) + sum) | 0, (d + 1) | 0];
      return sum >>> 0;
    };
    return () => {
      if (state === null) {
        state = seed(name);
        for (let round = 0; round < 15; round++) next();
      }
      return next();
    };
  };
  const define = (object, name, value) => Object.defineProperty(object, name, {value, configurable: true, writable: true, enumerable: object !== Math});
  const forMath = generator("math"), forCrypto = generator("crypto");
  define(Math, "random", function random() { return ((forMath() >>> 5) * 2 ** 26 + (forMath() >>> 6)) / 2 ** 53; });
  const fill = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let index = 0; index < bytes.length; index++) bytes[index] = forCrypto();
  };
  define(Crypto.prototype, "getRandomValues", function getRandomValues(array) {
    const result = fillRandomly.call(this, array);  // raises the errors of invalid arguments
    fill(array);
    return result;
  });
  if (randomUUID) define(Crypto.prototype, "randomUUID", function () {  // only in secure contexts
    randomUUID.call(this);
    const bytes = new Uint8Array(16);
    fill(bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  });
}
