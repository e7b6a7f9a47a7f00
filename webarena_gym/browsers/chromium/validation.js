// Asks Chromium's constraint validation why it did not send a form, for webarena_gym.browsers.chromium.tab. "watch" starts to record
// the fields that are reported as invalid. "read" returns the first of them, or null if there is none: {index, flag, message}, where
// `index` is its position among the elements that page.js stores, or -1.
(operation) => {
  const KEY = Symbol.for("webarena_gym.invalid");
  if (operation === "watch") {
    if (!window[KEY]) {
      Object.defineProperty(window, KEY, {value: []});
      document.addEventListener("invalid", ({target}) => window[KEY].push(target), true);
      // A script may check the fields itself before it sends the form.
      document.addEventListener("submit", () => { window[KEY].length = 0; }, true);
    }
    window[KEY].length = 0;
    return null;
  }
  const field = window[KEY]?.find((part) => part.isConnected);
  if (!field) return null;
  const FLAGS = ["valueMissing", "typeMismatch", "patternMismatch", "tooLong", "tooShort", "rangeUnderflow", "rangeOverflow", "stepMismatch"];
  return {
    index: (window[Symbol.for("webarena_gym")] ?? []).indexOf(field),
    flag: FLAGS.find((flag) => field.validity[flag]) ?? "",
    message: field.validationMessage,
  };
}
