// Uses pages of `kodec explain` as people do, in a browser: node explain.mjs BROWSER FOLDER, with the pages in FOLDER.
// Prints a line for each check; screenshots stay in FOLDER. Exits with 1 if a check fails.
import assert from "node:assert/strict";
import {pathToFileURL} from "node:url";
import {chromium} from "playwright-core";

const [browserPath, folder] = process.argv.slice(2);
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({executablePath: browserPath, args: QUIET});
let failed = 0;

async function check(text, name, body, {width = 1280, colorScheme = "light"} = {}) {
  const page = await browser.newPage({viewport: {width, height: 800}, colorScheme});
  const wrong = [];
  page.on("console", each => wrong.push(each.text()));
  page.on("pageerror", each => wrong.push(String(each)));
  page.on("dialog", each => wrong.push(`dialog ${each.message()}`));
  page.on("request", each => { if (!/^(file|data):/.test(each.url())) wrong.push(`request ${each.url()}`); });
  try {
    await page.goto(`${pathToFileURL(`${folder}/${name}`)}`);
    await page.locator("#tree .row").first().waitFor();
    await body(page);
    assert.deepEqual(wrong, [], "the page reports nothing");
    console.log(`ok      ${text}`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${text}: ${error.message}`);
  } finally {
    await page.close();
  }
}

const rows = page => page.locator("#tree .row").allTextContents();
const row = (page, name) => page.locator("#tree .row", {has: page.getByText(name, {exact: true})}).first();
const chosen = page => page.locator("#tree .chosen").textContent();
const detail = page => page.locator("#detail").innerText();
const marked = async page => (await page.locator('#bytes .on[data-cell="3"]').allTextContents()).join(" ").trim();

await check("title, offsets, ASCII", "small.html", async page => {
  assert.equal(await page.title(), "codec-gzip-0/00000000000000000000.log");
  const first = await page.locator("#bytes .row").nth(1).textContent();
  assert.match(first, /^00000000 {2}00 00 00 00 00 00 00 00 00 00 00 65 .*\.{11}e/);
  assert.match((await page.locator("#bytes .row").allTextContents()).join("\n"), /records: gzip[^]*only.a batc/);
});
await check("pointing at a field marks its bytes", "small.html", async page => {
  await row(page, "crc").hover();
  assert.equal(await marked(page), "ac 1b 2b d6");
  assert.match(await detail(page), /^crc = 2887461846\s+at 17 \(0x11 to 0x14\), 4 bytes · CRC-32C/);
});
await check("pointing at bytes marks their field", "small.html", async page => {
  await page.locator('#bytes [data-at="17"]').last().hover();
  assert.match(await page.locator("#tree .on").textContent(), /crc {2}2887461846/);
  assert.equal(await marked(page), "ac 1b 2b d6");
  await page.mouse.move(1, 1);
  assert.equal(await page.locator("#tree .on").count(), 0);
});
await check("names of values, units, times", "small.html", async page => {
  const shown = (await rows(page)).join("\n");
  for (const text of ["compression  1 (gzip)", "len_batch  101 bytes", /base_timestamp {2}\d{13} \(2023-11-14 [\d:.]+ UTC\)/])
    assert.match(shown, text instanceof RegExp ? text : new RegExp(text.replace(/[()]/g, "\\$&")));
});
await check("the tree by keys", "small.html", async page => {
  const {keyboard} = page;
  await page.locator("#tree").focus();
  await keyboard.press("ArrowDown");
  assert.match(await chosen(page), /base_offset/);
  await keyboard.press("ArrowLeft");
  assert.match(await chosen(page), /batch at byte 0/);
  const before = (await rows(page)).length;
  await keyboard.press("ArrowLeft");
  assert.equal(await page.locator("#tree .chosen").getAttribute("aria-expanded"), "false");
  assert.ok((await rows(page)).length < before);
  await keyboard.press("Enter");
  assert.equal((await rows(page)).length, before);
  await keyboard.press("End");
  const id = await page.locator("#tree").getAttribute("aria-activedescendant");
  assert.equal(await page.locator(`#${id}`).getAttribute("aria-selected"), "true");
  await keyboard.press("Enter");
});
await check("bytes by keys", "small.html", async page => {
  const {keyboard} = page;
  await page.locator("#bytes").focus();
  await keyboard.press("ArrowDown");
  await keyboard.press("ArrowRight");
  assert.match(await chosen(page), /crc/);
  await keyboard.press("Home");
  assert.match(await chosen(page), /magic/);
  await keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "tree");
});
await check("search by /", "small.html", async page => {
  const {keyboard} = page;
  await keyboard.press("/");
  await keyboard.type("body.key");
  await keyboard.press("Enter");
  assert.match(await chosen(page), /key {2}"only"/);
  assert.equal(await page.locator("#hits").innerText(), "1 of 1");
  await keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.id), "tree");
  await keyboard.press("/");
  await keyboard.type("nothing of this kind");
  await keyboard.press("Enter");
  assert.equal(await page.locator("#hits").innerText(), "not on this page");
});
await check("Tab reaches everything, and focus is seen", "large.html", async page => {
  const seen = new Set();
  for (let each = 0; each < 20; each++) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => document.activeElement.id || document.activeElement.localName));
    if (await page.evaluate(() => document.activeElement !== document.body))
      assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
  }
  for (const id of ["a", "search", "fold", "unfold", "bytes", "tree"]) assert.ok(seen.has(id), id);
});
for (const width of [1280, 400]) for (const colorScheme of ["light", "dark"])
  await check(`${width} px, ${colorScheme}`, "large.html", async page => {
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is as wide as the window");
    const heights = await page.locator(".row").evaluateAll(all => new Set(all.map(each => each.offsetHeight)).size);
    assert.equal(heights, 1, "no row is wrapped");
    const cells = await page.locator("#bytes .row:nth-child(3) [data-cell='3']").allTextContents();
    assert.equal(cells.join(" ").split(" ").length, width === 400 ? 8 : 16);
    const cut = await page.evaluate(() => document.querySelector("#bytes").scrollWidth > document.querySelector("#bytes").clientWidth);
    assert.ok(!cut, "bytes and ASCII fit");
    const [ink, paper] = await page.evaluate(() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]);
    const light = text => Number(/\d+/.exec(text)[0]) > 128;
    assert.deepEqual([light(ink), light(paper)], colorScheme === "dark" ? [true, false] : [false, true]);
    // contrast of text on each colour of a field
    const contrasts = await page.evaluate(() => {
      const luminance = text => {
        const [red, green, blue] = text.match(/\d+/g).map(each => each / 255)
          .map(each => each <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4);
        return .2126 * red + .7152 * green + .0722 * blue;
      };
      return Array.from({length: 12}, (_, each) => {
        const made = document.body.appendChild(document.createElement("i"));
        made.className = `c${each}`;
        const {color, backgroundColor} = getComputedStyle(made);
        made.remove();
        const [high, low] = [luminance(color), luminance(backgroundColor)].sort((one, other) => other - one);
        return (high + .05) / (low + .05);
      });
    });
    assert.ok(Math.min(...contrasts) >= 4.5, `contrast ${contrasts}`);
    await page.locator("#tree").focus();
    for (let each = 0; each < 7; each++) await page.keyboard.press("ArrowDown");
    await page.screenshot({path: `${folder}/${width}-${colorScheme}.png`});
  }, {width, colorScheme});
await check("a large page is drawn in a second, folds and is searched", "large.html", async page => {
  const took = async body => { const begun = Date.now(); await body(); return Date.now() - begun; };
  const soon = async (what, body) => { const time = await took(body); assert.ok(time < 1500, `${what}: ${time} ms`); };
  await soon("load", () => page.reload());
  await soon("unfold", () => page.locator("#unfold").click());
  await page.locator("#tree").focus();
  await page.keyboard.press("End");
  assert.ok((await page.locator("#tree .row").count()) < 200, "only rows in sight are drawn");
  const node = await chosen(page);
  await page.locator("#fold").click();
  assert.notEqual(await chosen(page), node);
  await page.keyboard.press("/");
  await page.keyboard.type("key-600");
  await soon("search", () => page.keyboard.press("Enter"));
  assert.match(await chosen(page), /key-600/);
});
await check("links lead through all pages and back", "large.html", async page => {
  const count = await page.locator("nav a").count() + 1;
  assert.ok(count > 1);
  await page.locator("nav a").first().click();
  for (let number = 2; number <= count; number++) {
    assert.match(await page.locator("nav").innerText(), new RegExp(`^Page ${number}\\b`));
    assert.match((await page.locator("#bytes .row").first().textContent()), /\(continued\)/);
    if (number < count) await page.getByText("Next").click();
  }
  assert.equal(await page.getByText("Next").count(), 0);
  await page.getByText("First page").click();
  assert.equal(await page.locator("nav a").count() + 1, count);
});
await check("hostile values are text", "hostile.html", async page => {
  await page.locator("#unfold").click();
  assert.equal(await page.locator("img, iframe, svg").count(), 0);
  assert.match((await rows(page)).join("\n"), /<\/script><img src=x onerror=alert\(1\)>/);
  assert.equal(await page.title(), `<img src=x onerror=alert(2)>"'&.log`);
});
await check("damage is shown", "damaged.html", async page => {
  assert.match(await page.locator("#tree .bad").textContent(), /need \d+ bytes, have/);
});
await browser.close();
process.exit(failed ? 1 : 0);
