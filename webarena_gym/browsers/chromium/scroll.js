// Scrolls what a person would of a document, for webarena_gym.browsers.chromium.tab: the window, or where the page stands still the
// largest box in it that scrolls; by `part` of its height, or to its end. What scripts observe of the last place is told to them first, when
// the page is drawn: a mark at the end of a feed that never left the window would load nothing more.
async (part, toEnd, isScripted) => {
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
