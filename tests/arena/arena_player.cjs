// An agent in another language: plays tasks of an arena with Playwright's own browser, and prints how they were judged.
// Usage: node arena_player.cjs URL CHROMIUM; playwright-core must be found by require.
const { chromium } = require("playwright-core");

const [url, executablePath] = process.argv.slice(2);

async function ask(method, path, body) {
  const answer = await fetch(url + path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const value = await answer.json();
  if (!answer.ok) throw new Error(`${answer.status}: ${JSON.stringify(value)}`);
  return value;
}

async function play(browser, task, act) {
  const episode = await ask("POST", "/episodes", { task });
  const context = await browser.newContext();
  const pages = [];
  for (const start of episode.start_urls) {
    const page = await context.newPage();
    await page.goto(start);
    pages.push(page);
  }
  const [answer, page] = await act(pages, episode);
  const result = await ask("POST", `/episodes/${episode.id}/answer`, { answer, url: page.url() });
  await ask("DELETE", `/episodes/${episode.id}`);
  await context.close();
  return result;
}

async function search(page, label, text) {
  await page.getByLabel(label).fill(text);
  await page.getByLabel(label).press("Enter");
}

async function wish([page], product, wanted) {
  await search(page, "Search entire store", product);
  await page.getByRole("link", { name: wanted, exact: true }).first().click();
  await page.getByRole("button", { name: "Add to Wish List" }).first().click();
  await page.waitForLoadState();
  return ["", page];
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const earphones = "Dohume Studio Wired Earphones, USB-C";
  const results = {
    state: await play(browser, "shopping.wish_list_add/1000/0", (pages) => wish(pages, earphones, earphones)),
    answer: await play(browser, "shopping.product_price/1000/0", async ([page]) => {
      await search(page, "Search entire store", "Dimutre Compact Bike Light Set, 800 lm");
      const text = await page.locator("main").innerText();
      return [text.match(/\$46\.50/)[0], page];
    }),
    "two sites": await play(browser, "several.promote_project/1000/0", async ([forum, code], { addresses }) => {
      await search(code, "Search Codeyard", "jatrobez-index");
      await code.getByRole("link", { name: "Sekleglez Collective / jatrobez-index" }).first().click();
      await code.waitForURL("**/sekleglez-collective/jatrobez-index");
      if (!code.url().startsWith(addresses.gitlab)) throw new Error(code.url());
      await forum.goto(`${addresses.reddit}/f/woodworking`);
      await forum.getByRole("link", { name: "Submit", exact: true }).first().click();
      await forum.getByLabel("URL", { exact: true }).fill(code.url());
      await forum.getByLabel("Title", { exact: true }).fill("A modular Rust crate for cataloguing poetry readings");
      await forum.getByRole("button", { name: "Create submission" }).click();
      await forum.waitForLoadState();
      return ["", forum];
    }),
    "wrong answer": await play(browser, "shopping.product_price/1000/0", async ([page]) => ["$46.51", page]),
    "nothing done": await play(browser, "shopping.wish_list_add/1000/0", async ([page]) => ["", page]),
  };
  await browser.close();
  console.log(JSON.stringify(results));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
