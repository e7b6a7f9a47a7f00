// Blocks: compressed texts in inert script elements below this script. They are read when they are needed.

// The text of a block; undefined where there is none. While the file is still being read, a block may come yet.
async function block(id) {
  const element = byId(id) || (await coming(id));
  return element ? unpack(element.textContent) : undefined;
}

function coming(id) {
  if (document.readyState !== "loading") return undefined;
  return new Promise((done) => {
    const settle = () => {
      const element = byId(id);
      if (!element && document.readyState === "loading") return;
      watcher.disconnect();
      document.removeEventListener("readystatechange", settle);
      done(element);
    };
    // An element is added before its text. The text is complete if another element follows, or at the end of the file.
    const watcher = new MutationObserver(() => byId(id) && byId(id).nextElementSibling && settle());
    watcher.observe(document.body, { childList: true });
    document.addEventListener("readystatechange", settle);
  });
}

// The text that was packed with gzip and base64.
async function unpack(packed) {
  const characters = atob(packed);
  const bytes = new Uint8Array(characters.length);
  for (let place = 0; place < characters.length; place += 1) bytes[place] = characters.charCodeAt(place); // faster than Uint8Array.from
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

// The steps of an episode; none where the file does not hold them.
async function stepsOf(head) {
  const text = head.holds && (await block(`steps-${head.index}`));
  return text ? JSON.parse(text) : { steps: [], description: [], verdicts: [], failure: "", missing: true };
}

// The steps of an episode with its pages.
async function bodyOf(head) {
  const body = await stepsOf(head);
  const text = head.holds === "pages" && (await block(`pages-${head.index}`));
  const why = data.pages ? "It was left out, so that the file stays small." : "This report was written without pages.";
  const { pages, problem } = text ? JSON.parse(text) : { pages: [], problem: why };
  body.steps.forEach((step, place) => Object.assign(step, pages[place]));
  body.last = (pages[body.steps.length] || {}).html;
  body.problem = problem;
  return body;
}
