// Scrolls a document, for webarena_gym.browsers.chromium.tab: the window or, if the window cannot scroll, the largest scrollable box in
// it; by the fraction `part` of its height (negative: up), or to its end. Scripted pages are drawn first, so that their intersection
// observers see the old position: the sentinel of an endless feed loads more only if it has left the window.
async (part, toEnd, isScripted) => {
  const {requestAnimationFrame, setTimeout} = window[Symbol.for("webarena_gym.clock")]?.real ?? window;
  if (isScripted) await new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 1000); });
  const page = document.scrollingElement ?? document.documentElement;
  const area = (box) => box.clientWidth * box.clientHeight;
  const scrolls = (box) => box.scrollHeight > box.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(box).overflowY);
  const moves = (box) => {
    const before = box.scrollTop;
    box.scrollBy({top: toEnd ? Math.sign(part) * box.scrollHeight : part * box.clientHeight, behavior: "instant"});
    return box.scrollTop !== before;
  };
  if (moves(page)) return;
  [...document.querySelectorAll("*")].filter(scrolls).sort((one, other) => area(other) - area(one)).find(moves);
}
