/** Who reads in a conversation stays there, whatever becomes of the daemon, the page or the journal. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type { Page } from "playwright-core";
import type { Answer } from "../support/model_servers.ts";
import { Scenario, until } from "../support/scripted.ts";
import { SharedBrowser } from "../support/shared_browser.ts";
import { AppPage, no_browser } from "../support/web.ts";

const shared = new SharedBrowser();

const TURNS = 12;
const CONTENT = Array.from({ length: 40 }, (_, n) => `const line_${n} = ${n};`).join("\n");
const KEEPS = "retention_mb = 100";
/** So little that what was said before a few more turns is in a checkpoint after them. */
const KEEPS_LITTLE = "retention_mb = 0.004";
/** How the page comes back to a daemon. */
const WAYS = "**/v1/page/**";

/** A long conversation: turns that think, read, write a file and answer in several blocks. */
async function conversation(): Promise<Scenario> {
  const turns = Array.from({ length: TURNS }, (_, n): Answer[] => [
    {
      reasoning: [`Thought ${n} about it.`],
      text: `Begin ${n}.`,
      calls: [
        { name: "write_file", args: { path: `file_${n}.ts`, content: `// ${n}\n${CONTENT}` } },
        { name: "read_file", args: { path: `file_${n}.ts` } },
        { name: "list_dir", args: { path: "." } },
      ],
    },
    { text: `Middle ${n}.\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\nThe last of ${n}.\n` },
  ]);
  const more = { text: `More. ${"word ".repeat(600)}` };
  const it = await Scenario.begin([...turns.flat(), more, more, more], {
    toml: `[journal]\n${KEEPS}\n`,
  });
  for (let n = 0; n < TURNS; n++) await it.turn(`turn ${n}`);
  return it;
}

/** Opens a conversation, and scrolls to its middle. */
async function readIn(app: AppPage): Promise<void> {
  const { page } = app;
  await page.getByRole("log").getByText(`The last of ${TURNS - 1}`).waitFor();
  await page.getByRole("log").hover();
  await page.mouse.wheel(0, -5_000);
  await page.getByRole("button", { name: "Newest" }).waitFor();
  await keptPlace(page);
}

/** What is read: where the row at the top begins, in pixels, and its text. */
const PLACE = `(() => {
  const log = document.querySelector("[role=log]");
  const rows = [...log?.querySelectorAll(".row") ?? []];
  const { top } = (log ?? document.body).getBoundingClientRect();
  const row = rows.find((it) => it.getBoundingClientRect().bottom > top);
  // Without how long it took, which a checkpoint does not know.
  return row && [row.getBoundingClientRect().top, row.textContent.replace(/\\d+ ms/g, "")];
})()`;

/** Whether a page shows a place, to the pixel. */
async function isAt(page: Page, [top, text]: [number, string]): Promise<boolean> {
  const now = await page.evaluate(PLACE) as [number, string] | undefined;
  return now?.[1] === text && Math.abs(now[0] - top) <= 1;
}

/** Waits until nothing is scrolled, and the place is kept. @returns it */
async function keptPlace(page: Page): Promise<[number, string]> {
  let kept = "";
  await until(async () => {
    const before = kept;
    kept = await page.evaluate(`JSON.stringify([history.state, ${PLACE}])`);
    return kept === before && kept.includes('"reading"');
  }, "the end of the scroll");
  return JSON.parse(kept)[1];
}

/** Notes what becomes of the rows, the focus and the selection, at each change and in each frame. */
const WATCH = `{
  const log = document.querySelector("[role=log]");
  const rows = () => [...log.querySelectorAll(".row")];
  const { top, bottom } = log.getBoundingClientRect();
  const read = rows().map((row) => ({ row, begins: row.getBoundingClientRect().top }))
    .find(({ begins }) => begins > top);
  const focus = document.activeElement;
  const selected = String(getSelection());
  const seen = globalThis.seen = { selected, moved: 0, fewest: Infinity, lost: [] };
  const note = () => {
    seen.fewest = Math.min(seen.fewest, rows().length);
    const away = read.row.isConnected ? read.row.getBoundingClientRect().top - read.begins : Infinity;
    seen.moved = Math.max(seen.moved, Math.abs(away));
    if (document.activeElement !== focus) seen.lost.push("the focus");
    if (String(getSelection()) !== selected) seen.lost.push("the selection");
  };
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true });
  const frame = () => {
    note();
    requestAnimationFrame(frame);
  };
  frame();
}`;

interface Seen {
  /** How far the row moved, in pixels. */
  moved: number;
  fewest: number;
  selected: string;
  lost: string[];
}

/** Waits until so many frames were drawn. */
async function frames(page: Page, count: number): Promise<void> {
  await page.evaluate(`new Promise((done) => {
    let left = ${count};
    const frame = () => left-- > 0 ? requestAnimationFrame(frame) : done();
    frame();
  })`);
}

/** Ends the daemon, and starts one that has three more turns; the page comes back after that. */
async function moreMeanwhile(
  it: Scenario,
  { page }: AppPage,
  trims: boolean,
  back = () => Promise.resolve<unknown>(undefined),
): Promise<void> {
  const { last_seq } = await it.call("session.get");
  await page.route(WAYS, (route) => route.abort());
  await it.daemon.stop();
  await page.getByText("Offline").waitFor();
  const toml = join(it.place.home, "daemon.toml");
  const config = Deno.readTextFileSync(toml);
  assert(config.includes(KEEPS));
  if (trims) Deno.writeTextFileSync(toml, config.replace(KEEPS, KEEPS_LITTLE));
  it.daemon = await it.place.serve();
  {
    await using client = await it.daemon.rpc();
    await client.rpc.call("session.subscribe", { session_id: it.session_id });
    for (let n = 0; n < 3; n++) await client.turn(it.session_id, "and more");
  }
  const journal = join(it.workdir, ".svc", "sessions", it.session_id, "journal.ndjson");
  const isTrimmed = () =>
    JSON.parse(Deno.readTextFileSync(journal).split("\n", 1)[0]).seq > last_seq;
  if (trims) await until(isTrimmed, "a checkpoint of all that the page has seen");
  assertEquals(isTrimmed(), trims);
  await page.unroute(WAYS);
  await back();
}

for (const trims of [false, true]) {
  Deno.test({
    name: "the daemon is restarted, and more is said while the page is away" +
      (trims ? ", and the journal shortened" : "") +
      ": rows, focus, selection, open cards and the draft stay, also after a reload and by Back",
    ignore: no_browser,
    async fn() {
      await using it = await conversation();
      await using browser = await shared.profile();
      const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
      const { page } = app;
      await readIn(app);
      const log = page.getByRole("log");
      const card = log.getByRole("button", { name: /^Read 1 file/ })
        .and(page.locator(":below(:text('Begin 2.'))")).first();
      await card.scrollIntoViewIfNeeded();
      await card.click();
      await log.getByRole("button", { name: /^read_file/ }).waitFor();
      const draft = page.getByLabel("Message", { exact: true });
      await draft.fill("a draft");
      await card.focus();
      await page.evaluate(`{
        const said = [...document.querySelectorAll("[role=log] p")];
        getSelection().selectAllChildren(said.find((it) => it.textContent === "Middle 2."));
      }`);
      await frames(page, 10);
      await page.evaluate(WATCH);
      const rows: number = await page.evaluate("seen.fewest");

      const height = () => page.evaluate("document.querySelector('.transcript-all').offsetHeight");
      const before = await height();
      await moreMeanwhile(it, app, trims);
      await app.connected();
      await until(async () => await height() !== before, "what was said meanwhile");
      await frames(page, 30);

      const seen: Seen = await page.evaluate("seen");
      assertEquals(seen.selected.trim(), "Middle 2.");
      assertEquals([...new Set(seen.lost)], []);
      assert(seen.moved <= 1, `the row moved by ${seen.moved} px`);
      // A checkpoint has no thoughts.
      assert(seen.fewest >= rows - 4, `${rows} rows, then ${seen.fewest}`);
      assertEquals(await log.getByRole("button", { name: /^read_file/ }).count(), 1);
      assertEquals(await draft.inputValue(), "a draft");

      const place = await keptPlace(page);
      await page.reload();
      await until(() => isAt(page, place), "the place, after a reload");
      await page.getByRole("link", { name: "Settings" }).click();
      await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
      await page.goBack();
      await page.getByRole("button", { name: "Newest" }).waitFor();
      await until(() => isAt(page, place), "the place, by Back");
      await frames(page, 40);
      assert(await isAt(page, place));
    },
  });
}

Deno.test({
  name: "a page that was loaded anew leads to the row, also when the journal was shortened before",
  ignore: no_browser,
  async fn() {
    await using it = await conversation();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await readIn(app);
    const place = await keptPlace(page);
    assert(!/Thought/.test(place[1]), place[1]);
    await moreMeanwhile(it, app, true, () => page.reload());
    await app.connected();
    await until(() => isAt(page, place), "the place");
    await frames(page, 40);
    assert(await isAt(page, place));

    // A checkpoint has no thoughts: the place of one leads to what came after it.
    const [key, before]: [string, number] = await page.evaluate(`{
      const rows = [...document.querySelectorAll(".row")];
      const { key } = rows.find((row) => row.textContent.startsWith("Begin")).dataset;
      const before = parseInt(key) - 1;
      history.replaceState({ ...history.state, reading: "7.00 " + before }, "");
      [key, before];
    }`);
    assert(before > 0, key);
    await page.reload();
    await until(() =>
      page.evaluate(`{
      const row = document.querySelector('.row[data-key="${key}"]');
      const top = row?.closest("[role=log]").getBoundingClientRect().top;
      Math.abs(row?.getBoundingClientRect().top - top) <= 1;
    }`), "the answer after the thought");
  },
});

/** On a page that is loaded: waits until its place is found, acts, scrolls, and notes how far that went. */
const ACT = `addEventListener("load", async () => {
  const { act } = sessionStorage;
  if (act === undefined) return;
  const frame = () => new Promise(requestAnimationFrame);
  let log, found;
  for (let still = 0; still < 5;) {
    await frame();
    log = document.querySelector("[role=log]");
    const now = log?.scrollTop;
    still = now > 0 && now === found ? still + 1 : 0;
    found = now;
  }
  const { top } = log.getBoundingClientRect();
  const begins = (row) => row.getBoundingClientRect().top;
  const row = [...log.querySelectorAll(".row")].find((it) => begins(it) > top);
  const before = begins(row);
  const key = { bubbles: true, key: "Shift" };
  if (act !== "nothing") log.dispatchEvent(new KeyboardEvent(act, key));
  log.scrollTop -= 300;
  for (let n = 0; n < 10; n++) await frame();
  globalThis.went = begins(row) - before;
})`;

Deno.test({
  name: "a page that is brought to its place lets somebody who acts go elsewhere",
  ignore: no_browser,
  async fn() {
    await using it = await conversation();
    await using browser = await shared.profile();
    const app = await AppPage.open(browser, it.daemon, `/sessions/${it.session_id}`);
    const { page } = app;
    await readIn(app);
    await page.addInitScript(ACT);
    const wentAfter = async (act: string): Promise<number> => {
      await keptPlace(page);
      await page.evaluate((act) => sessionStorage.setItem("act", act), act);
      await page.reload();
      let went: number | undefined;
      await until(async () => {
        went = await page.evaluate("globalThis.went");
        return went !== undefined;
      }, "what the act led to");
      return went!;
    };
    // The control: who does nothing is kept there, as rows get their heights late.
    const kept = await wentAfter("nothing");
    assert(Math.abs(kept) < 50, `it went ${kept} px`);
    for (const act of ["wheel", "pointerdown", "keydown"]) {
      const went = await wentAfter(act);
      assert(went > 200, `${act}: it went ${went} px`);
    }
    app.clean("going to a place");
  },
});
